package import Commands

/// A destination's circuit breaker that is not closed: the member `circuitBreaker` of a link.
package struct CircuitBreakerReading: Sendable, Equatable {
    /// `open`, or `halfOpen` while a probe is under way.
    package var state: String
    /// `credential` or `destination`.
    package var cause: String
    /// The last refusal of the destination, in a sentence.
    package var reason: String
    package var since: Timestamp?
    /// Nil while a probe is under way.
    package var nextProbe: Timestamp?
    /// Commands that wait for the destination, at most ``maxCounted``.
    package var waiting: Int64

    package static let maxCounted: Int64 = 1000

    /// - Returns: nil for a value without a state.
    init?(_ value: JSONValue) {
        guard let state = value["state"]?.string else { return nil }
        self.state = state
        cause = value["cause"]?.string ?? "destination"
        reason = value["reason"]?.string ?? ""
        since = value["since"]?.time
        nextProbe = value["nextProbe"]?.time
        waiting = max(value["waiting"]?.whole ?? 0, 0)
    }

    /// Every key is always there.
    var json: JSONValue {
        func text(_ time: Timestamp?) -> JSONValue { time.map { .string($0.description) } ?? .null }
        return .object([
            .init("state", .string(state)), .init("cause", .string(cause)), .init("reason", .string(reason)),
            .init("since", text(since)), .init("nextProbe", text(nextProbe)), .init("waiting", .integer(waiting)),
        ])
    }

    /// `1 command waits`, `20 commands wait`, `1000 or more commands wait`.
    package var waitingText: String {
        switch waiting {
        case 1: "1 command waits"
        case ..<Self.maxCounted: "\(waiting) commands wait"
        default: "\(Self.maxCounted) or more commands wait"
        }
    }
}
