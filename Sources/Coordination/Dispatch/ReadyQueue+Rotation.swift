package import Commands
internal import DequeModule
internal import HeapModule
internal import NetworkControl
internal import Store

/// Whose turn it is: groups rotate by the slots that they hold, and a group that admission refuses is parked.
extension ReadyQueue {
    /// A group's position in the order of its class. It is valid while its ticket is the group's.
    struct Turn: Sendable, Comparable {
        var held: Int
        var ticket: UInt64
        var group: Int

        static func < (left: Self, right: Self) -> Bool { (left.held, left.ticket) < (right.held, right.ticket) }
    }

    /// Groups that one take passes over because no slot or worker at hand suits them.
    private static let maxPassedOver = 64

    // MARK: Turns

    mutating func enqueue(_ group: Int, held: Int) {
        let index = groups[group].group.serviceClass.rawValue
        if groups[group].ticket == 0 { rotating[index] += 1 }
        lastTicket += 1
        groups[group].ticket = lastTicket
        groups[group].held = held
        turns[index].insert(Turn(held: held, ticket: lastTicket, group: group))
        // Turns that are not valid any more may never come up.
        if turns[index].count > 2 * rotating[index] + Self.maxPassedOver {
            turns[index] = Heap(turns[index].unordered.filter { groups[$0.group].ticket == $0.ticket })
        }
    }

    mutating func park(_ group: Int) {
        guard groups[group].ticket != 0 else { return }
        groups[group].ticket = 0
        rotating[groups[group].group.serviceClass.rawValue] -= 1
    }

    /// A destination has changed: admission is asked again.
    /// - Parameter held: slots that it holds of each class.
    package mutating func wake(_ destination: Destination, held: (ServiceClass) -> Int) {
        for serviceClass in ServiceClass.allCases {
            guard let group = groupNumbers[Group(destination: destination, serviceClass: serviceClass)] else {
                continue
            }
            let holds = held(serviceClass)
            // A group that holds fewer slots than its turn says is nearer.
            if groups[group].ticket == 0 || holds < groups[group].held { enqueue(group, held: holds) }
        }
    }

    /// A bound of all destinations has changed: admission is asked again about each.
    package mutating func wakeAll() {
        failing = ByProbeBudget(ParkedGroups())
        untried = ByProbeBudget(ParkedGroups())
        awaiting = [:]
        for group in groupNumbers.values where groups[group].ticket == 0 { enqueue(group, held: 0) }
    }

    /// Asks admission again about parked destinations, but for those that wait for an attempt.
    mutating func wakeParked(where isMeant: (Destination) -> Bool) {
        for (group, number) in groupNumbers where groups[number].ticket == 0 {
            let isHigh = group.serviceClass == .high
            guard !failing[isHigh: isHigh].contains(group), !untried[isHigh: isHigh].contains(group),
                isMeant(group.destination)
            else { continue }
            enqueue(number, held: 0)
        }
    }

    /// Asks again as many groups as there are attempts for them.
    package mutating func wakeForProbe(isHigh: Bool = false, failing failingCount: Int, untried untriedCount: Int) {
        for group in failing[isHigh: isHigh].take(failingCount) + untried[isHigh: isHigh].take(untriedCount) {
            guard let number = groupNumbers[group], groups[number].ticket == 0 else { continue }
            enqueue(number, held: 0)
        }
    }

    /// A destination that fails waits until it may be tried.
    package var awaitsProbe: Bool { !failing.high.isEmpty || !failing.others.isEmpty }

    func awaitsProbe(isHigh: Bool) -> Bool { !failing[isHigh: isHigh].isEmpty }

    /// Destinations that were never tried and wait until one of them may be.
    func untriedCount(isHigh: Bool) -> Int { untried[isHigh: isHigh].count }

    /// The rate limits that groups wait for.
    var awaitedLimits: [RateLimits.Name] { Array(awaiting.keys) }

    /// Asks again as many groups as a rate limit has tokens, of higher classes first.
    mutating func wake(_ limit: RateLimits.Name, _ maxCount: Int) {
        guard maxCount > 0, var parked = awaiting[limit] else { return }
        var count = maxCount
        for index in parked.indices {
            while count > 0, let group = parked[index].takeOldest() {
                guard let number = groupNumbers[group], groups[number].ticket == 0 else { continue }
                enqueue(number, held: 0)
                count -= 1
            }
        }
        awaiting[limit] = parked.allSatisfy(\.isEmpty) ? nil : parked
    }

    private mutating func awaitTokens(of limits: Set<RateLimits.Name>, _ group: Group) {
        for limit in limits {
            // In the order of ServiceClass.
            var parked = awaiting[limit] ?? ServiceClass.allCases.map { _ in ParkedGroups() }
            parked[group.serviceClass.rawValue].append(group)
            awaiting[limit] = parked
        }
    }

    /// Other destinations have middle or low commands that admission has not refused.
    func isContested(_ group: Group) -> Bool {
        if rotating[ServiceClass.middle.rawValue] + rotating[ServiceClass.low.rawValue] == 0 { return false }
        let own = [ServiceClass.middle, .low].count { serviceClass in
            groupNumbers[Group(destination: group.destination, serviceClass: serviceClass)]
                .map { groups[$0].ticket != 0 } ?? false
        }
        return rotating[ServiceClass.middle.rawValue] + rotating[ServiceClass.low.rawValue] > own
    }

    /// Groups of a class that wait and are not parked.
    package func rotatingGroups(_ serviceClass: ServiceClass, _ maxCount: Int) -> [Group] {
        guard rotating[serviceClass.rawValue] > 0 else { return [] }
        var found: [Group] = []
        for turn in turns[serviceClass.rawValue].unordered where groups[turn.group].ticket == turn.ticket {
            found.append(groups[turn.group].group)
            if found.count >= maxCount { break }
        }
        return found
    }

    // MARK: Taking

    private enum Refusal { case hostIsFull, isShared, isFailing, isUntried, isBlocked }

    /// The rate limits that refused commands of the group.
    private typealias Lacking = Set<RateLimits.Name>

    private enum Selection {
        case found(subQueue: Int, shard: Int, Admission.Slot)
        /// Admitted, but no worker at hand can run it, or no command is in these shards.
        case unsuitable(Lacking)
        case refused(Refusal, Lacking)
    }

    /// Takes the next command of a class that admission lets go.
    /// - Parameters:
    ///   - shards: from which shards; nil for all.
    ///   - held: slots of the class that a destination holds.
    ///   - verdict: of admission, on a destination and quality; told whether other destinations have ready
    ///     work.
    ///   - accepts: whether a worker at hand can run the commands of a sub-queue.
    package mutating func take(
        _ serviceClass: ServiceClass, shards: StrideTo<Int>? = nil, held: (Destination) -> Int,
        verdict: (ReadyKey, _ isContested: Bool) -> Admission.Verdict, accepts: (SubQueue) -> Bool
    ) -> (command: ReadyCommand, slot: Admission.Slot)? {
        let index = serviceClass.rawValue
        var passedOver: [Turn] = []
        // Groups without a slot for them go behind their equals, so that the next take looks at others.
        var full: [Int] = []
        defer {
            for turn in passedOver { turns[index].insert(turn) }
            for group in full { enqueue(group, held: groups[group].held) }
        }
        while passedOver.count + full.count < Self.maxPassedOver, let turn = turns[index].popMin() {
            guard groups[turn.group].ticket == turn.ticket else { continue }
            let group = groups[turn.group].group
            let holds = held(group.destination)
            if holds > turn.held {
                enqueue(turn.group, held: holds)
                continue
            }
            switch select(from: turn.group, shards, verdict, accepts) {
            case .found(let subQueue, let shard, let slot):
                guard let entry = contents[subQueue].heaps[shard].popMin() else { continue }
                forget(entry.command, in: subQueue)
                // Where that was the last command, the group is gone.
                if groups[turn.group].ticket == turn.ticket { enqueue(turn.group, held: holds + 1) }
                return (entry.command, slot)
            case .unsuitable(let lacking), .refused(.isShared, let lacking):
                passedOver.append(turn)
                awaitTokens(of: lacking, group)
            case .refused(.hostIsFull, let lacking):
                full.append(turn.group)
                awaitTokens(of: lacking, group)
            case .refused(.isFailing, let lacking):
                park(turn.group)
                awaitTokens(of: lacking, group)
                failing[isHigh: serviceClass == .high].append(group)
            case .refused(.isUntried, let lacking):
                park(turn.group)
                awaitTokens(of: lacking, group)
                untried[isHigh: serviceClass == .high].append(group)
            case .refused(.isBlocked, let lacking):
                park(turn.group)
                awaitTokens(of: lacking, group)
            }
        }
        return nil
    }

    private func select(
        from group: Int, _ shards: StrideTo<Int>?, _ verdict: (ReadyKey, Bool) -> Admission.Verdict,
        _ accepts: (SubQueue) -> Bool
    ) -> Selection {
        let isContested = isContested(groups[group].group)
        var best: (subQueue: Int, shard: Int, entry: Entry, slot: Admission.Slot)?
        var refusal: Refusal?
        var lacking: Lacking = []
        var isUnsuitable = false
        for number in groups[group].subQueues {
            let subQueue = contents[number].subQueue
            switch verdict(subQueue.key, isContested) {
            case .waits(let wait):
                switch wait.rule {
                case .slots, .maxTransfers: refusal = .hostIsFull
                case .fairShare: refusal = .isShared
                case .probes: refusal = .isFailing
                case .untried: refusal = .isUntried
                default: refusal = refusal ?? .isBlocked
                }
            case .lacksToken(let limit):
                refusal = refusal ?? .isBlocked
                lacking.insert(limit)
            case .admitted(let slot):
                guard accepts(subQueue), let (shard, entry) = contents[number].best(among: shards) else {
                    isUnsuitable = true
                    continue
                }
                if let best, best.entry.precedes(entry) { continue }
                best = (number, shard, entry, slot)
            }
        }
        if let best { return .found(subQueue: best.subQueue, shard: best.shard, best.slot) }
        guard let refusal, !isUnsuitable else { return .unsuitable(lacking) }
        return .refused(refusal, lacking)
    }
}

/// Groups of the ready queue that wait for the same thing. Pure.
struct ParkedGroups: Sendable {
    private var groups: Deque<ReadyQueue.Group> = []
    private var known: Set<ReadyQueue.Group> = []
    private var takesNewest = false

    var isEmpty: Bool { groups.isEmpty }
    var count: Int { groups.count }

    func contains(_ group: ReadyQueue.Group) -> Bool { known.contains(group) }

    /// Does nothing where the group is there.
    mutating func append(_ group: ReadyQueue.Group) {
        if known.insert(group).inserted { groups.append(group) }
    }

    /// Takes the group that has waited longest.
    mutating func takeOldest() -> ReadyQueue.Group? {
        guard let group = groups.popFirst() else { return nil }
        known.remove(group)
        return group
    }

    /// Takes from both ends in turn, the oldest and the newest, so that a new destination does not wait for thousands
    /// of dead ones.
    mutating func take(_ maxCount: Int) -> [ReadyQueue.Group] {
        (0..<min(maxCount, groups.count)).compactMap { _ in
            takesNewest.toggle()
            guard let group = takesNewest ? groups.popLast() : groups.popFirst() else { return nil }
            known.remove(group)
            return group
        }
    }
}
