internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The sign of life that the holder of a lock writes into a file beside the lock file (``FileLock/beat(in:now:)``).
///
/// A lock says that its process exists, not that it makes progress: a stopped or paused process keeps its locks. The
/// sign is readable from other containers too, where neither the pid nor the state of the process is. It is not in the lock
/// file, whose text earlier releases compare.
package struct LockPulse: Sendable, Equatable {
    /// By the monotonic clock, which all processes of a machine share and which no person sets.
    package let beat: MonotonicTime
    /// The same moment by the wall clock, in Unix milliseconds.
    package let milliseconds: Int64

    private static let word = "beat"
    private static let width = 20

    /// - Parameters:
    ///   - path: of the file with the sign.
    ///   - lock: the path of the lock file. A sign of an earlier holder has another signature, and counts for nothing.
    /// - Returns: nil where there is no sign of the holder: it is of a release that writes none.
    package init?(path: String, of lock: String) {
        let signature = TextFile.read(lock) ?? ""
        guard let text = TextFile.read(path), text.hasPrefix("\(signature)\(Self.word) ") else { return nil }
        let fields = text.dropFirst(signature.count + Self.word.count).split { $0 == " " || $0 == "\n" }
        guard fields.count == 2, let beat = Int64(fields[0]), let milliseconds = Int64(fields[1]) else { return nil }
        self.beat = MonotonicTime(nanoseconds: beat)
        self.milliseconds = milliseconds
    }

    /// Writes a sign over the earlier one. Its length is fixed, so that it replaces all of that.
    static func write(to path: String, signature: String, beat: MonotonicTime) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let milliseconds = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        let text = "\(signature)\(word) \(padded(beat.nanoseconds)) \(padded(milliseconds))\n"
        let descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard text.withCString({ pwrite(descriptor, $0, strlen($0), 0) }) > 0 else { return }
        // An earlier holder may have had a longer signature.
        ftruncate(descriptor, off_t(text.utf8.count))
    }

    private static func padded(_ number: Int64) -> String {
        let digits = "\(max(number, 0))"
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}
