/// Lets bytes go at a rate, in small portions: what a pace of 25 kB/s sends in bursts is felt by whom it makes way for. Pure.
package struct TokenBucket: Sendable {
    private var tokens = 0.0
    private var filledAt: Int64?

    /// Bytes that go at once at the least.
    package static let portion = 4096
    /// What may pile up while nobody sends, in seconds of the rate.
    package static let burst = 0.05

    package init() {}

    /// Bytes that may go now; below ``portion`` it is not worth it.
    /// - Parameters:
    ///   - rate: bytes per second.
    ///   - now: nanoseconds of the monotonic clock.
    package mutating func available(rate: Int64, now: Int64) -> Int {
        let rate = Double(max(rate, 0))
        if let filledAt { tokens += Double(max(now - filledAt, 0)) / 1e9 * rate }
        tokens = min(tokens, max(rate * Self.burst, Double(Self.portion)))
        filledAt = now
        return Int(tokens)
    }

    package mutating func take(_ bytes: Int) { tokens -= Double(bytes) }

    /// Nanoseconds until `bytes` may go, at most ``portion`` of them; nil where that is never.
    package func wait(for bytes: Int, rate: Int64) -> Int64? {
        guard rate > 0 else { return nil }
        let missing = Double(min(bytes, Self.portion)) - tokens
        return missing <= 0 ? 0 : Int64(missing / Double(rate) * 1e9) + 1
    }
}
