package import Commands
package import Host
package import NetworkControl

/// The circuit breakers of the destinations, as the dispatcher sees them.
extension LinkAdmission {
    /// Longer than any destination refuses, and far from the end of an `Int64` of nanoseconds.
    private static let maxAge: Duration = .seconds(10 * 366 * 86_400)

    /// URLs that are read at a time.
    private static let maxTargets = 64

    /// Notes that the URLs of these commands are to be read, where the circuit breaker asks for them.
    mutating func wantTargets(of commands: [ReadyCommand], at destination: Destination) {
        guard controller.circuitBreakers[destination]?.outage?.cause == .unavailable else { return }
        for command in commands where targets[command.id] == nil {
            if unreadTargets.count >= Self.maxTargets { return }
            unreadTargets.insert(command.id)
        }
    }

    /// Commands whose URLs are to be read, since the last call.
    package mutating func takeUnreadTargets() -> [CommandID] {
        defer { unreadTargets = [] }
        return Array(unreadTargets)
    }

    /// Takes in URLs that were read.
    package mutating func learn(_ targets: [CommandID: CommandTarget?]) {
        self.targets.merge(targets) { $1 }
    }

    /// Whether the command may be the probe of its destination's circuit breaker now. One whose URL is not read yet
    /// waits until any command may.
    func mayProbe(_ command: ReadyCommand, now: MonotonicTime) -> Bool {
        guard let circuitBreaker = controller.circuitBreakers[command.destination] else { return true }
        guard circuitBreaker.outage?.cause == .unavailable, targets[command.id] == nil else {
            return circuitBreaker.mayProbe(command.id, targets[command.id] ?? nil, now: now)
        }
        return circuitBreaker.nextProbe.map { now >= $0 } ?? circuitBreaker.isProbeDue(now: now)
    }

    /// Whether one command is a better probe than another: one whose URL was not answered 503; then one that has not
    /// failed since the circuit breaker opened, then the one that failed longest ago; among equals the one with the fewest bytes, because they
    /// may be wasted.
    package func isBetterProbe(_ command: ReadyCommand, than other: ReadyCommand) -> Bool {
        let circuitBreaker = controller.circuitBreakers[command.destination]
        func rank(_ command: ReadyCommand) -> (Int, MonotonicTime, Int64, Int, Int64) {
            (
                circuitBreaker?.isOther(command.id, targets[command.id] ?? nil) ?? true ? 0 : 1,
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
