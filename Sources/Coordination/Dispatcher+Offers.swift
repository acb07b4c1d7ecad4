package import Commands
internal import NetworkControl
internal import Wire

/// Who is offered what, and in which order.
extension Dispatcher {
    /// A seat while offers are chosen for it.
    fileprivate struct Candidate {
        let record: SeatRecord
        /// By class.
        let room: [Int]
        let unfinished: Int
        var suspects: Int
        var offers: [Offers.Offer] = []

        init(_ record: SeatRecord, now: Int64) {
            self.record = record
            room = ServiceClass.allCases.map { record.room($0, now: now) }
            unfinished = record.unfinished(now: now)
            suspects = record.suspects.count
        }

        func room(_ serviceClass: ServiceClass) -> Int { room[serviceClass.rawValue] - offers.count }
        var freePlaces: Int { record.concurrency - unfinished - offers.count }
        var isIdle: Bool { freePlaces > 0 }

        func takes(_ command: ReadyCommand) -> Bool {
            room(command.qos.serviceClass) > 0 && record.types.contains(command.type)
                && (!command.suspect || suspects < SeatRecord.mostSuspects)
        }
    }

    /// Offers as much as the seats have room for.
    package mutating func dispatch(at: Timestamp, now: Int64) -> [Dispatch] {
        var candidates = seats.values.sorted { $0.seat < $1.seat }.map { Candidate($0, now: now) }
        guard !candidates.isEmpty else { return [] }
        guard queue.count > 0 else { return [] }
        let returned = returning(now: now)
        for (command, seat) in starved(besides: returned, at: at, now: now) {
            guard let index = candidates.firstIndex(where: { $0.record.seat == seat }) else { continue }
            offer(command, to: &candidates[index], as: .userInitiated, now: now)
        }
        dispatchProbes(to: &candidates, now: now)
        dispatchHigh(to: &candidates, now: now)
        for serviceClass in [ServiceClass.middle, .low] where queue.holds(serviceClass) {
            // A worker executes one suspect at a time, so all help with them in turn, whatever their shard.
            for _ in 0..<SeatRecord.mostSuspects {
                for index in candidates.indices where queue.suspects > 0 {
                    takeOne(serviceClass, for: &candidates[index], now: now) { $0.suspect }
                }
            }
            fillPlaces(serviceClass, of: &candidates, now: now)
            // What waits in windows is for the places that end next, and goes by shard alone.
            for index in candidates.indices {
                let own = stride(from: index, to: shardCount, by: candidates.count)
                while takeOne(serviceClass, for: &candidates[index], shards: own, now: now) {}
            }
        }
        return candidates.compactMap { candidate in
            let seat = candidate.record.seat
            guard !candidate.offers.isEmpty, let first = seats[seat]?.offered(candidate.offers.count, now: now) else {
                return nil
            }
            return Dispatch(
                seat: seat, epoch: candidate.record.epoch, offers: Offers(first: first, offers: candidate.offers))
        }
    }

    /// One command for each destination whose circuit breaker lets a probe out now. It takes an ordinary slot.
    private mutating func dispatchProbes(to candidates: inout [Candidate], now: Int64) {
        for destination in links.dueProbes(now: now) {
            let classes = ServiceClass.allCases.filter {
                queue.count(destination, $0) > 0 && links.admits($0, to: destination, inFlight, asProbe: true, now: now)
            }
            let probe = queue.commands(to: destination, classes)
                .filter { command in
                    links.isOpen(command, asProbe: true, now: now)
                        && candidates.contains { $0.takes(command) }
                }
                .min { links.isBetterProbe($0, than: $1) }
            guard let probe else { continue }
            let able = candidates.indices.filter { candidates[$0].takes(probe) }
            guard let roomiest = able.max(by: { candidates[$0].freePlaces < candidates[$1].freePlaces }) else {
                continue
            }
            queue.remove(probe.id)
            offer(probe, to: &candidates[roomiest], now: now)
        }
    }

    /// While places are free, the next command goes to whom its shard belongs. Shards are preferred, not owned: where another
    /// has more places free, it goes there, so that nobody stands idle beside one who has many.
    private mutating func fillPlaces(
        _ serviceClass: ServiceClass, of candidates: inout [Candidate], now: Int64
    ) {
        while queue.holds(serviceClass) {
            let idle = candidates.indices.filter { candidates[$0].isIdle && candidates[$0].room(serviceClass) > 0 }
            if idle.isEmpty { return }
            let types = idle.map { candidates[$0].record.types }
            let command = Self.take(serviceClass, from: &queue, shards: nil, links, inFlight, now: now) { lane in
                !lane.suspect && types.contains { $0.contains(lane.type) }
            }
            guard let command else { return }
            let able = idle.filter { candidates[$0].record.types.contains(command.type) }
            let owner = command.id.shard(of: shardCount) % candidates.count
            guard let roomiest = able.max(by: { candidates[$0].freePlaces < candidates[$1].freePlaces }) else { return }
            let isOwners =
                able.contains(owner)
                && candidates[owner].freePlaces + Self.preference >= candidates[roomiest].freePlaces
            offer(command, to: &candidates[isOwners ? owner : roomiest], now: now)
        }
    }

    /// So many free places fewer than another has who is preferred by shard.
    private static let preference = 1

    /// High quality goes to whoever has most room; shards do not matter.
    private mutating func dispatchHigh(to candidates: inout [Candidate], now: Int64) {
        guard queue.holds(.high) else { return }
        var able = Array(candidates.indices)
        while let roomiest = able.max(by: { candidates[$0].room(.high) < candidates[$1].room(.high) }) {
            if !takeOne(.high, for: &candidates[roomiest], now: now) { able.removeAll { $0 == roomiest } }
        }
    }

    /// Offers the next command of a class to a seat. - Returns: false where it has no room, or nothing is there for it.
    @discardableResult
    private mutating func takeOne(
        _ serviceClass: ServiceClass, for candidate: inout Candidate, shards: StrideTo<Int>? = nil, now: Int64,
        where isMeant: (ReadyQueue.Lane) -> Bool = { _ in true }
    ) -> Bool {
        guard candidate.room(serviceClass) > 0 else { return false }
        let mayBeSuspect = candidate.suspects < SeatRecord.mostSuspects
        let command = Self.take(serviceClass, from: &queue, shards: shards, links, inFlight, now: now) { lane in
            (mayBeSuspect || !lane.suspect) && isMeant(lane) && candidate.record.types.contains(lane.type)
        }
        guard let command else { return false }
        offer(command, to: &candidate, now: now)
        return true
    }

    /// Borrows what says where commands may go: a copy for each command would be felt.
    private static func take(
        _ serviceClass: ServiceClass, from queue: inout ReadyQueue, shards: StrideTo<Int>?,
        _ links: borrowing LinkGovernors, _ inFlight: InFlight, now: Int64, where isMeant: (ReadyQueue.Lane) -> Bool
    ) -> ReadyCommand? {
        queue.take(serviceClass, shards: shards) { lane in
            isMeant(lane)
                && (lane.destination == .none
                    || links.admits(serviceClass, to: lane.destination, inFlight, now: now))
        }
    }

    private mutating func offer(
        _ command: ReadyCommand, to candidate: inout Candidate, as qos: QualityOfService? = nil, now: Int64
    ) {
        candidate.offers.append(
            Offers.Offer(
                id: command.id, type: command.type, qos: qos ?? command.qos, suspect: command.suspect,
                group: Offers.group(of: command.destination), order: queue.order(of: command),
                turn: command.turn))
        if command.suspect { candidate.suspects += 1 }
        hold(
            command.id, seat: candidate.record.seat, destination: command.destination, qos: command.qos,
            suspect: command.suspect, offeredAt: now)
        if !kept.isEmpty { kept[command.id] = nil }
        links.offered(command, now: now)
    }

    /// Those whose connection broke, into the places that are kept for them, also where high quality has all others. Where
    /// the link's limit has fallen since, they have to wait as long as the floor lets others wait, and no longer: those that
    /// run beside high quality may not end for hours (one of four stood still for 330 s of 600, measured).
    private mutating func returning(now: Int64) -> [(ReadyCommand, Int)] {
        if kept.isEmpty { return [] }
        let longest = links.policy.longestStandstill.nanoseconds
        kept = kept.filter { now - $0.value.since < 2 * longest }
        var found: [(ReadyCommand, Int)] = []
        for (id, place) in kept where queue.contains(id) {
            let (destination, serviceClass) = (place.group.destination, place.group.serviceClass)
            let isOverdue = inFlight.high > 0 && now - place.since >= longestWait.nanoseconds
            let comesBack: LinkAllowance.Return = isOverdue ? .overdue : .inTime
            guard links.admits(serviceClass, to: destination, inFlight, comesBack: comesBack, now: now),
                let command = queue.command(id), !command.suspect, links.isOpen(command, now: now),
                !isAtMost(destination),
                !found.contains(where: { $0.0.destination == destination }),
                let seat = seatBeyond(command, serviceClass, now: now)
            else { continue }
            queue.remove(id)
            found.append((command, seat))
        }
        return found
    }

    /// A person's `maxConcurrency` is reached, which neither the floor nor a place that is kept goes beyond.
    private func isAtMost(_ destination: Destination) -> Bool {
        guard let most = most(of: destination) else { return false }
        return inFlight[destination, .middle] + inFlight[destination, .low] >= most
    }

    /// Who could execute what has no place in the ordinary way, in one of high quality's. Where the places are counted by a
    /// person there is none beyond them, and the floor gives the next that is free, before those who would have it for ever.
    private func seatBeyond(
        _ command: ReadyCommand, _ serviceClass: ServiceClass, before others: [(ReadyCommand, Int)] = [],
        isFloor: Bool = false, now: Int64
    ) -> Int? {
        let isCounted = isFloor && most(of: command.destination) != nil
        return seats.values.first { record in
            let suspects = record.suspects.count + others.count { $0.0.suspect && $0.1 == record.seat }
            return record.types.contains(command.type) && record.room(.high, now: now) > 0
                && (!command.suspect || suspects < SeatRecord.mostSuspects)
                && (isCounted || record.room(.middle, now: now) <= 0
                    || !links.admits(serviceClass, to: command.destination, inFlight, now: now))
        }?.seat
    }

    /// The floor of invariant 7: one place for a class that would wait for ever behind higher ones, early enough for its
    /// first bytes.
    /// - Parameter returned: who comes back besides.
    /// - Returns: all of these.
    private mutating func starved(
        besides returned: [(ReadyCommand, Int)], at: Timestamp, now: Int64
    ) -> [(ReadyCommand, Int)] {
        let longest = longestWait
        if !releasedAt.isEmpty { releasedAt = releasedAt.filter { now - $0.value <= longest.nanoseconds } }
        var found = returned
        for serviceClass in [ServiceClass.middle, .low] where queue.holds(serviceClass) {
            let waiting = queue.oldest(serviceClass) { lane in inFlight[lane.destination, serviceClass] == 0 }
            for command in waiting where at - command.createdAt > longest {
                // What was cut a moment ago does not come back by this door.
                let group = ReadyQueue.Group(destination: command.destination, serviceClass: serviceClass)
                guard releasedAt[group] == nil, links.isOpen(command, now: now), !isAtMost(command.destination),
                    !found.contains(where: { $0.0.destination == command.destination }),
                    let seat = seatBeyond(command, serviceClass, before: found, isFloor: true, now: now)
                else { continue }
                queue.remove(command.id)
                found.append((command, seat))
            }
        }
        return found
    }
}

extension LinkGovernors {
    fileprivate func admits(
        _ serviceClass: ServiceClass, to destination: Destination, _ inFlight: InFlight,
        comesBack: LinkAllowance.Return? = nil, asProbe: Bool = false, now: Int64
    ) -> Bool {
        // More destinations than places: each has one by its link, and all together no more than there are. Of high quality
        // each may have one besides: a slow destination that has them all keeps nobody else's waiting.
        if destination != .none, inFlight.isFull(serviceClass, of: policy.globalLimit),
            serviceClass != .high || inFlight[destination, .high] > 0
        {
            return false
        }
        return admits(
            serviceClass, to: destination, middle: inFlight[destination, .middle], low: inFlight[destination, .low],
            comesBack: comesBack, asProbe: asProbe, now: now)
    }
}
