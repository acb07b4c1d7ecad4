internal import Commands
internal import Host

/// When to show progress: not in the first 400 ms, which short work does not exceed, then five times a
/// second.
struct ProgressPace: Sendable {
    private let start: MonotonicTime
    private var next: MonotonicTime

    private static let firstDelay: Duration = .milliseconds(400)
    private static let interval: Duration = .milliseconds(200)

    init(now: MonotonicTime) {
        start = now
        next = now + Self.firstDelay
    }

    mutating func isDue(_ now: MonotonicTime) -> Bool {
        guard now >= next else { return false }
        next = now + Self.interval
        return true
    }

    /// The rate since the start.
    /// - Parameter amount: done since the start.
    func perSecond(_ amount: Int64, now: MonotonicTime) -> Int64 {
        Int64(Double(amount) / max((now - start).seconds, 1e-9))
    }
}
