package import Commands
internal import DequeModule
internal import HeapModule
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
    /// A look-up that has not come back after this time has failed.
    private static let lookUpTimeout: Duration = .seconds(2)

    // MARK: By the clock

    mutating func scheduleProbe(of destination: Destination) {
        guard destination != .none else { return }
        let kind: ProbeSchedule.Kind = links.isOffline(destination) ? .link : .destination
        schedule.set(destination, kind, at: links.nextProbe(of: destination))
    }

    /// Takes in what has become due: probes, and the ends of waits after a failure of the link.
    mutating func takeDue(now: MonotonicTime) {
        wanted += admission.failureWaits.takeDue(now: now)
        for destination in schedule.takeWakes(now: now) { wake(destination) }
        for destination in schedule.takeDue(.destination, now: now, maxCount: Self.maxDueProbes) {
            if links.isProbeDue(at: destination, now: now) { dueProbes.insert(destination) }
            prepareProbe(of: destination, now: now)
        }
        let slots = slots
        let attempts = freeAttempts(now: now)
        for isHigh in [true, false] {
            var free = attempts[isHigh: isHigh]
            // Commands in memory that wait for the budget, and links whose probe is due, share the attempts.
            if schedule.next(.link).map({ $0 <= now }) ?? false {
                probesLinks.toggle()
                let isShared = queue.awaitsProbe(isHigh: isHigh)
                let share = isShared ? (probesLinks ? (free + 1) / 2 : free / 2) : free
                free -= takeOffline(min(share, Self.maxDueProbes), isHigh: isHigh, now: now)
            }
            queue.wakeForProbe(
                isHigh: isHigh, failing: free, untried: admission.probes[isHigh: isHigh].free(slots: slots))
        }
        for limit in queue.awaitedLimits { queue.wake(limit, rates.free(of: limit, now: now)) }
    }

    /// Takes links that are offline and may be probed, at most as many as the budget has attempts for. The work of a
    /// second is that of its attempts, whatever number of links is offline.
    /// - Returns: how many were taken.
    private mutating func takeOffline(_ maxCount: Int, isHigh: Bool, now: MonotonicTime) -> Int {
        // Commands that are being read will use attempts.
        lookedUp = lookedUp.filter { now - $0.value < Self.lookUpTimeout }
        // Without high QoS in memory, the commands that are found are of the other classes.
        guard maxCount > lookedUp.count, !isHigh || queue.holds(.high) else { return 0 }
        let due = schedule.takeDue(.link, now: now, maxCount: maxCount - lookedUp.count)
        for destination in due { prepareProbe(of: destination, now: now) }
        return due.count
    }

    /// Has admission asked about a probe of the destination. Where all its commands have failed, the one whose wait ends
    /// first is read from the store.
    private mutating func prepareProbe(of destination: Destination, now: MonotonicTime) {
        preparedProbes += 1
        wake(destination)
        guard !hasReady(destination), let first = admission.failureWaits.waiting(for: destination).min() else { return }
        admission.failureWaits.offered(first)
        wanted.append(first)
        lookedUp[destination] = now
    }

    /// Attempts at failing destinations that may begin now.
    private func freeAttempts(now: MonotonicTime) -> ByProbeBudget<Int> {
        let hasExtra = seats.values.contains { $0.extraRoom > 0 }
        func free(_ budget: ProbeBudget, _ serviceClass: ServiceClass) -> Int {
            guard hasExtra || seats.values.contains(where: { $0.room(serviceClass, now: now) > 0 }) else { return 0 }
            return budget.free(slots: slots, now: now)
        }
        return ByProbeBudget(high: free(admission.probes.high, .high), others: free(admission.probes.others, .middle))
    }

    /// When ``takeDue(now:)`` may let the next attempt at a failing destination go; nil where the end of another is
    /// awaited, or none is due.
    func nextAttempt(now: MonotonicTime) -> MonotonicTime? {
        let attempts = freeAttempts(now: now)
        return [true, false].compactMap { isHigh -> MonotonicTime? in
            let budget = admission.probes[isHigh: isHigh]
            guard budget.freeForFailing(slots: slots) > 0 else { return nil }
            let isFree = attempts[isHigh: isHigh] > lookedUp.count
            // Without a slot or with commands that are being read, an event comes first.
            guard let paid = isFree ? now : budget.nextToken(now: now) else { return nil }
            if queue.awaitsProbe(isHigh: isHigh) { return paid }
            guard !isHigh || queue.holds(.high) else { return nil }
            return schedule.next(.link).map { max($0, paid) }
        }.min()
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
        guard !dueProbes.isEmpty else { return }
        let due = dueProbes.take(Self.maxDueProbes).filter { links.isProbeDue(at: $0, now: now) }
        for destination in due.sorted(by: { $0.text < $1.text }) {
            dueProbes.insert(destination)
            let host = host(isFull: false, freeExtras: 0, now: now)
            let waiting = queue.commands(to: destination, ServiceClass.allCases)
            links.wantTargets(of: waiting, at: destination)
            let probes = waiting.filter { command in
                guard links.mayProbe(command, now: now) else { return false }
                var load = load(ReadyKey(destination: destination, qos: command.qos), now: now)
                guard load.availability == .circuitBreaker else { return false }
                load.availability = .probe
                // A destination that answers does not wait for the attempts at those that do not.
                var host = host
                if load.isProven { (host.mayProbe, host.mayProbeHigh) = (true, true) }
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

/// When destinations may be probed: a heap, so that the next due one costs the same however many are down.
/// Pure.
///
/// Probes of links that are offline have a heap of their own. They fall due faster than ``ProbeBudget`` lets them go: of
/// 20,000 links that are offline, 670 a second against 25. So the dispatcher takes no more of them than may go, and
/// those of destinations that answer, but refuse, do not wait behind them.
struct ProbeSchedule: Sendable {
    enum Kind: Sendable, CaseIterable {
        /// The link is offline.
        case link
        /// The destination's own circuit breaker is open.
        case destination
    }

    private struct Due: Sendable, Comparable {
        var at: MonotonicTime
        var destination: Destination

        static func < (left: Self, right: Self) -> Bool {
            (left.at, left.destination.text) < (right.at, right.destination.text)
        }
    }

    private struct Time: Sendable, Equatable {
        var at: MonotonicTime
        var kind: Kind
    }

    private var links = Heap<Due>()
    private var destinations = Heap<Due>()
    private var times: [Destination: Time] = [:]
    /// Destinations of which admission is to be asked again, and when.
    private var wakes: [Destination: MonotonicTime] = [:]

    /// - Parameter at: nil where no probe is needed.
    mutating func set(_ destination: Destination, _ kind: Kind, at: MonotonicTime?) {
        let time = at.map { Time(at: $0, kind: kind) }
        guard times[destination] != time else { return }
        times[destination] = time
        guard let time else { return }
        change(kind) { $0.insert(Due(at: time.at, destination: destination)) }
        let times = times
        change(kind) { dues in
            guard dues.count > 2 * times.count + 64 else { return }
            dues = Heap(dues.unordered.filter { times[$0.destination] == Time(at: $0.at, kind: kind) })
        }
    }

    /// Takes out the destinations that are due. Each is set again when its probe has ended.
    mutating func takeDue(_ kind: Kind, now: MonotonicTime, maxCount: Int) -> [Destination] {
        var found: [Destination] = []
        while found.count < maxCount, let due = dues(kind).min, due.at <= now {
            change(kind) { $0.removeMin() }
            guard times[due.destination] == Time(at: due.at, kind: kind) else { continue }
            times[due.destination] = nil
            found.append(due.destination)
        }
        return found
    }

    /// When the next probe is due, at the latest.
    func next(_ kind: Kind) -> MonotonicTime? { dues(kind).min?.at }

    private func dues(_ kind: Kind) -> Heap<Due> { kind == .link ? links : destinations }

    private mutating func change(_ kind: Kind, _ body: (inout Heap<Due>) -> Void) {
        if kind == .link { body(&links) } else { body(&destinations) }
    }

    /// Admission is to be asked again for the destination at that time.
    mutating func wake(_ destination: Destination, at: MonotonicTime) { wakes[destination] = at }

    mutating func takeWakes(now: MonotonicTime) -> [Destination] {
        if wakes.isEmpty { return [] }
        let due = wakes.filter { $0.value <= now }.map(\.key)
        for destination in due { wakes[destination] = nil }
        return due
    }

    var nextWake: MonotonicTime? { wakes.values.min() }
}

/// Destinations whose circuit breaker lets a probe out, in the order in which they are looked at. Pure.
struct DueProbes: Sendable {
    private var order: Deque<Destination> = []
    private var known: Set<Destination> = []

    var isEmpty: Bool { known.isEmpty }

    mutating func insert(_ destination: Destination) {
        if known.insert(destination).inserted { order.append(destination) }
    }

    mutating func remove(_ destination: Destination) { known.remove(destination) }

    /// Takes some from the front. Each that is still due is inserted again, behind the others.
    mutating func take(_ maxCount: Int) -> [Destination] {
        var found: [Destination] = []
        while found.count < maxCount, let destination = order.popFirst() {
            if known.remove(destination) != nil { found.append(destination) }
        }
        return found
    }
}
