/// How far the copying of files has got, and when to say so: nothing of what is soon done, then five times a second. Times
/// are nanoseconds of one clock, which is passed in.
package struct CopyProgress: Sendable {
    private var progress: TransferProgress
    private let start: Int64
    /// When something is said next.
    private var next: Int64

    private static let patience: Int64 = 400_000_000
    private static let step: Int64 = 200_000_000

    /// - Parameters:
    ///   - files: to be copied.
    ///   - total: bytes in all of them.
    package init(files: Int, total: Int64, now: Int64) {
        progress = TransferProgress(commands: files, total: total)
        start = now
        next = now + Self.patience
    }

    /// Takes note of bytes that were copied, and of files that are complete.
    /// - Returns: what is to be said now; nil where it is too early.
    package mutating func add(bytes: Int64 = 0, files: Int = 0, now: Int64) -> TransferProgress? {
        progress.done += bytes
        progress.ended += files
        guard now >= next else { return nil }
        next = now + Self.step
        progress.rate = Int64(Double(progress.done) / (Double(max(now - start, 1)) / 1e9))
        return progress
    }
}
