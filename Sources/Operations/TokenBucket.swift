internal import Commands
package import Host

/// Lets bytes go at a rate, in small portions: bursts of a paced transfer would delay the urgent transfer
/// that it yields to. Pure.
package struct TokenBucket: Sendable {
    private var tokens = 0.0
    private var filledAt: MonotonicTime?

    /// The smallest number of bytes that is worth sending.
    package static let portion = 4096
    /// While nothing is sent, tokens for this time pile up, at most.
    package static let burst: Duration = .milliseconds(50)

    package init() {}

    /// Bytes that may go now; fewer than ``portion`` are not worth sending.
    /// - Parameter rate: bytes per second.
    package mutating func available(rate: Int64, now: MonotonicTime) -> Int {
        let rate = Double(max(rate, 0))
        if let filledAt { tokens += max(now - filledAt, .zero).seconds * rate }
        tokens = min(tokens, max(rate * Self.burst.seconds, Double(Self.portion)))
        filledAt = now
        return Int(tokens)
    }

    package mutating func take(_ bytes: Int) { tokens -= Double(bytes) }

    /// How long until `bytes`, or ``portion`` if that is fewer, may go; nil: never.
    package func wait(for bytes: Int, rate: Int64) -> Duration? {
        guard rate > 0 else { return nil }
        let missing = Double(min(bytes, Self.portion)) - tokens
        return missing <= 0 ? .zero : .seconds(missing / Double(rate)) + .nanoseconds(1)
    }
}
