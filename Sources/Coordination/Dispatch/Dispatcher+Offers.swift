package import Commands
internal import NetworkControl
internal import Store
internal import Wire

/// Which command next, and to which worker.
extension Dispatcher {
    /// A seat while offers are chosen for it.
    fileprivate struct Candidate {
        let record: WorkerRecord
        private let high: Int
        private let others: Int
        private let slots: Int
        private let extraRoom: Int
        var suspects: Int
        private(set) var offers: [Offers.Offer] = []
        private var highOffers = 0
        private var extraOffers = 0

        init(_ record: WorkerRecord, now: Int64) {
            self.record = record
            high = record.room(.high, now: now)
            others = record.room(.middle, now: now)
            slots = record.freeSlots(now: now)
            extraRoom = record.extraRoom
            suspects = record.suspects.count
        }

        func room(_ serviceClass: ServiceClass) -> Int {
            let ordinary = offers.count - extraOffers
            return serviceClass == .high ? high - ordinary : min(others - (ordinary - highOffers), high - ordinary)
        }
        var freeExtras: Int { extraRoom - extraOffers }
        var freeSlots: Int { slots - (offers.count - extraOffers - highOffers) }
        var isIdle: Bool { freeSlots > 0 }

        func takes(_ lane: ReadyQueue.Lane) -> Bool {
            record.types.contains(lane.type) && (!lane.suspect || suspects < WorkerRecord.maxSuspects)
        }

        mutating func add(_ offer: Offers.Offer) {
            offers.append(offer)
            if offer.isExtra { extraOffers += 1 } else if offer.qos.serviceClass == .high { highOffers += 1 }
            if offer.suspect { suspects += 1 }
        }
    }

    /// Offers as much as the seats have room for.
    package mutating func dispatch(at: Timestamp, now: Int64) -> [Dispatch] {
        takeDue(now: now)
        var candidates = seats.values.sorted { $0.seat < $1.seat }.map { Candidate($0, now: now) }
        guard !candidates.isEmpty, queue.count > 0 else { return [] }
        let floors = dueFloors(at: at, now: now)
        // Where a person or the server counts the commands there is none beyond them: the floor is the next that is free.
        for command in floors where isCounted(command.destination) {
            offerFloor(command, to: &candidates, now: now)
        }
        dispatchProbes(to: &candidates, now: now)
        dispatchHigh(to: &candidates, now: now)
        fillExtras(.high, of: &candidates, now: now)
        var host = host(isFull: false, freeExtras: 0, now: now)
        for serviceClass in [ServiceClass.middle, .low] where queue.holds(serviceClass) {
            // A worker executes one suspect at a time, so all help with them in turn, whatever their shard.
            for _ in 0..<WorkerRecord.maxSuspects {
                for index in candidates.indices where queue.suspects > 0 {
                    takeOne(serviceClass, for: &candidates, index, &host, now: now) { $0.suspect }
                }
            }
            fillSlots(serviceClass, of: &candidates, &host, now: now)
            // What waits in windows is for the slots that end next, and goes by shard alone.
            for index in candidates.indices {
                let own = stride(from: index, to: shardCount, by: candidates.count)
                while takeOne(serviceClass, for: &candidates, index, &host, shards: own, now: now) {}
            }
            fillExtras(serviceClass, of: &candidates, now: now)
        }
        for command in floors where !isCounted(command.destination) { offerFloor(command, to: &candidates, now: now) }
        preemptForSlots(now: now)
        return candidates.compactMap { candidate in
            let seat = candidate.record.seat
            guard !candidate.offers.isEmpty, let first = seats[seat]?.offered(candidate.offers.count, now: now) else {
                return nil
            }
            return Dispatch(
                seat: seat, epoch: candidate.record.epoch, offers: Offers(first: first, offers: candidate.offers))
        }
    }

    // MARK: Admission

    func load(_ key: ReadyKey, now: Int64) -> Admission.Load { admission.load(key, links, now: now) }

    private mutating func take(
        _ serviceClass: ServiceClass, shards: StrideTo<Int>? = nil, _ host: Admission.Host, now: Int64,
        accepts: (ReadyQueue.Lane) -> Bool
    ) -> (command: ReadyCommand, slot: Admission.Slot)? {
        Self.take(
            serviceClass, shards: shards, from: &queue, host, admission, links, blocked: &blockedHigh, now: now,
            accepts: accepts)
    }

    /// Takes the next command of a class. What says where commands may go is borrowed: a copy for each would be felt.
    private static func take(
        _ serviceClass: ServiceClass, shards: StrideTo<Int>?, from queue: inout ReadyQueue, _ host: Admission.Host,
        _ admission: borrowing Admission, _ links: borrowing LinkAdmission, blocked: inout Set<Destination>, now: Int64,
        accepts: (ReadyQueue.Lane) -> Bool
    ) -> (command: ReadyCommand, slot: Admission.Slot)? {
        queue.take(
            serviceClass, shards: shards, held: { admission.counts[$0, serviceClass] },
            verdict: { key, isContested in
                let request = Admission.Request(qos: key.qos, isContested: isContested)
                let verdict = Admission.verdict(request, admission.load(key, links, now: now), host)
                if serviceClass == .high, case .waits(let wait) = verdict, wait.isServerLimit {
                    blocked.insert(key.destination)
                }
                return verdict
            }, accepts: accepts)
    }

    // MARK: Ordinary slots

    /// While slots are free, the next command goes to the worker whose shard it is in. Shards are preferred, not owned: where
    /// another has more slots free, it goes there, so that no worker stands idle beside one that has many.
    private mutating func fillSlots(
        _ serviceClass: ServiceClass, of candidates: inout [Candidate], _ host: inout Admission.Host, now: Int64
    ) {
        while queue.holds(serviceClass) {
            let idle = candidates.indices.filter { candidates[$0].isIdle && candidates[$0].room(serviceClass) > 0 }
            if idle.isEmpty { return }
            let records = idle.map { candidates[$0].record }
            admission.fill(&host, now: now)
            let next = take(serviceClass, host, now: now) { lane in
                !lane.suspect && records.contains { $0.types.contains(lane.type) }
            }
            guard let next else { return }
            let able = idle.filter { candidates[$0].record.types.contains(next.command.type) }
            let owner = next.command.id.shard(of: shardCount) % candidates.count
            guard let roomiest = able.max(by: { candidates[$0].freeSlots < candidates[$1].freeSlots }) else { return }
            let isOwners =
                able.contains(owner)
                && candidates[owner].freeSlots + Self.preference >= candidates[roomiest].freeSlots
            offer(next.command, next.slot, to: &candidates[isOwners ? owner : roomiest], now: now)
        }
    }

    /// So many free slots fewer than another has a worker that is preferred by shard.
    private static let preference = 1

    /// High QoS goes to the worker with most room; shards do not matter.
    private mutating func dispatchHigh(to candidates: inout [Candidate], now: Int64) {
        blockedHigh = []
        guard queue.holds(.high) else { return }
        var able = Array(candidates.indices)
        var host = host(isFull: false, freeExtras: 0, now: now)
        while let roomiest = able.max(by: { candidates[$0].room(.high) < candidates[$1].room(.high) }) {
            if !takeOne(.high, for: &candidates, roomiest, &host, now: now) { able.removeAll { $0 == roomiest } }
        }
    }

    /// Offers the next command of a class to a seat. - Returns: false where it has no room, or nothing is there for it.
    @discardableResult
    private mutating func takeOne(
        _ serviceClass: ServiceClass, for candidates: inout [Candidate], _ index: Int, _ host: inout Admission.Host,
        shards: StrideTo<Int>? = nil, now: Int64, where isMeant: (ReadyQueue.Lane) -> Bool = { _ in true }
    ) -> Bool {
        let candidate = candidates[index]
        guard candidate.room(serviceClass) > 0, queue.holds(serviceClass) else { return false }
        admission.fill(&host, now: now)
        let next = take(serviceClass, shards: shards, host, now: now) { candidate.takes($0) && isMeant($0) }
        guard let next else { return false }
        offer(next.command, next.slot, to: &candidates[index], now: now)
        return true
    }

    // MARK: Extra slots

    /// All ordinary slots are taken: destinations that hold none take extra ones.
    private mutating func fillExtras(_ serviceClass: ServiceClass, of candidates: inout [Candidate], now: Int64) {
        while queue.holds(serviceClass) {
            let able = candidates.indices.filter {
                candidates[$0].freeExtras > 0 && candidates[$0].room(serviceClass) <= 0
            }
            let free = able.reduce(0) { $0 + candidates[$1].freeExtras }
            guard free > 0 else { return }
            let host = host(isFull: true, freeExtras: free, now: now)
            let seats = able.map { candidates[$0] }
            let next = take(serviceClass, host, now: now) { lane in seats.contains { $0.takes(lane) } }
            guard let next else { return }
            let lane = ReadyQueue.Lane(next.command)
            let fit = able.filter { candidates[$0].takes(lane) }
            guard let roomiest = fit.max(by: { candidates[$0].freeExtras < candidates[$1].freeExtras }) else { return }
            offer(next.command, .extra, to: &candidates[roomiest], now: now)
        }
    }

    /// Middle QoS that found no slot has those of low QoS until it holds half of them; high QoS that the server or a person
    /// limits has the slots of low QoS there. What goes on from where it was is cut, uncharged.
    private mutating func preemptForSlots(now: Int64) {
        let waiting = queue.holds(.middle) ? queue.rotatingGroups(.middle, Self.maxLooked) : []
        if !waiting.isEmpty, links.policy.preemptionIsOn {
            var wanted = 0
            let host = host(isFull: true, freeExtras: 0, now: now)
            for group in waiting where wanted < host.slots / 2 {
                let load = load(ReadyKey(destination: group.destination, qos: .default), now: now)
                let request = Admission.Request(qos: .default, isContested: true)
                guard case .waits(let wait) = Admission.verdict(request, load, host), wait.rule == .slots else {
                    continue
                }
                let room = max(min(load.allowance.limit - load.held.others, host.slots), 0)
                wanted += min(queue.count(group.destination, .middle), room)
            }
            let missing = min(wanted, host.slots / 2 - admission.counts.total.middle)
            let more = missing - links.controller.pendingCuts()
            if more > 0 {
                preempt(more, at: nil, "middle quality of service has fewer than half of the slots", now: now)
            }
        }
        for destination in blockedHigh where queue.count(destination, .high) > 0 {
            let more = queue.count(destination, .high) - links.controller.pendingCuts(at: destination)
            if more > 0 { preempt(more, at: destination, "high quality of service waits for a slot there", now: now) }
        }
    }

    /// Groups of middle QoS that are looked at for slots of low QoS.
    private static let maxLooked = 64

    private mutating func preempt(_ count: Int, at destination: Destination?, _ reason: String, now: Int64) {
        // What holds an extra slot would free none.
        let low = links.controller.preemptible(at: destination).filter { !holdsExtra($0.id) }
        links.preempt(low.prefix(count).map(\.id), reason: reason, now: now)
    }

    // MARK: Probes

    /// One command for each destination whose circuit breaker lets a probe out now. It takes an ordinary slot.
    private mutating func dispatchProbes(to candidates: inout [Candidate], now: Int64) {
        let due = dueProbes.filter { links.isProbeDue(at: $0, now: now) }.sorted { $0.text < $1.text }
        dueProbes = Set(due)
        for destination in due {
            let host = host(isFull: false, freeExtras: 0, now: now)
            let probes = queue.commands(to: destination, ServiceClass.allCases).filter { command in
                var load = load(ReadyKey(destination: destination, qos: command.qos), now: now)
                guard load.passage == .circuitBreaker else { return false }
                load.passage = .probe
                let request = Admission.Request(qos: command.qos)
                guard case .admitted = Admission.verdict(request, load, host) else { return false }
                let lane = ReadyQueue.Lane(command)
                return candidates.contains { $0.takes(lane) && $0.room(command.qos.serviceClass) > 0 }
            }
            guard let probe = probes.min(by: { links.isBetterProbe($0, than: $1) }) else { continue }
            let lane = ReadyQueue.Lane(probe)
            let able = candidates.indices.filter {
                candidates[$0].takes(lane) && candidates[$0].room(probe.qos.serviceClass) > 0
            }
            guard let roomiest = able.max(by: { candidates[$0].freeSlots < candidates[$1].freeSlots }) else { continue }
            queue.remove(probe.id)
            offer(probe, .ordinary, to: &candidates[roomiest], now: now)
        }
    }

    // MARK: The floor

    /// Commands that the floor of invariant 7 lets go, one of each destination: of a class that would wait for ever behind
    /// higher ones, early enough for its first bytes. And transfers whose connection broke beside high QoS, where the limit of
    /// the link has fallen since: they wait no longer than that, because those that run may not end for hours (one of four
    /// stood still for 330 s of 600, measured).
    private mutating func dueFloors(at: Timestamp, now: Int64) -> [ReadyCommand] {
        guard now >= floorsAt else { return [] }
        floorsAt = now + Self.floorInterval
        let longest = links.policy.maxStandstill.nanoseconds
        if !releasedAt.isEmpty { releasedAt = releasedAt.filter { now - $0.value <= floorWait.nanoseconds } }
        if !reconnecting.isEmpty { reconnecting = reconnecting.filter { now - $0.value.since < 2 * longest } }
        var floors: [Destination: ReadyCommand] = [:]
        if admission.counts.total.high > 0 {
            for (id, slot) in reconnecting where now - slot.since >= floorWait.nanoseconds {
                guard let command = queue.command(id), !command.suspect, floors[command.destination] == nil else {
                    continue
                }
                floors[command.destination] = command
            }
        }
        for (group, command) in queue.oldest(Self.maxFloors) where at - command.createdAt > floorWait {
            // What was cut a moment ago does not come back by this door.
            guard admission.counts[group.destination, group.serviceClass] == 0, releasedAt[group] == nil,
                floors[group.destination] == nil
            else { continue }
            floors[group.destination] = command
        }
        return floors.values.sorted { $0.id < $1.id }
    }

    /// Groups that are looked at for the floor at a time, and nanoseconds from one time to the next.
    private static let maxFloors = 128
    private static let floorInterval: Int64 = 50_000_000

    private mutating func offerFloor(_ command: ReadyCommand, to candidates: inout [Candidate], now: Int64) {
        // What was dispatched in the ordinary way is not there any more.
        guard queue.contains(command.id), reconnecting[command.id] != nil || !hasOfItsClass(command) else { return }
        let load = load(ReadyKey(destination: command.destination, qos: command.qos), now: now)
        guard load.passage == .available else { return }
        let lane = ReadyQueue.Lane(command)
        let able = candidates.indices.filter { candidates[$0].takes(lane) }
        let ordinary = able.filter { candidates[$0].room(command.qos.serviceClass) > 0 }
        let beyond = able.filter { candidates[$0].freeExtras > 0 || candidates[$0].room(.high) > 0 }
        guard let index = ordinary.first ?? beyond.first else { return }
        let request = Admission.Request(qos: command.qos, isFloor: true)
        let host = host(isFull: ordinary.isEmpty, freeExtras: beyond.count, now: now)
        guard case .admitted(let slot) = Admission.verdict(request, load, host) else { return }
        queue.remove(command.id)
        offer(command, slot, to: &candidates[index], now: now)
    }

    private func hasOfItsClass(_ command: ReadyCommand) -> Bool {
        admission.counts[command.destination, command.qos.serviceClass] > 0
    }

    // MARK: Offering

    private mutating func offer(
        _ command: ReadyCommand, _ slot: Admission.Slot, to candidate: inout Candidate, now: Int64
    ) {
        var offer = Offers.Offer(
            id: command.id, type: command.type, qos: command.qos, suspect: command.suspect,
            group: Offers.group(of: command.destination), order: queue.order(of: command), turn: command.turn)
        offer.isExtra = slot == .extra
        candidate.add(offer)
        var grant = Admission.Grant(destination: command.destination, serviceClass: command.qos.serviceClass)
        grant.isExtra = offer.isExtra
        let load = load(ReadyKey(destination: command.destination, qos: command.qos), now: now)
        // High QoS waits for no budget, but where it is the probe of a link that is offline.
        if load.isLinked, !load.isProven, load.isFailing || command.qos.serviceClass != .high {
            grant.probe = load.isFailing
        }
        hold(
            command.id, seat: candidate.record.seat, grant: grant, suspect: command.suspect, offeredAt: now, now: now)
        if !reconnecting.isEmpty { reconnecting[command.id] = nil }
        if !dueProbes.isEmpty { dueProbes.remove(command.destination) }
        lowered(ReadyKey(destination: command.destination, qos: command.qos))
        links.offered(command, now: now)
    }
}

extension ReadyQueue.Lane {
    init(_ command: ReadyCommand) {
        self.init(
            destination: command.destination, qos: command.qos, type: command.type, suspect: command.suspect)
    }
}
