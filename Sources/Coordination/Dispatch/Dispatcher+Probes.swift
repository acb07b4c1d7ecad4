package import Commands
package import Host
internal import NetworkControl
internal import Store
internal import Wire

/// Probes: commands that find out whether a destination answers, and waits after a failure of the link.
extension Dispatcher {
    /// An attempt that has neither failed nor been answered after this time executes something: it is not a
    /// probe any more. The connect timeout is 10 s.
    private static let probeTimeout: Duration = .seconds(15)
    /// Probes that become due in one round.
    private static let maxDueProbes = 64

    // MARK: By the clock

    mutating func scheduleProbe(of destination: Destination) {
        guard destination != .none else { return }
        schedule.set(destination, at: links.nextProbe(of: destination))
    }

    /// Takes in what has become due: probes, and the ends of waits after a failure of the link.
    mutating func takeDue(now: MonotonicTime) {
        wanted += admission.failureWaits.takeDue(now: now)
        for destination in schedule.takeWakes(now: now) { wake(destination) }
        for destination in schedule.takeDue(now: now, maxCount: Self.maxDueProbes) {
            if links.isProbeDue(at: destination, now: now) { dueProbes.insert(destination) }
            wake(destination)
            guard !hasReady(destination) else { continue }
            // All its commands have failed: the one whose wait ends first is the probe.
            let waiting = admission.failureWaits.waiting(for: destination)
            guard let first = waiting.min() else { continue }
            admission.failureWaits.offered(first)
            wanted.append(first)
        }
        let slots = slots
        queue.wakeForProbe(
            failing: admission.freeProbes(slots: slots, now: now), untried: admission.probes.free(slots: slots))
        for limit in queue.awaitedLimits { queue.wake(limit, rates.free(of: limit, now: now)) }
    }

    /// Commands that must be looked up in the store: their wait is over, or one of them is to be a probe.
    package mutating func takeWanted() -> [CommandID] {
        defer { wanted = [] }
        return wanted
    }

    private func hasReady(_ destination: Destination) -> Bool {
        ServiceClass.allCases.contains { queue.count(destination, $0) > 0 }
    }

    // MARK: Ends

    /// The destination has answered or takes bytes: commands that wait for it may go, and offered ones are
    /// not probes any more.
    mutating func prove(_ destination: Destination, now: MonotonicTime) {
        wanted += admission.failureWaits.answered(destination)
        for id in probing.removeValue(forKey: destination) ?? [] { endProbe(id, isAnswered: true, now: now) }
        wake(destination)
    }

    /// A probe that is older than ``probeTimeout`` executes something, and returns its part of the budget.
    /// Call it now and then.
    package mutating func expireProbes(now: MonotonicTime) {
        for (destination, ids) in probing {
            for id in ids {
                if let entry = inFlight[id], now - entry.since <= Self.probeTimeout { continue }
                endProbe(id, isAnswered: false, now: now)
                removeProbe(id, of: destination)
            }
        }
    }

    mutating func removeProbe(_ id: CommandID, of destination: Destination) {
        probing[destination]?.remove(id)
        if probing[destination]?.isEmpty == true { probing[destination] = nil }
    }

    private mutating func endProbe(_ id: CommandID, isAnswered: Bool, now: MonotonicTime) {
        guard var entry = inFlight[id], entry.grant.probe != nil else { return }
        admission.endProbe(entry.grant, isAnswered: isAnswered, now: now)
        entry.grant.probe = nil
        inFlight[id] = entry
    }

    // MARK: Circuit breakers

    /// Offers one command to each destination whose circuit breaker lets a probe out now. It takes an
    /// ordinary slot.
    mutating func dispatchProbes(to candidates: inout [OfferCandidate], now: MonotonicTime) {
        let due = dueProbes.filter { links.isProbeDue(at: $0, now: now) }.sorted { $0.text < $1.text }
        dueProbes = Set(due)
        for destination in due {
            let host = host(isFull: false, freeExtras: 0, now: now)
            let waiting = queue.commands(to: destination, ServiceClass.allCases)
            links.wantTargets(of: waiting, at: destination)
            let probes = waiting.filter { command in
                guard links.mayProbe(command, now: now) else { return false }
                var load = load(ReadyKey(destination: destination, qos: command.qos), now: now)
                guard load.availability == .circuitBreaker else { return false }
                load.availability = .probe
                let request = Admission.Request(qos: command.qos)
                guard case .admitted = Admission.verdict(request, load, host),
                    rates.lacking(for: ReadyKey(command), now: now) == nil
                else { return false }
                let isPaced = rates.pace(ReadyKey(command))
                return candidates.contains { $0.hasRoom(for: command, isPaced: isPaced) }
            }
            guard let probe = probes.min(by: { links.isBetterProbe($0, than: $1) }) else { continue }
            let isPaced = rates.pace(ReadyKey(probe))
            let able = candidates.indices.filter { candidates[$0].hasRoom(for: probe, isPaced: isPaced) }
            guard let roomiest = able.max(by: { candidates[$0].freeSlots < candidates[$1].freeSlots }) else { continue }
            queue.remove(probe.id)
            offer(probe, .ordinary, to: &candidates[roomiest], now: now)
        }
    }
}
