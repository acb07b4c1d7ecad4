/// When a failed command runs again: 5 s × 3ⁿ, give or take a quarter, at most an hour.
public struct RetryPolicy: Sendable {
    public var base: Duration = .seconds(5)
    public var factor = 3.0
    /// Each wait is drawn from ± this share of itself, so that what failed together does not come back together.
    public var jitter = 0.25
    public var longest: Duration = .seconds(3600)

    public init() {}

    /// How long to wait before the next execution.
    /// - Parameters:
    ///   - retries: failures charged before this one.
    ///   - retryAfter: what the destination asked for; a lower bound.
    ///   - chance: a number in 0..<1 that decides the jitter.
    public func delay(retries: Int, retryAfter: Duration?, chance: Double) -> Duration {
        var seconds = base.seconds
        for _ in 0..<min(max(retries, 0), 32) { seconds = min(seconds * factor, longest.seconds) }
        seconds = min(seconds * (1 + jitter * (2 * chance - 1)), longest.seconds)
        return max(.milliseconds(Int64(seconds * 1000)), retryAfter ?? .zero)
    }
}
