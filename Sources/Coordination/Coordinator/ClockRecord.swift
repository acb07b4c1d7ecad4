internal import CLinux
internal import Glibc
internal import Host
internal import Store

/// The difference of the clocks when a coordinator last compared them, so that the next one notices a jump in
/// between.
///
/// A file in `run/`. It holds for one boot, because the monotonic clock begins with it, so it is not synced.
enum ClockRecord {
    /// - Returns: wall clock minus monotonic clock, in milliseconds; nil where there is no record of this
    ///   boot.
    static func read(in run: RunDirectory) -> Int64? {
        let words = TextFile.read(run.clock)?.split(whereSeparator: \.isWhitespace) ?? []
        guard words.count == 2, words[0] == ProcessIdentity.bootID else { return nil }
        return Int64(words[1])
    }

    /// Where the record cannot be written, the next coordinator takes the clock as it is.
    static func write(_ offset: Int64, in run: RunDirectory) {
        let (path, next) = (run.clock, run.clock + ".new")
        let descriptor = clinux_open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let text = "\(ProcessIdentity.bootID) \(offset)\n"
        let count = text.withCString { Glibc.write(descriptor, $0, strlen($0)) }
        close(descriptor)
        if count == text.utf8.count { rename(next, path) } else { unlink(next) }
    }
}
