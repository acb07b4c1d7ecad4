package import Commands
package import Host

/// The circuit breakers of the destinations.
extension NetworkController {
    /// Takes in what the end of an execution says about its destination.
    mutating func follow(
        _ outcome: TransferOutcome, of id: CommandID, at destination: Destination, now: MonotonicTime
    ) {
        let wasClosed = circuitBreakers[destination]?.isClosed ?? true
        let hadRefusal = circuitBreakers[destination]?.refusal != nil
        let closed = DestinationCircuitBreaker(interval: policy.probeInterval)
        switch outcome {
        case .unavailable(let reason, let target):
            circuitBreakers[destination, default: closed].unavailable(id, target, reason: reason, now: now)
        case .refused(let cause, let reason, _):
            circuitBreakers[destination, default: closed].refused(id, cause, reason: reason, now: now)
        case .answered: circuitBreakers[destination]?.accepted(id)
        case .withdrawn: circuitBreakers[destination]?.withdrawn(id, now: now)
        // A server that is busy has not looked at the command.
        case .pushedBack, .answeredWithError: circuitBreakers[destination]?.answeredOtherwise(id, now: now)
        case .undecided, .unreachable: circuitBreakers[destination]?.undecided(id, now: now)
        }
        let isClosed = circuitBreakers[destination]?.isClosed ?? true
        let hasRefusal = circuitBreakers[destination]?.refusal != nil
        if isClosed != wasClosed || hasRefusal && !hadRefusal { changedCircuitBreakers.insert(destination) }
        // The commands that wait after a 503 need not wait longer.
        if isClosed, !wasClosed { proven.append(destination) }
    }

    /// Opens the circuit breaker of a destination as another coordinator left it; the first probe goes at
    /// once.
    package mutating func restore(
        _ cause: DestinationCircuitBreaker.Cause, reason: String, since: MonotonicTime, of destination: Destination,
        now: MonotonicTime
    ) {
        circuitBreakers[destination] = DestinationCircuitBreaker(
            openFor: cause, reason: reason, since: since, interval: policy.probeInterval, now: now)
    }

    /// Whether a destination answers everything by 503.
    package var answersUnavailable: Bool { circuitBreakers.values.contains { $0.outage?.cause == .unavailable } }

    /// Destinations whose circuit breaker opened or closed, or whose first refusal came, since the last call.
    package mutating func takeChangedCircuitBreakers() -> Set<Destination> {
        defer { changedCircuitBreakers = [] }
        return changedCircuitBreakers
    }

    /// The newest refusal of the destination, while its circuit breaker is closed. It is shown where that is.
    func refusal(of key: LinkKey) -> String? {
        key.direction == .up ? key.destination.flatMap { circuitBreakers[$0]?.refusal } : nil
    }

    /// Commands are admitted by the link up, so the circuit breaker is shown there, once for a destination.
    func circuitBreakerState(of key: LinkKey) -> CircuitBreakerState<MonotonicTime>? {
        guard key.direction == .up, let destination = key.destination,
            let circuitBreaker = circuitBreakers[destination], let outage = circuitBreaker.outage
        else { return nil }
        return CircuitBreakerState(
            cause: outage.cause, reason: outage.reason, since: outage.since,
            isProbing: circuitBreaker.nextProbe == nil,
            nextProbe: links[key]?.isForcedOffline == true ? nil : circuitBreaker.nextProbe)
    }
}
