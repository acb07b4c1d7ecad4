package import Commands

/// A destination's circuit breaker that is not closed.
///
/// `Instant` is `MonotonicTime` in the controller and `Timestamp` in a ``LinkReport``, where it is the member
/// `circuitBreaker`.
package struct CircuitBreakerState<Instant: Sendable & Equatable>: Sendable, Equatable {
    package var cause: DestinationCircuitBreaker.Cause
    /// The last answer of the destination, in a sentence.
    package var reason: String
    /// When it opened.
    package var since: Instant
    /// A probe is under way.
    package var isProbing: Bool
    /// When the next probe may go; nil while one is under way, and while a person holds the destination
    /// offline.
    package var nextProbe: Instant?
    /// Commands that wait for the destination, up to ``maxWaitingCounted``.
    package var waiting = 0

    package init(
        cause: DestinationCircuitBreaker.Cause, reason: String, since: Instant, isProbing: Bool, nextProbe: Instant?
    ) {
        self.cause = cause
        self.reason = reason
        self.since = since
        self.isProbing = isProbing
        self.nextProbe = nextProbe
    }

    package func map<Other>(_ clock: (Instant) -> Other) -> CircuitBreakerState<Other> {
        var other = CircuitBreakerState<Other>(
            cause: cause, reason: reason, since: clock(since), isProbing: isProbing, nextProbe: nextProbe.map(clock))
        other.waiting = waiting
        return other
    }
}

extension CircuitBreakerState {
    package static var maxWaitingCounted: Int { 1000 }
}

extension CircuitBreakerState<Timestamp> {
    /// `{"state":"open"|"halfOpen","cause":…,"reason":…,"since":…,"nextProbe":…,"waiting":…}`
    package var json: JSONValue {
        .object([
            .init("state", .string(isProbing ? "halfOpen" : "open")), .init("cause", .string(cause.rawValue)),
            .init("reason", .string(reason)), .init("since", .string(since.description)),
            .init("nextProbe", nextProbe.map { .string($0.description) } ?? .null),
            .init("waiting", .integer(Int64(waiting))),
        ])
    }

    /// Reads ``json`` back, and times as Unix milliseconds. Nil for a value without cause and time.
    package init?(_ value: JSONValue) {
        guard let cause = value["cause"]?.string.flatMap({ DestinationCircuitBreaker.Cause(rawValue: $0) }),
            let since = value["since"]?.timestamp
        else { return nil }
        self.init(
            cause: cause, reason: value["reason"]?.string ?? "", since: since,
            isProbing: value["state"]?.string == "halfOpen", nextProbe: value["nextProbe"]?.timestamp)
        waiting = value["waiting"]?.wholeNumber.flatMap { Int(exactly: max($0, 0)) } ?? 0
    }
}
