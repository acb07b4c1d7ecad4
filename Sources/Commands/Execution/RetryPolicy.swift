/// When a failed command runs again: after 5 s × 3ⁿ ± 25 %, at most an hour.
public struct RetryPolicy: Sendable {
    /// The wait after the first failure.
    public var base: Duration = .seconds(5)
    /// By which each further failure multiplies the wait.
    public var factor = 3.0
    /// The share by which a wait is randomly made shorter or longer, so that commands that failed together do
    /// not run again together.
    public var jitter = 0.25
    public var maxDelay: Duration = .seconds(3600)

    public init() {}

    /// How long to wait before the next execution.
    /// - Parameters:
    ///   - retries: failures charged before this one.
    ///   - retryAfter: the minimum that the destination asked for.
    ///   - chance: a number in 0..<1 that decides the jitter.
    public func delay(retries: Int, retryAfter: Duration?, chance: Double) -> Duration {
        var seconds = base.seconds
        for _ in 0..<min(max(retries, 0), 32) { seconds = min(seconds * factor, maxDelay.seconds) }
        seconds = min(seconds * (1 + jitter * (2 * chance - 1)), maxDelay.seconds)
        return max(.milliseconds(Int64(seconds * 1000)), retryAfter ?? .zero)
    }
}
