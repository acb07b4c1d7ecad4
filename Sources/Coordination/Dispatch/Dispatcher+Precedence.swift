internal import Commands
internal import Host
internal import NetworkControl
package import Store
internal import Wire

/// All ordinary slots are taken: extra slots, and preemption for a higher class.
extension Dispatcher {
    /// Groups of middle QoS that are looked at for slots of low QoS.
    private static let maxLooked = 64

    /// Destinations that hold no slot take extra ones.
    mutating func fillExtras(_ serviceClass: ServiceClass, of candidates: inout [OfferCandidate], now: MonotonicTime) {
        while queue.holds(serviceClass) {
            let able = candidates.indices.filter {
                candidates[$0].freeExtras > 0 && candidates[$0].room(serviceClass) <= 0
            }
            let free = able.reduce(0) { $0 + candidates[$1].freeExtras }
            guard free > 0 else { return }
            let host = host(isFull: true, freeExtras: free, now: now)
            let workers = able.map { candidates[$0] }
            let next = take(serviceClass, host, now: now) { subQueue in workers.contains { $0.accepts(subQueue) } }
            guard let next else { return }
            let subQueue = ReadyQueue.SubQueue(next.command)
            let fit = able.filter { candidates[$0].accepts(subQueue) }
            guard let roomiest = fit.max(by: { candidates[$0].freeExtras < candidates[$1].freeExtras }) else { return }
            offer(next.command, .extra, to: &candidates[roomiest], now: now)
        }
    }

    // MARK: Preemption

    /// Middle QoS that found no slot preempts low QoS until it holds half of the slots. High QoS that the
    /// server or a person limits preempts low QoS at that destination. Preempted commands continue from where
    /// they were, uncharged.
    mutating func preemptForSlots(now: MonotonicTime) {
        preemptForMiddle(now: now)
        for destination in blockedHigh where queue.count(destination, .high) > 0 {
            let more = startable(destination, .high, now: now) - links.controller.pendingCuts(at: destination)
            if more > 0 { preempt(more, at: destination, for: .slotForHigh, now: now) }
        }
    }

    private mutating func preemptForMiddle(now: MonotonicTime) {
        let waiting = queue.holds(.middle) ? queue.rotatingGroups(.middle, Self.maxLooked) : []
        guard !waiting.isEmpty, links.policy.preemptionIsOn else { return }
        var wanted = 0
        let host = host(isFull: true, freeExtras: 0, now: now)
        for group in waiting where wanted < host.slots / 2 {
            let load = load(ReadyKey(destination: group.destination, qos: .default), now: now)
            let request = Admission.Request(qos: .default, isContested: true)
            guard case .waits(let wait) = Admission.verdict(request, load, host), wait.rule == .slots else { continue }
            let room = max(min(load.allowance.limit - load.held.others, host.slots), 0)
            wanted += min(startable(group.destination, .middle, now: now), room)
        }
        let missing = min(wanted, host.slots / 2 - admission.counts.total.middle)
        let more = missing - links.controller.pendingCuts()
        if more > 0 {
            preempt(more, at: nil, for: .slotsForMiddle, now: now)
        }
    }

    /// Commands in memory that would start if they had slots.
    private func startable(_ destination: Destination, _ serviceClass: ServiceClass, now: MonotonicTime) -> Int {
        guard !rates.isEmpty else { return queue.count(destination, serviceClass) }
        return queue.counts(destination, serviceClass).reduce(0) { sum, queue in
            sum + (rates.pace(queue.key) ? min(rates.free(for: queue.key, now: now), queue.value) : queue.value)
        }
    }

    private mutating func preempt(
        _ count: Int, at destination: Destination?, for cause: TransferOrder.Cause, now: MonotonicTime
    ) {
        // A command in an extra slot would free no ordinary one.
        let low = links.controller.preemptible(at: destination).filter { !holdsExtra($0.id) }
        links.preempt(low.prefix(count).map(\.id), for: cause, now: now)
    }
}

/// First tries: a destination that was never tried starts within a second, whatever number of dead ones is tried
/// beside it.
///
/// An attempt at a dead destination holds its slot for as long as a connect or a look-up lasts, 10 to 40 s. Where a
/// destination that holds no slot finds none, the oldest first tries without an answer make way. Nothing is lost with
/// them: no byte was acknowledged. From then on their destinations count as failing, wait as after a failure of the
/// link, and are tried for the whole time of a connect.
extension Dispatcher {
    /// A first try that has no answer after this time makes way.
    private static let maxSilence: Duration = .milliseconds(500)
    private static let yieldInterval: Duration = .milliseconds(100)
    /// First tries that make way at a time, of high QoS and of the others.
    private static let maxYielding = 4
    /// Groups that are looked at, of each class.
    private static let maxNewcomers = 64

    mutating func yieldFirstTries(now: MonotonicTime) {
        guard now >= yieldsAt else { return }
        yieldsAt = now + Self.yieldInterval
        // First, because it costs least: where dead destinations refuse at once, there are none.
        let silent = silentFirstTries(now: now)
        guard !silent.isEmpty else { return }
        for isHigh in [true, false] {
            let own = silent.filter { ($0.serviceClass == .high) == isHigh }
            guard !own.isEmpty else { continue }
            let isBudgetUsed = admission.probes[isHigh: isHigh].free(slots: slots) == 0
            let classes: [ServiceClass] = isHigh ? [.high] : [.middle, .low]
            let waiting =
                (isBudgetUsed ? queue.untriedCount(isHigh: isHigh) : 0)
                + classes.reduce(0) { $0 + newcomers($1, now: now) }
            if waiting > 0 { yield(waiting, of: own.map(\.id), isHigh: isHigh, now: now) }
        }
    }

    /// First tries that are old enough to make way, the oldest first.
    private func silentFirstTries(now: MonotonicTime) -> [(id: CommandID, serviceClass: ServiceClass)] {
        inFlight.filter { id, entry in
            entry.isFirstTry && entry.offeredAt == nil && now - entry.since >= Self.maxSilence
                && !yielding.contains(id) && links.isUnanswered(id, at: entry.grant.destination)
        }
        .sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        .map { ($0.key, $0.value.grant.serviceClass) }
    }

    /// Destinations with ready commands of a class that hold no slot and find none.
    private func newcomers(_ serviceClass: ServiceClass, now: MonotonicTime) -> Int {
        guard queue.holds(serviceClass) else { return 0 }
        let host = host(isFull: true, freeExtras: 0, now: now)
        let qos: QualityOfService =
            switch serviceClass {
            case .high: .userInitiated
            case .middle: .default
            case .low: .utility
            }
        return queue.rotatingGroups(serviceClass, Self.maxNewcomers).count { group in
            guard admission.counts[group.destination].all == 0 else { return false }
            let load = load(ReadyKey(destination: group.destination, qos: qos), now: now)
            let request = Admission.Request(qos: qos, isContested: true)
            guard case .waits(let wait) = Admission.verdict(request, load, host) else { return false }
            return wait.rule == .slots || wait.rule == .maxTransfers
        }
    }

    private mutating func yield(_ count: Int, of silent: [CommandID], isHigh: Bool, now: MonotonicTime) {
        let pending = yielding.count { inFlight[$0]?.grant.isHigh == isHigh }
        let ids = silent.prefix(max(min(count, Self.maxYielding - pending), 0))
        guard !ids.isEmpty else { return }
        yielding.formUnion(ids)
        links.preempt(Array(ids), for: .firstTry, now: now)
    }

    /// A first try has made way.
    mutating func firstTryYielded(_ id: CommandID, to destination: Destination, now: MonotonicTime) {
        admission.failureWaits.failed(id, to: destination, chance: jitter.chance(), now: now)
        links.firstTryYielded(at: destination)
    }
}

/// The floor of invariant 7: no class waits for ever behind higher ones.
extension Dispatcher {
    /// Groups that are looked at for the floor at a time, and the time from one look to the next.
    private static let maxFloors = 128
    private static let floorInterval: Duration = .milliseconds(50)
    /// Old entries are removed this often. With 20,000 destinations that fail, a walk at each look took 39 % of the
    /// coordinator's time.
    private static let expiryInterval: Duration = .seconds(5)

    /// Commands that the floor lets go, one of each destination: of a class that has waited too long behind
    /// higher ones, early enough for its first bytes. And transfers whose connection broke beside high QoS,
    /// where the limit of the link has fallen since: they wait no longer either, because the running ones may
    /// not end for hours (one of four stood still for 330 s of 600, measured).
    mutating func floorCandidates(at: Timestamp, now: MonotonicTime) -> [ReadyCommand] {
        guard now >= floorsAt else { return pacedFloors }
        floorsAt = now + Self.floorInterval
        removeExpired(now: now)
        var floors: [Destination: ReadyCommand] = [:]
        if admission.counts.total.high > 0 {
            let longest = links.policy.maxStandstill * 2
            for (id, since) in reconnecting where now - since >= floorWait && now - since < longest {
                guard let command = queue.command(id), !command.suspect, floors[command.destination] == nil else {
                    continue
                }
                floors[command.destination] = command
            }
        }
        pacedFloors = []
        for (group, entries) in queue.oldest(Self.maxFloors) {
            // A command that was cut a moment ago does not come back by the floor.
            guard admission.counts[group.destination, group.serviceClass] == 0,
                releasedAt[group].map({ now - $0 > floorWait }) ?? true,
                floors[group.destination] == nil
            else { continue }
            floors[group.destination] = floor(of: entries, at: at, now: now)
        }
        return floors.values.sorted { $0.id < $1.id }
    }

    private mutating func removeExpired(now: MonotonicTime) {
        guard now >= floorsExpireAt else { return }
        floorsExpireAt = now + Self.expiryInterval
        let longest = links.policy.maxStandstill * 2
        releasedAt = releasedAt.filter { now - $0.value <= floorWait }
        reconnecting = reconnecting.filter { now - $0.value < longest }
    }

    /// The first command that has waited too long and may start. One that lacks a token is noted, and hides no other.
    private mutating func floor(of entries: [ReadyQueue.Entry], at: Timestamp, now: MonotonicTime) -> ReadyCommand? {
        for entry in entries {
            guard queue.age(of: entry, at: at) > floorWait else { return nil }
            let command = entry.command
            guard !rates.isEmpty || command.limit != nil else { return command }
            if rates.pace(ReadyKey(command)) { pacedFloors.append(command) }
            if rates.lacking(for: ReadyKey(command), now: now) == nil { return command }
        }
        return nil
    }

    /// The wall clock has jumped: no command has waited longer for that.
    package mutating func wallClockJumped(_ jump: ClockJumps.Jump) { queue.wallClockJumped(jump) }

    mutating func offerFloor(_ command: ReadyCommand, to candidates: inout [OfferCandidate], now: MonotonicTime) {
        // It may have been dispatched in the ordinary way meanwhile.
        guard queue.contains(command.id), reconnecting[command.id] != nil || !hasOfItsClass(command) else { return }
        let load = load(ReadyKey(command), now: now)
        guard load.availability == .available, rates.lacking(for: ReadyKey(command), now: now) == nil else { return }
        let isPaced = rates.pace(ReadyKey(command))
        let serviceClass = command.qos.serviceClass
        let subQueue = ReadyQueue.SubQueue(command)
        let able = candidates.indices.filter { candidates[$0].accepts(subQueue) }
        let ordinary = able.filter {
            (isPaced ? candidates[$0].pacedRoom(serviceClass) : candidates[$0].room(serviceClass)) > 0
        }
        let overflow = able.filter {
            candidates[$0].freeExtras > 0
                || (isPaced ? candidates[$0].pacedRoom(.high) : candidates[$0].room(.high)) > 0
        }
        guard let index = ordinary.first ?? overflow.first else { return }
        let request = Admission.Request(qos: command.qos, isFloor: true)
        let host = host(isFull: ordinary.isEmpty, freeExtras: overflow.count, now: now)
        guard case .admitted(let slot) = Admission.verdict(request, load, host) else { return }
        queue.remove(command.id)
        offer(command, slot, to: &candidates[index], now: now)
    }

    private func hasOfItsClass(_ command: ReadyCommand) -> Bool {
        admission.counts[command.destination, command.qos.serviceClass] > 0
    }
}
