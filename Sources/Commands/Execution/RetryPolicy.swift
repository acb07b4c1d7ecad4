/// The backoff after a charged failure: 5 s × 3ⁿ ± 25 %, at most an hour, where n failures were charged
/// before.
///
/// The values are not checked. They must be finite and not negative.
public struct RetryPolicy: Sendable {
    /// The wait after the first failure. The default is 5 s.
    public var base: Duration = .seconds(5)
    /// The factor by which each further failure multiplies the wait, from 1. The default is 3.
    public var factor = 3.0
    /// The share, 0…1, by which a wait is randomly made shorter or longer. Without it, commands that failed
    /// together would run again together. The default is 0.25.
    public var jitter = 0.25
    /// The maximum wait, with its jitter. A longer `Retry-After` passes it. The default is an hour.
    public var maxDelay: Duration = .seconds(3600)

    /// The longest wait between two executions: the one that a program of `exec` may ask for. Webhooks wait up to 30 h.
    package static let longestWait: Duration = .seconds(7 * 86_400)

    /// Makes a policy with the defaults.
    public init() {}

    /// The wait from a failure to the next execution, in whole milliseconds unless `retryAfter` is longer.
    /// - Parameters:
    ///   - retries: failures charged before this one. A negative number counts as 0.
    ///   - retryAfter: the minimum that the destination asked for; nil where it asked for none.
    ///   - chance: a number in 0..<1 that decides the jitter: 0 gives the shortest wait, 0.5 no jitter.
    public func delay(retries: Int, retryAfter: Duration?, chance: Double) -> Duration {
        var seconds = base.seconds
        for _ in 0..<min(max(retries, 0), 32) { seconds = min(seconds * factor, maxDelay.seconds) }
        seconds = min(seconds * (1 + jitter * (2 * chance - 1)), maxDelay.seconds)
        // A policy of another program may have any values; a century is longer than any wait.
        let bounded = seconds >= 0 ? min(seconds, 3e9) : 0
        return max(.milliseconds(Int64(bounded * 1000)), retryAfter ?? .zero)
    }
}
