package import Commands
package import Host

/// Questions of the dispatcher before it offers commands, and reports of its offers.
extension NetworkController {
    // MARK: Before an offer

    /// Whether commands of a quality may go: by a person's setting, the link and the destination's circuit
    /// breaker. ``LinkAllowance`` says how many of them.
    package func availability(of qos: QualityOfService, to key: LinkKey, now: MonotonicTime) -> LinkAvailability {
        if let destination = key.destination, overrides[destination]?.isOffline == true { return .heldOffline }
        // A person sets the hours, so they bind the floor too, which levels do not.
        if qos == .background, isOutOfHours(key) { return .outOfHours }
        guard let link = links[key] else {
            // The next tick makes the link, and then it is probed.
            if missingRoute(key) != nil { return .offline }
            return isCircuitBreakerClosed(key) ? .available : .circuitBreaker
        }
        if link.isForcedOffline { return .heldOffline }
        let isClosed = link.circuitBreaker.isClosed
        guard isClosed || link.circuitBreaker.isProbeDue(now: now) else { return .offline }
        guard isCircuitBreakerClosed(key) else { return .circuitBreaker }
        return isClosed ? .available : .probe
    }

    private func isCircuitBreakerClosed(_ key: LinkKey) -> Bool {
        guard !circuitBreakers.isEmpty, let destination = key.destination else { return true }
        return circuitBreakers[destination]?.isClosed ?? true
    }

    /// The destination has answered or taken bytes, and has not failed since. Files need no proof.
    package func isProven(_ key: LinkKey) -> Bool {
        let isFile = key.destination?.isFile == true
        guard let link = links[key] else { return isFile }
        return (link.hasAnswered || isFile) && !link.circuitBreaker.isFailing
    }

    /// The last attempts to reach the destination failed.
    package func isFailing(_ key: LinkKey) -> Bool {
        guard let link = links[key] else { return false }
        return link.circuitBreaker.isFailing || link.hasYielded && !link.hasAnswered
    }

    /// The command runs without an answer or an acknowledged byte, to a destination that has never had one, and may be
    /// stopped.
    package func isUnanswered(_ id: CommandID, to key: LinkKey) -> Bool {
        guard links[key]?.hasAnswered != true, orders[id] == nil, let sample = transfers[id]?.sample else {
            return false
        }
        return sample.isIdempotent && sample.acknowledged == 0
    }

    /// The first try of the destination has made way for others.
    package mutating func firstTryYielded(_ key: LinkKey) { links[key]?.hasYielded = true }

    /// `background` may not begin there now.
    package func isOutOfHours(_ key: LinkKey) -> Bool {
        let hours = key.destination.flatMap { policy.destinations[$0]?.backgroundHours }
        return hours.map { !$0.contains(minute: minuteOfDay) } ?? false
    }

    /// When the next probe may go to a destination; nil where none is needed, or one is under way.
    package func nextProbe(of key: LinkKey) -> MonotonicTime? {
        guard links[key]?.isForcedOffline != true else { return nil }
        // If both circuit breakers hold commands back, the later time counts.
        return [links[key]?.circuitBreaker.nextProbe, key.destination.flatMap { circuitBreakers[$0]?.nextAttempt }]
            .compactMap { $0 }.max()
    }

    // MARK: Allowances

    /// Writes into an allowance how many requests the server takes at once, as known at this moment.
    package func fill(_ allowance: inout LinkAllowance, of key: LinkKey, now: MonotonicTime) {
        // Files are written by as many threads as their file system has.
        guard key.destination?.isFile != true else { return }
        let pushback = links[key]?.pushback ?? PushbackLimit()
        allowance.pushback = pushback.isPausing(now: now) ? 0 : pushback.isBarred ? pushback.limit : nil
        allowance.slowStart = pushback.limit
    }

    /// The allowance of a link of which nothing is known yet.
    package func firstAllowance(of key: LinkKey) -> LinkAllowance {
        let isLocal = key.destination.map { route(of: $0) == .local } ?? false
        var allowance = LinkAllowance(level: .unknown, limit: 0, lowLimit: 0)
        allowance.maxConcurrency = key.destination.flatMap { policy.destinations[$0]?.maxConcurrency }
        allowance.limit = policy.fixedConcurrency ?? (isLocal ? policy.globalLimit : tuning.initial)
        allowance.uplink = uplink(of: key)
        let above = allowance.uplink.flatMap { links[$0]?.level } ?? .unknown
        if above > .good {
            allowance.limit = min(allowance.limit, max(policy[above].limit, 1))
            allowance.uplinkLimit = max(policy[above].limit, 1)
            for qos in QualityOfService.allCases where policy[above][qos].strictness >= PolicyVerb.pause.strictness {
                allowance.blocked.insert(qos)
            }
        }
        allowance.lowLimit = allowance.limit
        return allowance
    }

    // MARK: Offers

    /// How many commands of each quality wait for a link.
    package mutating func setWaiting(_ counts: [QualityOfService: Int], for key: LinkKey, now: MonotonicTime) {
        let before = waiting[key]
        waiting[key] = counts.values.contains { $0 > 0 } ? counts : nil
        if let destination = key.destination, key.direction == .up, (before == nil) != (waiting[key] == nil) {
            circuitBreakers[destination]?.asked(isAsking: before == nil, now: now)
        }
        // The next tick of a link that runs transfers needs the number; of another, only whether commands
        // wait. A link that is offline waits for its probe, whatever waits for it.
        if waiting[key] != nil, before == nil, links[key]?.circuitBreaker.isClosed != false {
            _ = touch(key, now: now)
        }
    }

    /// The command goes out; while a circuit breaker is open, it is the probe.
    /// - Parameter target: the URL that it asks for, where it is known.
    package mutating func offered(
        _ id: CommandID, _ target: CommandTarget? = nil, to key: LinkKey, now: MonotonicTime
    ) {
        _ = touch(key, now: now)
        links[key]?.sent(id, now: now)
        for key in bothWays(key) { links[key]?.circuitBreaker.offered(id, now: now) }
        if let destination = key.destination { circuitBreakers[destination]?.offered(id, target, now: now) }
    }

    /// High quality became runnable: other transfers yield before it has sent a byte.
    /// - Parameter bytes: what it will send; nil where unknown.
    /// - Returns: nil where no transfer has to yield, or all have yielded already.
    package mutating func announce(
        _ id: CommandID, to key: LinkKey, qos: QualityOfService, bytes: Int64?, now: MonotonicTime
    ) -> NetworkDecisions? {
        guard qos.serviceClass == .high, transfers[id] == nil else { return nil }
        announced[id] = AnnouncedTransfer(key: key, qos: qos, bytes: bytes, announcedAt: now)
        let mustYield = touch(key, now: now).contains {
            guard let link = links[$0], link.planner.since == nil, let snapshot = snapshots[$0], snapshot.inFlight > 0,
                link.isSaturated(now: now)
            else { return false }
            // A short transfer is not worth a decision, unless the level itself slows lower quality down.
            let capacity = link.capacity(now: now)
            return link.level > .good
                || link.planner.isLosing(
                    preemptionInput($0, link, snapshot, capacity: capacity, now: now), policy.preemption)
        }
        return mustYield ? decide(now: now) : nil
    }

    // MARK: Cuts for slots

    /// Ends transfers of low QoS because a higher class needs their slots.
    /// - Parameter ids: of transfers that may be cut.
    package mutating func preempt(_ ids: [CommandID], for cause: TransferOrder.Cause, now: MonotonicTime)
        -> NetworkDecisions?
    {
        let new = ids.filter { orders[$0] == nil && transfers[$0] != nil }
        guard !new.isEmpty else { return nil }
        order(new, .cut, cause, nil, now: now)
        return decide(now: now)
    }

    /// Resumable transfers of low QoS that may be cut for a slot, in the order of the cuts, without those
    /// that were cut already.
    /// - Parameter destination: nil for all.
    package func preemptible(at destination: Destination? = nil) -> [TransferSample] {
        let samples = transfers.values.lazy.map(\.sample).filter { sample in
            (destination == nil || sample.destination == destination) && sample.isResumable
        }
        return PreemptionPlanner.victims(samples.filter { orders[$0.id] == nil })
    }

    /// Cuts that have not taken effect yet.
    /// - Parameter destination: nil for all.
    package func pendingCuts(at destination: Destination? = nil) -> Int {
        orders.values.count { order in
            order.verb == .cut && (destination == nil || transfers[order.id]?.sample.destination == destination)
        }
    }
}

/// Whether commands of one quality of service may go over a link to its destination now.
package enum LinkAvailability: Sendable, Equatable {
    case available
    /// The link is offline, and its next probe is due.
    case probe
    /// A person holds the destination offline.
    case heldOffline
    /// The destination takes no `background` at this hour.
    case outOfHours
    /// The link is offline, and no probe is due.
    case offline
    /// The circuit breaker of the destination is not closed. The dispatcher chooses its probes one by one.
    case circuitBreaker
}

/// The transfers that a link admits. The controller's limit binds middle and low QoS. The limits of the
/// server and of a person bind every class.
package struct LinkAllowance: Sendable, Equatable {
    package var level: LinkLevel
    /// Transfers of middle and low QoS at once, in all workers together.
    package var limit: Int
    /// Of these, low ones at most.
    package var lowLimit: Int
    /// Requests of all classes at once that the server takes; nil while it has refused none.
    package var pushback: Int?
    /// Commands of high QoS at once, and as many of the others, until the server has refused one. It doubles
    /// in a round.
    package var slowStart = Int.max
    /// A person's limit of all classes; nil: none.
    package var maxConcurrency: Int?
    /// Qualities of service of which no command begins now.
    package var blocked: Set<QualityOfService> = []
    /// The uplink above, and the limit that its links share; nil while it bounds none.
    package var uplink: LinkKey?
    package var uplinkLimit: Int?

    package init(level: LinkLevel, limit: Int, lowLimit: Int, blocked: Set<QualityOfService> = []) {
        self.level = level
        self.limit = limit
        self.lowLimit = lowLimit
        self.blocked = blocked
    }

    /// The lower bounds of two links to one destination.
    package func combined(with other: LinkAllowance) -> LinkAllowance {
        var combined = limit <= other.limit ? self : other
        combined.level = max(level, other.level)
        combined.lowLimit = min(lowLimit, other.lowLimit)
        combined.blocked = blocked.union(other.blocked)
        return combined
    }
}
