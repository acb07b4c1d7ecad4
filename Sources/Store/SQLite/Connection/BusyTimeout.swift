internal import Commands
internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Retries a locked database every millisecond until a timeout. SQLite's own backoff starves the connection
/// that has waited longest.
final class BusyTimeout: Sendable {
    /// The timeout of the next statements, in milliseconds.
    let milliseconds = Atomic<Int64>(WriteTimeout.foreground.milliseconds)
    /// When the current wait began, in nanoseconds of the monotonic clock.
    private let start = Atomic<Int64>(0)

    /// Sleeps for a millisecond.
    /// - Parameter tries: how often SQLite has tried this lock before.
    /// - Returns: false where the timeout has passed, without sleeping.
    func retriesAfterPause(_ tries: Int) -> Bool {
        let timeout = milliseconds.load(ordering: .relaxed)
        guard timeout > 0 else { return false }
        let now = MonotonicTime.now
        if tries == 0 { start.store(now.nanoseconds, ordering: .relaxed) }
        let waited = now - MonotonicTime(nanoseconds: start.load(ordering: .relaxed))
        guard waited < .milliseconds(timeout) else { return false }
        usleep(1000)
        return true
    }
}
