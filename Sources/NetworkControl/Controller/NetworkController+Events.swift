package import Commands
package import Host

/// Events of commands, routes and settings. The next decisions show it.
extension NetworkController {
    // MARK: Commands

    /// An execution ended.
    package mutating func ended(_ id: CommandID, to key: LinkKey, outcome: TransferOutcome, now: MonotonicTime) {
        _ = touch(key, now: now)
        announced[id] = nil
        if let destination = key.destination { follow(outcome, of: id, at: destination, now: now) }
        switch outcome {
        case .unreachable(let reason): unreachable(id, key, reason, now: now)
        case .withdrawn:
            links[key]?.ended(id)
            for key in bothWays(key) { links[key]?.circuitBreaker.withdrawn(id, now: now) }
        case .undecided, .refused(_, _, isAnswer: false):
            links[key]?.ended(id)
            undecided(id, bothWays(key), now: now)
        case .pushedBack, .unavailable:
            let inFlight = inFlight(at: key)
            links[key]?.refused(id, inFlight: inFlight, now: now)
            // An answer is an answer: the link works.
            answered(id, key, now: now)
        case .answeredWithError:
            links[key]?.ended(id)
            answered(id, key, now: now)
        case .answered, .refused(_, _, isAnswer: true):
            let inFlight = inFlight(at: key)
            links[key]?.accepted(id, inFlight: inFlight, now: now)
            links[key]?.intervalBuilder.completed += 1
            answered(id, key, now: now)
        }
    }

    /// Requests of all classes at a destination, the one that has just ended included.
    private func inFlight(at key: LinkKey) -> Int {
        // For a quarter of a second, reports still contain transfers that have ended.
        let known = links[key]?.pushback.inFlight ?? 0
        return known > 0 ? known : max(snapshots[key]?.transfers.count ?? 0, 1)
    }

    private mutating func answered(_ id: CommandID, _ key: LinkKey, now: MonotonicTime) {
        restarts[id] = nil
        let isNews = links[key]?.hasAnswered == false || links[key]?.circuitBreaker.isFailing == true
        if isNews, let destination = key.destination { proven.append(destination) }
        links[key]?.hasAnswered = true
        for key in bothWays(key).flatMap({ chain($0) })
        where links[key]?.circuitBreaker.answered(id, now: now) == .closed {
            links[key]?.reopened(now: now)
        }
    }

    private mutating func unreachable(_ id: CommandID, _ key: LinkKey, _ text: String, now: MonotonicTime) {
        links[key]?.ended(id)
        links[key]?.intervalBuilder.failed += 1
        _ = links[key]?.circuitBreaker.failed(id, text: text, chance: jitter.chance(), now: now)
        undecided(id, Array(bothWays(key).dropFirst()), now: now)
    }

    private mutating func undecided(_ id: CommandID, _ keys: [LinkKey], now: MonotonicTime) {
        for key in keys { links[key]?.circuitBreaker.undecided(id, chance: jitter.chance(), now: now) }
    }

    /// The link, and the link of the other direction where there is one: a command is a probe of both, and its
    /// answer concerns both.
    func bothWays(_ key: LinkKey) -> [LinkKey] {
        let other = LinkKey(key.scope, key.direction == .up ? .down : .up)
        return links[other] == nil || key.destination == nil ? [key] : [key, other]
    }

    /// Destinations that have answered, or taken bytes, for the first time or again, since the last call.
    package mutating func takeProven() -> [Destination] {
        defer { proven = [] }
        return proven
    }

    /// The command has come to its end: nothing of it is remembered.
    package mutating func finished(_ id: CommandID) { restarts[id] = nil }

    // MARK: Routes

    /// The kernel has not named the route of a destination yet. Until ``routeChanged(_:to:now:)`` it counts to the
    /// main uplink, unless that one is lost: a host without a default route may still reach the destination.
    package mutating func routeIsPending(_ destination: Destination) { pendingRoutes.insert(destination) }

    /// The kernel has reported a destination's route. Unknown destinations go by the main uplink; files are
    /// local.
    package mutating func routeChanged(_ destination: Destination, to route: Route, now: MonotonicTime) {
        let before = self.route(of: destination)
        let isFirst = pendingRoutes.remove(destination) != nil
        guard route != before || isFirst else { return }
        routes[destination] = route
        forgetUplink(before)
        if (route == .local) != (before == .local) {
            // Measurements of the one kind of link do not apply to the other. That the destination lives does: it
            // does not count as never tried.
            for key in Direction.allCases.map({ LinkKey(destination, $0) }) {
                let hasAnswered = links[key]?.hasAnswered == true
                remove(key)
                guard hasAnswered else { continue }
                _ = touch(key, now: now)
                links[key]?.hasAnswered = true
            }
        }
        for direction in Direction.allCases {
            let key = LinkKey(destination, direction)
            guard links[key] != nil else { continue }
            touched.insert(key)
            if let reason = missingRoute(key) {
                _ = links[key]?.circuitBreaker.routeLost(reason, chance: jitter.chance(), now: now)
            } else {
                // The measurements of the last coordinator were of this route, as far as is known.
                if !isFirst { links[key]?.rerouted(now: now) }
                links[key]?.circuitBreaker.routeFound(now: now)
            }
        }
    }

    /// Removes an uplink by which no destination is reached any more.
    private mutating func forgetUplink(_ route: Route) {
        guard case .uplink(let name) = route else { return }
        let keys = Direction.allCases.map { LinkKey(.uplink(name), $0) }.filter { links[$0] != nil }
        guard !keys.isEmpty, !links.containsKey(where: { $0.destination.map { self.route(of: $0) } == route })
        else { return }
        for key in keys { remove(key) }
    }

    /// The destination was not used for long, and its links are gone. The kernel reports its route again when
    /// it is used again.
    package mutating func forget(_ destination: Destination) {
        routes[destination] = nil
        pendingRoutes.remove(destination)
        circuitBreakers[destination] = nil
        changedCircuitBreakers.remove(destination)
    }

    /// A default route or its interface is gone: every link behind it is offline at once.
    package mutating func uplinkLost(_ route: String, reason: LinkReason, now: MonotonicTime) {
        lostUplinks[route] = reason
        for key in Self.ordered(Set(links.keys))
        where uplink(of: key)?.scope == .uplink(route) || key.scope == .uplink(route) {
            _ = links[key]?.circuitBreaker.routeLost(reason, chance: jitter.chance(), now: now)
            touched.insert(key)
        }
    }

    /// Another interface or gateway carries the uplink: what was measured does not apply to it.
    package mutating func uplinkReplaced(_ route: String, now: MonotonicTime) {
        for key in links.keys where key.scope == .uplink(route) || uplink(of: key)?.scope == .uplink(route) {
            links[key]?.rerouted(now: now)
            touched.insert(key)
        }
    }

    /// The uplink is back: its links are probed now.
    package mutating func uplinkFound(_ route: String, now: MonotonicTime) {
        guard lostUplinks.removeValue(forKey: route) != nil else { return }
        for key in links.keys {
            if key.scope == .uplink(route) {
                _ = links[key]?.circuitBreaker.answered(nil, now: now)
                links[key]?.rerouted(now: now)
                touched.insert(key)
            } else if uplink(of: key)?.scope == .uplink(route) {
                links[key]?.circuitBreaker.routeFound(now: now)
                touched.insert(key)
            }
        }
    }

    // MARK: Settings

    /// Takes in what a person set, now or before the coordinator started.
    package mutating func override(_ destination: Destination, _ value: LinkOverride, now: MonotonicTime) {
        if overrides[destination]?.isOffline == true, !value.isOffline { circuitBreakers[destination]?.probeNow(now) }
        overrides[destination] = value == LinkOverride() ? nil : value
        for direction in Direction.allCases {
            let key = LinkKey(destination, direction)
            links[key]?.force(offline: value.isOffline, now: now)
            if links[key] != nil { touched.insert(key) }
        }
    }

    package func history(of key: LinkKey, now: MonotonicTime) -> LinkHistory? { links[key]?.history(now: now) }

    /// Takes in what the last coordinator left of a link. An offline link is not reported as changed, and waits for
    /// its turn among the idle links: of 20,000 dead ones, none delays the first command after a start.
    package mutating func restore(_ history: LinkHistory, of key: LinkKey, now: MonotonicTime) {
        let wasTouched = touched.contains(key)
        _ = touch(key, now: now)
        links[key]?.restore(history, now: now)
        guard links[key]?.circuitBreaker.isClosed == false, key.destination != nil else { return }
        if !wasTouched { touched.remove(key) }
        published[key] = .offline
    }
}

/// The end of an execution, by what it says of the link and the destination. The coordinator reads it from
/// the transitions.
package enum TransferOutcome: Sendable, Equatable {
    /// The destination answered: a success, or a refusal that no retry would change.
    case answered
    /// The end speaks neither for the destination nor against its link: a source that is gone, for instance.
    case undecided
    /// The destination refuses for a reason of its own: a certificate, 401, 507. `isAnswer` is false where
    /// the destination did not say so itself, as for a credential that cannot be read here.
    case refused(DestinationCircuitBreaker.Cause, reason: String, isAnswer: Bool = true)
    /// 429: too many at once.
    case pushedBack
    /// 503. `target`: the URL that was asked for, where it is known.
    case unavailable(reason: String, _ target: CommandTarget? = nil)
    /// Another answer that says nothing of the destination as a whole, such as 500 or 423.
    case answeredWithError
    /// The link failed: DNS, refused, unreachable, connect or TLS timeout, stall. The sentence tells them
    /// apart.
    case unreachable(reason: String)
    /// Cancelled, preempted, drained, or never begun: it says nothing.
    case withdrawn
}

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
