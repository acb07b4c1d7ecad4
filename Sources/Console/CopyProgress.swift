package import Host

/// The progress of copying files, and when to show it. Pure.
package struct CopyProgress: Sendable {
    private var progress: TransferProgress
    private var pace: ProgressPace

    /// - Parameters:
    ///   - files: the number of files to copy.
    ///   - total: bytes of all files.
    package init(files: Int, total: Int64, now: MonotonicTime) {
        progress = TransferProgress(commands: files, total: total)
        pace = ProgressPace(now: now)
    }

    /// Adds copied bytes and complete files.
    /// - Returns: the progress to show now; nil where it is too early.
    package mutating func add(bytes: Int64 = 0, files: Int = 0, now: MonotonicTime) -> TransferProgress? {
        progress.done += bytes
        progress.ended += files
        guard pace.isDue(now) else { return nil }
        progress.rate = pace.perSecond(progress.done, now: now)
        return progress
    }
}
