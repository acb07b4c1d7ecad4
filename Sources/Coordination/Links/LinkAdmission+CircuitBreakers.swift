package import Commands
package import Host
package import NetworkControl

/// The circuit breakers of the destinations, as the dispatcher sees them.
extension LinkAdmission {
    /// Longer than any destination refuses, and far from the end of an `Int64` of nanoseconds.
    private static let maxAge: Duration = .seconds(10 * 366 * 86_400)

    /// Whether one command is a better probe than another: one that has not failed since the circuit breaker
    /// opened, then the one that failed longest ago; among equals the one with the fewest bytes, because they
    /// may be wasted.
    package func isBetterProbe(_ command: ReadyCommand, than other: ReadyCommand) -> Bool {
        let circuitBreaker = controller.circuitBreakers[command.destination]
        func rank(_ command: ReadyCommand) -> (MonotonicTime, Int64, Int, Int64) {
            (
                circuitBreaker?.lastFailure(of: command.id) ?? MonotonicTime(nanoseconds: .min),
                command.remaining ?? .max, command.qos.rawValue,
                command.turn
            )
        }
        return rank(command) < rank(other)
    }

    /// Destinations whose circuit breaker opened or closed since the last call.
    package mutating func takeChangedCircuitBreakers() -> Set<Destination> { controller.takeChangedCircuitBreakers() }

    /// Opens the circuit breaker of a destination as another coordinator left it.
    /// - Parameters:
    ///   - circuitBreaker: as its setting says.
    ///   - wall: the time now by the clock that its `since` is of.
    package mutating func restore(
        _ circuitBreaker: CircuitBreakerState<Timestamp>, of destination: Destination, wall: Timestamp,
        now: MonotonicTime
    ) {
        register(destination, .up, now: now)
        // A damaged or future time counts as the nearest possible one.
        let age = min(max(wall - circuitBreaker.since, .zero), Self.maxAge)
        controller.restore(
            circuitBreaker.cause, reason: circuitBreaker.reason, since: now - age,
            of: destination, now: now)
    }
}
