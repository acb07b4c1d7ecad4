package import Commands
package import Host
internal import NetworkControl
internal import Store
internal import Wire

/// Which command next, and to which worker.
extension Dispatcher {
    /// A worker that is preferred by shard gets the command where it has at most this many free slots fewer
    /// than another.
    private static let preference = 1

    /// Offers as much as the workers have room for.
    package mutating func dispatch(at: Timestamp, now: MonotonicTime) -> [Dispatch] {
        queue.present = at
        takeDue(now: now)
        var candidates = seats.values.sorted { $0.seat < $1.seat }.map { OfferCandidate($0, now: now) }
        guard !candidates.isEmpty, queue.count > 0 else { return [] }
        let floors = floorCandidates(at: at, now: now)
        // Where a person or the server counts the commands, none runs beyond the limit: the floor takes the
        // next free slot.
        // The same holds where a rate limit counts their starts.
        for command in floors where isCounted(command.destination) || rates.pace(ReadyKey(command)) {
            offerFloor(command, to: &candidates, now: now)
        }
        dispatchProbes(to: &candidates, now: now)
        dispatchHigh(to: &candidates, now: now)
        fillExtras(.high, of: &candidates, now: now)
        var host = host(isFull: false, freeExtras: 0, now: now)
        for serviceClass in [ServiceClass.middle, .low] where queue.holds(serviceClass) {
            dispatch(serviceClass, to: &candidates, &host, now: now)
        }
        for command in floors where !isCounted(command.destination) && !rates.pace(ReadyKey(command)) {
            offerFloor(command, to: &candidates, now: now)
        }
        preemptForSlots(now: now)
        yieldFirstTries(now: now)
        return candidates.compactMap { candidate in
            let seat = candidate.record.seat
            guard !candidate.offers.isEmpty, let first = seats[seat]?.offered(candidate.offers.count, now: now) else {
                return nil
            }
            return Dispatch(
                seat: seat, epoch: candidate.record.epoch, offers: Offers(first: first, offers: candidate.offers))
        }
    }

    // MARK: Middle and low QoS

    private mutating func dispatch(
        _ serviceClass: ServiceClass, to candidates: inout [OfferCandidate], _ host: inout Admission.Host,
        now: MonotonicTime
    ) {
        // A worker executes one suspect at a time, so all help with them in turn, whatever their shard.
        for _ in 0..<WorkerRecord.maxSuspects {
            for index in candidates.indices where queue.suspects > 0 {
                takeOne(serviceClass, for: &candidates, index, &host, now: now) { $0.suspect }
            }
        }
        fillSlots(serviceClass, of: &candidates, &host, now: now)
        // Offers ahead of the slots are for the slots that end next, and go by shard alone. More workers than
        // shards share them.
        for index in candidates.indices {
            let own = stride(from: index % shardCount, to: shardCount, by: candidates.count)
            while takeOne(serviceClass, for: &candidates, index, &host, shards: own, now: now) {}
        }
        fillExtras(serviceClass, of: &candidates, now: now)
    }

    /// While slots are free, the next command goes to the worker whose shard it is in. Shards are preferred,
    /// not owned: where another worker has more free slots the command goes there, so that none stands idle
    /// beside one that has many.
    private mutating func fillSlots(
        _ serviceClass: ServiceClass, of candidates: inout [OfferCandidate], _ host: inout Admission.Host,
        now: MonotonicTime
    ) {
        while queue.holds(serviceClass) {
            let idle = candidates.indices.filter { candidates[$0].isIdle && candidates[$0].room(serviceClass) > 0 }
            if idle.isEmpty { return }
            let records = idle.map { candidates[$0].record }
            admission.fill(&host, now: now)
            let next = take(serviceClass, host, now: now) { subQueue in
                !subQueue.suspect && records.contains { $0.types.contains(subQueue.type) }
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

    // MARK: High QoS

    /// High QoS goes to the worker with most room; shards do not matter.
    private mutating func dispatchHigh(to candidates: inout [OfferCandidate], now: MonotonicTime) {
        blockedHigh = []
        guard queue.holds(.high) else { return }
        var able = Array(candidates.indices)
        var host = host(isFull: false, freeExtras: 0, now: now)
        while let roomiest = able.max(by: { candidates[$0].room(.high) < candidates[$1].room(.high) }) {
            if !takeOne(.high, for: &candidates, roomiest, &host, now: now) { able.removeAll { $0 == roomiest } }
        }
    }

    // MARK: Taking from the queue

    /// Offers the next command of a class to a worker.
    /// - Returns: false where it has no room, or no command is there for it.
    @discardableResult
    private mutating func takeOne(
        _ serviceClass: ServiceClass, for candidates: inout [OfferCandidate], _ index: Int,
        _ host: inout Admission.Host, shards: StrideTo<Int>? = nil, now: MonotonicTime,
        where isMeant: (ReadyQueue.SubQueue) -> Bool = { _ in true }
    ) -> Bool {
        let candidate = candidates[index]
        guard candidate.room(serviceClass) > 0, queue.holds(serviceClass) else { return false }
        admission.fill(&host, now: now)
        let hasPacedRoom = candidate.pacedRoom(serviceClass) > 0
        let paced = rates.destinations
        let next = take(serviceClass, shards: shards, host, now: now) { subQueue in
            candidate.accepts(subQueue) && isMeant(subQueue)
                && (hasPacedRoom || !RateLimits.pace(subQueue.key, destinations: paced))
        }
        guard let next else { return false }
        offer(next.command, next.slot, to: &candidates[index], now: now)
        return true
    }

    mutating func take(
        _ serviceClass: ServiceClass, shards: StrideTo<Int>? = nil, _ host: Admission.Host, now: MonotonicTime,
        accepts: (ReadyQueue.SubQueue) -> Bool
    ) -> (command: ReadyCommand, slot: Admission.Slot)? {
        Self.take(
            serviceClass, shards: shards, from: &queue, host, admission, links, rates, blocked: &blockedHigh, now: now,
            accepts: accepts)
    }

    /// Takes the next command of a class. Admission, links and rates are borrowed, because a copy for each command
    /// would cost time.
    private static func take(
        _ serviceClass: ServiceClass, shards: StrideTo<Int>?, from queue: inout ReadyQueue, _ host: Admission.Host,
        _ admission: borrowing Admission, _ links: borrowing LinkAdmission, _ rates: borrowing RateLimits,
        blocked: inout Set<Destination>,
        now: MonotonicTime,
        accepts: (ReadyQueue.SubQueue) -> Bool
    ) -> (command: ReadyCommand, slot: Admission.Slot)? {
        queue.take(
            serviceClass, shards: shards, held: { admission.counts[$0, serviceClass] },
            verdict: { key, isContested in
                let request = Admission.Request(qos: key.qos, isContested: isContested)
                let verdict = Admission.verdict(request, admission.load(key, links, now: now), host)
                if serviceClass == .high, case .waits(let wait) = verdict, wait.isServerLimit {
                    blocked.insert(key.destination)
                }
                // Last, because each of the other rules says more about the wait.
                if case .admitted = verdict, let limit = rates.lacking(for: key, now: now) { return .lacksToken(limit) }
                return verdict
            }, accepts: accepts)
    }

    func load(_ key: ReadyKey, now: MonotonicTime) -> Admission.Load { admission.load(key, links, now: now) }

    // MARK: Offering

    mutating func offer(
        _ command: ReadyCommand, _ slot: Admission.Slot, to candidate: inout OfferCandidate, now: MonotonicTime
    ) {
        var offer = Offers.Offer(
            id: command.id, type: command.type, qos: command.qos, suspect: command.suspect,
            group: Offers.group(of: command.destination), order: queue.order(of: command))
        offer.turn = command.turn
        offer.isSoleSuspect = command.isSoleSuspect
        offer.isExtra = slot == .extra
        var grant = Admission.Grant(destination: command.destination, serviceClass: command.qos.serviceClass)
        grant.isPaced = rates.pace(ReadyKey(command))
        candidate.add(offer, isPaced: grant.isPaced)
        grant.isExtra = offer.isExtra
        let load = load(ReadyKey(command), now: now)
        if load.isLinked, !load.isProven { grant.probe = load.isFailing }
        let entry = InFlightCommand(
            seat: candidate.record.seat, grant: grant, suspect: command.suspect, offeredAt: now, since: now,
            isFirstTry: load.isLinked && !load.isProven && !load.isFailing, limit: command.limit,
            tokens: rates.take(for: ReadyKey(command), now: now))
        addInFlight(command.id, entry, now: now)
        if !reconnecting.isEmpty { reconnecting[command.id] = nil }
        if !dueProbes.isEmpty { dueProbes.remove(command.destination) }
        lowered(ReadyKey(command))
        links.offered(command, now: now)
    }
}

/// A worker while offers are chosen for it. Pure.
struct OfferCandidate {
    let record: WorkerRecord
    private let highRoom: Int
    private let otherRoom: Int
    private let slots: Int
    private let extraRoom: Int
    private var suspects: Int
    private(set) var offers: [Offers.Offer] = []
    private var highOffers = 0
    private var extraOffers = 0
    private var pacedOffers = (high: 0, others: 0)

    init(_ record: WorkerRecord, now: MonotonicTime) {
        self.record = record
        highRoom = record.room(.high, now: now)
        otherRoom = record.room(.middle, now: now)
        slots = record.freeSlots(now: now)
        extraRoom = record.extraRoom
        suspects = record.suspects.count
    }

    func room(_ serviceClass: ServiceClass) -> Int {
        let ordinary = offers.count - extraOffers
        let all = highRoom - ordinary
        return serviceClass == .high ? all : min(otherRoom - (ordinary - highOffers), all)
    }

    var freeExtras: Int { extraRoom - extraOffers }
    var freeSlots: Int { slots - (offers.count - extraOffers - highOffers) }
    var isIdle: Bool { freeSlots > 0 }

    /// Room for commands of a class that a rate limit holds for (``WorkerRecord/freePacedSlots(_:)``).
    func pacedRoom(_ serviceClass: ServiceClass) -> Int {
        let offered = serviceClass == .high ? pacedOffers.high : pacedOffers.others
        return min(room(serviceClass), record.freePacedSlots(serviceClass) - offered)
    }

    func accepts(_ subQueue: ReadyQueue.SubQueue) -> Bool {
        record.types.contains(subQueue.type) && (!subQueue.suspect || suspects < WorkerRecord.maxSuspects)
    }

    /// The worker can run the command, and has room for its class.
    /// - Parameter isPaced: a rate limit holds for it.
    func hasRoom(for command: ReadyCommand, isPaced: Bool) -> Bool {
        let serviceClass = command.qos.serviceClass
        return accepts(ReadyQueue.SubQueue(command)) && (isPaced ? pacedRoom(serviceClass) : room(serviceClass)) > 0
    }

    mutating func add(_ offer: Offers.Offer, isPaced: Bool) {
        offers.append(offer)
        if offer.isExtra { extraOffers += 1 } else if offer.qos.serviceClass == .high { highOffers += 1 }
        if offer.suspect { suspects += 1 }
        if isPaced, !offer.isExtra {
            if offer.qos.serviceClass == .high { pacedOffers.high += 1 } else { pacedOffers.others += 1 }
        }
    }
}
