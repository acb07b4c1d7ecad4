package import Host

/// A destination's circuit breaker that is not closed, as people see it.
package struct CircuitBreakerState: Sendable, Equatable {
    package var cause: DestinationCircuitBreaker.Cause
    /// The last answer of the destination, in a sentence.
    package var reason: String
    /// When it opened.
    package var since: MonotonicTime
    /// A probe is under way.
    package var isProbing: Bool
    /// When the next probe may go; nil while one is under way, and while a
    /// person holds the destination offline.
    package var nextProbe: MonotonicTime?
    /// Commands that wait for the destination, up to the number at which counting stops.
    package var waiting = 0

    package init(
        cause: DestinationCircuitBreaker.Cause, reason: String, since: MonotonicTime, isProbing: Bool,
        nextProbe: MonotonicTime?
    ) {
        self.cause = cause
        self.reason = reason
        self.since = since
        self.isProbing = isProbing
        self.nextProbe = nextProbe
    }
}
