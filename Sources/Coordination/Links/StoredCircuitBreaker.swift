package import Commands
internal import Host
package import NetworkControl

/// A circuit breaker in events and settings: the member `circuitBreaker` of a link.
/// `{"state":"open"|"halfOpen","cause":"credential"|"destination","reason":…,"since":…,"nextProbe":…,"waiting":…}`
package struct StoredCircuitBreaker: Sendable, Equatable {
    package var cause: DestinationCircuitBreaker.Cause
    package var reason: String
    package var since: Timestamp

    /// Longer than any destination refuses, and far from the end of an `Int64` of nanoseconds.
    private static let maxAge: Duration = .seconds(10 * 366 * 86_400)

    /// Reads a setting back, in which times are Unix milliseconds; nil for a value that is not an open
    /// circuit breaker.
    package init?(_ value: JSONValue) {
        guard let cause = value["cause"]?.string.flatMap({ DestinationCircuitBreaker.Cause(rawValue: $0) }),
            let since = value["since"]?.integer
        else { return nil }
        self.cause = cause
        self.since = Timestamp(milliseconds: since)
        reason = value["reason"]?.string ?? "open when the last coordinator ended"
    }

    /// The time since it opened; a damaged or future time counts as the nearest possible one.
    func age(at now: Timestamp) -> Duration { min(max(now - since, .zero), Self.maxAge) }

    /// - Parameter time: the wall-clock time, as JSON, of an instant of the monotonic clock.
    static func json(_ state: CircuitBreakerState, time: (MonotonicTime?) -> JSONValue) -> JSONValue {
        .object([
            .init("state", .string(state.isProbing ? "halfOpen" : "open")),
            .init("cause", .string(state.cause.rawValue)), .init("reason", .string(state.reason)),
            .init("since", time(state.since)), .init("nextProbe", time(state.nextProbe)),
            .init("waiting", .integer(Int64(state.waiting))),
        ])
    }
}
