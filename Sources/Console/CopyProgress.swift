/// How far the copying of files has got, and when to say so. Times are nanoseconds of one clock, which is passed in.
package struct CopyProgress: Sendable {
    private var progress: TransferProgress
    private var pace: ProgressPace

    /// - Parameters:
    ///   - files: to be copied.
    ///   - total: bytes in all of them.
    package init(files: Int, total: Int64, now: Int64) {
        progress = TransferProgress(commands: files, total: total)
        pace = ProgressPace(now: now)
    }

    /// Takes note of bytes that were copied, and of files that are complete.
    /// - Returns: what is to be said now; nil where it is too early.
    package mutating func add(bytes: Int64 = 0, files: Int = 0, now: Int64) -> TransferProgress? {
        progress.done += bytes
        progress.ended += files
        guard pace.isDue(now) else { return nil }
        progress.rate = pace.perSecond(progress.done, now: now)
        return progress
    }
}
