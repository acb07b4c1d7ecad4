/// When to show progress: not in the first 400 ms, which short work does not exceed, then five times a
/// second.
struct ProgressPace: Sendable {
    private let start: Int64
    private var next: Int64

    private static let timeout: Int64 = 400_000_000
    private static let step: Int64 = 200_000_000

    init(now: Int64) {
        start = now
        next = now + Self.timeout
    }

    mutating func isDue(_ now: Int64) -> Bool {
        guard now >= next else { return false }
        next = now + Self.step
        return true
    }

    /// The rate since the start.
    /// - Parameter amount: done since the start.
    func perSecond(_ amount: Int64, now: Int64) -> Int64 { Int64(Double(amount) / (Double(max(now - start, 1)) / 1e9)) }
}
