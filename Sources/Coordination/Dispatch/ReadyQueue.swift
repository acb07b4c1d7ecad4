package import Commands
internal import HeapModule
package import Store

/// Ready commands in memory: a bounded window on the store's backlog, so that a million commands for one destination
/// cost no more than a few hundred and hide no others. Pure.
///
/// Service classes are strict among themselves. Within a class the destination that holds the fewest slots is next;
/// among equals, the one whose turn is longest ago. Within a destination the order is ``order(of:)``. A destination that
/// admission refuses is parked: it costs nothing until ``wake(_:)``.
package struct ReadyQueue: Sendable {
    /// Commands of one destination that are alike for admission and for workers.
    package struct Lane: Hashable, Sendable {
        package var destination: Destination
        package var qos: QualityOfService
        package var type: String
        package var suspect: Bool

        package init(destination: Destination, qos: QualityOfService, type: String, suspect: Bool) {
            self.destination = destination
            self.qos = qos
            self.type = type
            self.suspect = suspect
        }

        package var key: ReadyKey { ReadyKey(destination: destination, qos: qos) }
    }

    /// A destination's commands of a class.
    package struct Group: Hashable, Sendable {
        package var destination: Destination
        package var serviceClass: ServiceClass

        package init(destination: Destination, serviceClass: ServiceClass) {
            self.destination = destination
            self.serviceClass = serviceClass
        }
    }

    private struct Entry: Sendable, Comparable {
        var command: ReadyCommand
        var order: Int64

        static func == (left: Self, right: Self) -> Bool { left.command.id == right.command.id }
        static func < (left: Self, right: Self) -> Bool {
            (left.order, left.command.turn, left.command.id) < (right.order, right.command.turn, right.command.id)
        }
    }

    private struct LaneState: Sendable {
        var lane: Lane
        var group: Int
        /// By shard.
        var heaps: [Heap<Entry>]
        var count = 0

        /// The shard with the first entry, and that entry.
        func best(among shards: StrideTo<Int>?) -> (shard: Int, entry: Entry)? {
            var best: (shard: Int, entry: Entry)?
            func consider(_ shard: Int) {
                guard let entry = heaps[shard].min else { return }
                if let known = best, known.entry < entry { return }
                best = (shard, entry)
            }
            if let shards {
                for shard in shards { consider(shard) }
            } else {
                for shard in heaps.indices { consider(shard) }
            }
            return best
        }
    }

    private struct GroupState: Sendable {
        var group: Group
        var lanes: [Int] = []
        /// Of its valid turn; 0 while it is parked or free.
        var ticket: UInt64 = 0
        /// What the valid turn counts.
        var held = 0
    }

    /// A group's place in the order of its class. It is valid while its ticket is the group's.
    private struct Turn: Sendable, Comparable {
        var held: Int
        var ticket: UInt64
        var group: Int

        static func < (left: Self, right: Self) -> Bool { (left.held, left.ticket) < (right.held, right.ticket) }
    }

    /// Groups that one take passes over because no slot or worker at hand is for them.
    private static let maxPassedOver = 64

    private let shardCount: Int
    private let agingStep: Int64
    /// Commands kept of each destination and quality of service.
    package var limit: Int
    private var lanes: [LaneState] = []
    private var freeLanes: [Int] = []
    private var laneNumbers: [Lane: Int] = [:]
    private var groups: [GroupState] = []
    private var freeGroups: [Int] = []
    private var groupNumbers: [Group: Int] = [:]
    /// By class; turns that are not valid any more are dropped when they come up.
    private var turns: [Heap<Turn>]
    /// By class: groups with a valid turn.
    private var rotating = [0, 0, 0]
    private var lastTicket: UInt64 = 0
    /// The lane of each command.
    private var known: [CommandID: Int] = [:]
    private var keyCounts: [ReadyKey: Int] = [:]
    private var classCounts = [0, 0, 0]
    /// Groups of destinations that fail, and of such as were never tried: they wait until one more of these may be tried.
    private var failing = ParkedGroups()
    private var untried = ParkedGroups()
    /// Where ``oldest(_:)`` goes on.
    private var cursor = 0
    /// Destinations whose number of waiting commands has changed since ``takeChanged()``.
    private var changed: Set<Destination> = []
    /// Suspects among them.
    package private(set) var suspects = 0

    /// - Parameters:
    ///   - limit: commands kept of each destination and quality of service.
    ///   - agingStep: milliseconds of waiting that count as one step of quality within a class.
    package init(shardCount: Int, limit: Int = 256, agingStep: Int64 = 60_000) {
        self.shardCount = shardCount
        self.agingStep = agingStep
        self.limit = limit
        turns = Array(repeating: Heap(), count: ServiceClass.allCases.count)
    }

    package var count: Int { known.count }
    package func holds(_ serviceClass: ServiceClass) -> Bool { classCounts[serviceClass.rawValue] > 0 }
    /// Pairs of destination and quality of service that have something.
    package var keyCount: Int { keyCounts.count }
    package func count(of key: ReadyKey) -> Int { keyCounts[key] ?? 0 }
    package func contains(_ id: CommandID) -> Bool { known[id] != nil }

    package func count(_ destination: Destination, _ serviceClass: ServiceClass) -> Int {
        serviceClass.qualities.reduce(0) { $0 + count(of: ReadyKey(destination: destination, qos: $1)) }
    }

    /// Destinations whose number of waiting commands has changed since the last call, with the numbers.
    package mutating func takeChanged() -> [Destination: [QualityOfService: Int]] {
        defer { changed = [] }
        return Dictionary(uniqueKeysWithValues: changed.map { ($0, waiting(for: $0)) })
    }

    package func waiting(for destination: Destination) -> [QualityOfService: Int] {
        var waiting: [QualityOfService: Int] = [:]
        for qos in QualityOfService.allCases {
            waiting[qos] = keyCounts[ReadyKey(destination: destination, qos: qos)]
        }
        return waiting
    }

    package func command(_ id: CommandID) -> ReadyCommand? {
        guard let lane = known[id] else { return nil }
        return lanes[lane].heaps[id.shard(of: shardCount)].unordered.first { $0.command.id == id }?.command
    }

    /// Smaller runs first within a class: when it was made, and a step of waiting later for each step of quality that it
    /// stands behind the first of its class.
    package func order(of command: ReadyCommand) -> Int64 {
        command.createdAt.milliseconds + command.qos.stepsBehind * agingStep
    }

    // MARK: In and out

    /// - Returns: where the window is full, the one that stays out, this or the last of its destination and quality that
    ///   has made way: the store must be asked for it again later. Nil where all are in.
    package mutating func insert(_ command: ReadyCommand) -> ReadyCommand? {
        if known[command.id] != nil { return nil }
        let key = ReadyKey(destination: command.destination, qos: command.qos)
        let entry = Entry(command: command, order: order(of: command))
        var out: ReadyCommand?
        if count(of: key) >= limit {
            guard let last = last(of: key), entry < last else { return command }
            remove(last.command.id)
            out = last.command
        }
        let number = laneNumber(
            of: Lane(
                destination: command.destination, qos: command.qos, type: command.type, suspect: command.suspect))
        lanes[number].heaps[command.id.shard(of: shardCount)].insert(entry)
        lanes[number].count += 1
        known[command.id] = number
        keyCounts.count(key, by: 1)
        classCounts[command.qos.serviceClass.rawValue] += 1
        changed.insert(command.destination)
        if command.suspect { suspects += 1 }
        return out
    }

    private func last(of key: ReadyKey) -> Entry? {
        let group = Group(destination: key.destination, serviceClass: key.qos.serviceClass)
        guard let number = groupNumbers[group] else { return nil }
        return groups[number].lanes.filter { lanes[$0].lane.qos == key.qos }
            .compactMap { lanes[$0].heaps.compactMap(\.max).max() }.max()
    }

    /// Drops a command that is known not to be ready any more.
    package mutating func remove(_ id: CommandID) {
        guard let lane = known[id] else { return }
        let shard = id.shard(of: shardCount)
        guard let entry = lanes[lane].heaps[shard].unordered.first(where: { $0.command.id == id }) else { return }
        lanes[lane].heaps[shard] = Heap(lanes[lane].heaps[shard].unordered.filter { $0.command.id != id })
        forget(entry.command, lane: lane)
    }

    /// Drops all commands of these shards, in one pass.
    package mutating func remove(shards: Set<Int>) {
        for lane in lanes.indices where lanes[lane].count > 0 {
            for shard in shards {
                for entry in lanes[lane].heaps[shard].unordered { forget(entry.command, lane: lane) }
                lanes[lane].heaps[shard] = Heap()
            }
        }
    }

    private mutating func forget(_ command: ReadyCommand, lane: Int) {
        known[command.id] = nil
        if command.suspect { suspects -= 1 }
        keyCounts.count(ReadyKey(destination: command.destination, qos: command.qos), by: -1)
        classCounts[command.qos.serviceClass.rawValue] -= 1
        changed.insert(command.destination)
        lanes[lane].count -= 1
        if lanes[lane].count == 0 { free(lane: lane) }
    }

    private mutating func laneNumber(of lane: Lane) -> Int {
        if let number = laneNumbers[lane] { return number }
        let group = groupNumber(of: Group(destination: lane.destination, serviceClass: lane.qos.serviceClass))
        let number = freeLanes.popLast() ?? lanes.count
        if number < lanes.count {
            // Its heaps are empty.
            lanes[number].lane = lane
            lanes[number].group = group
        } else {
            lanes.append(LaneState(lane: lane, group: group, heaps: Array(repeating: Heap(), count: shardCount)))
        }
        laneNumbers[lane] = number
        groups[group].lanes.append(number)
        // Admission may have refused the others for what this one is not.
        if groups[group].ticket == 0 { enqueue(group, held: 0) }
        return number
    }

    private mutating func groupNumber(of group: Group) -> Int {
        if let number = groupNumbers[group] { return number }
        let number = freeGroups.popLast() ?? groups.count
        if number < groups.count { groups[number].group = group } else { groups.append(GroupState(group: group)) }
        groupNumbers[group] = number
        return number
    }

    private mutating func free(lane: Int) {
        let group = lanes[lane].group
        laneNumbers[lanes[lane].lane] = nil
        freeLanes.append(lane)
        groups[group].lanes.removeAll { $0 == lane }
        guard groups[group].lanes.isEmpty else { return }
        park(group)
        groupNumbers[groups[group].group] = nil
        freeGroups.append(group)
    }

    // MARK: Turns

    private mutating func enqueue(_ group: Int, held: Int) {
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

    private mutating func park(_ group: Int) {
        guard groups[group].ticket != 0 else { return }
        groups[group].ticket = 0
        rotating[groups[group].group.serviceClass.rawValue] -= 1
    }

    /// Something has changed for a destination: admission is asked again.
    /// - Parameter held: slots that it holds of each class.
    package mutating func wake(_ destination: Destination, held: (ServiceClass) -> Int) {
        for serviceClass in ServiceClass.allCases {
            guard let group = groupNumbers[Group(destination: destination, serviceClass: serviceClass)] else {
                continue
            }
            let holds = held(serviceClass)
            // One that holds fewer than its turn says is nearer.
            if groups[group].ticket == 0 || holds < groups[group].held { enqueue(group, held: holds) }
        }
    }

    /// Everything is asked again: what bounds all of them has changed.
    package mutating func wakeAll() {
        failing = ParkedGroups()
        untried = ParkedGroups()
        for group in groupNumbers.values where groups[group].ticket == 0 { enqueue(group, held: 0) }
    }

    /// Asks again as many groups as there are attempts for them.
    package mutating func wakeForProbe(failing failingCount: Int, untried untriedCount: Int) {
        for group in failing.take(failingCount) + untried.take(untriedCount) {
            guard let number = groupNumbers[group], groups[number].ticket == 0 else { continue }
            enqueue(number, held: 0)
        }
    }

    /// A destination that fails waits until it may be tried.
    package var awaitsProbe: Bool { !failing.isEmpty }

    /// Other destinations have middle or low commands that admission has not refused.
    func isContested(_ group: Group) -> Bool {
        if rotating[ServiceClass.middle.rawValue] + rotating[ServiceClass.low.rawValue] == 0 { return false }
        let own = [ServiceClass.middle, .low].count { serviceClass in
            groupNumbers[Group(destination: group.destination, serviceClass: serviceClass)]
                .map { groups[$0].ticket != 0 } ?? false
        }
        return rotating[ServiceClass.middle.rawValue] + rotating[ServiceClass.low.rawValue] > own
    }

    /// Takes the next command of a class that admission lets go.
    /// - Parameters:
    ///   - shards: from which shards; nil for all.
    ///   - held: slots of the class that a destination holds.
    ///   - verdict: admission's, on a destination and quality; told whether other destinations have ready work.
    ///   - accepts: whether a worker at hand can run a lane.
    package mutating func take(
        _ serviceClass: ServiceClass, shards: StrideTo<Int>? = nil, held: (Destination) -> Int,
        verdict: (ReadyKey, _ isContested: Bool) -> Admission.Verdict, accepts: (Lane) -> Bool
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
            switch look(turn.group, shards, verdict, accepts) {
            case .found(let lane, let shard, let slot):
                guard let entry = lanes[lane].heaps[shard].popMin() else { continue }
                forget(entry.command, lane: lane)
                // Where that was the last, the group is gone.
                if groups[turn.group].ticket == turn.ticket { enqueue(turn.group, held: holds + 1) }
                return (entry.command, slot)
            case .unsuitable: passedOver.append(turn)
            case .refused(.hostIsFull): full.append(turn.group)
            case .refused(.isShared): passedOver.append(turn)
            case .refused(.isFailing):
                park(turn.group)
                failing.append(group)
            case .refused(.isUntried):
                park(turn.group)
                untried.append(group)
            case .refused(.isBlocked): park(turn.group)
            }
        }
        return nil
    }

    private enum Refusal { case hostIsFull, isShared, isFailing, isUntried, isBlocked }

    private enum Finding {
        case found(lane: Int, shard: Int, Admission.Slot)
        /// Admitted, but no worker at hand can run it, or nothing is in these shards.
        case unsuitable
        case refused(Refusal)
    }

    private func look(
        _ group: Int, _ shards: StrideTo<Int>?, _ verdict: (ReadyKey, Bool) -> Admission.Verdict,
        _ accepts: (Lane) -> Bool
    ) -> Finding {
        let isContested = isContested(groups[group].group)
        var best: (lane: Int, shard: Int, entry: Entry, slot: Admission.Slot)?
        var refusal: Refusal?
        var isUnsuitable = false
        for lane in groups[group].lanes {
            switch verdict(lanes[lane].lane.key, isContested) {
            case .waits(let wait):
                switch wait.rule {
                case .slots, .maxTransfers: refusal = .hostIsFull
                case .fairShare: refusal = .isShared
                case .probes: refusal = .isFailing
                case .untried: refusal = .isUntried
                default: refusal = refusal ?? .isBlocked
                }
            case .admitted(let slot):
                guard accepts(lanes[lane].lane), let (shard, entry) = lanes[lane].best(among: shards) else {
                    isUnsuitable = true
                    continue
                }
                if let best, best.entry < entry { continue }
                best = (lane, shard, entry, slot)
            }
        }
        if let best { return .found(lane: best.lane, shard: best.shard, best.slot) }
        return isUnsuitable ? .unsuitable : refusal.map { .refused($0) } ?? .unsuitable
    }

    // MARK: Looking

    /// The first commands of the next groups of middle and low quality, without taking them. Groups come round in turn, so
    /// that a look at many costs a bounded time.
    package mutating func oldest(_ maxCount: Int) -> [(group: Group, command: ReadyCommand)] {
        var found: [(Group, ReadyCommand)] = []
        for _ in 0..<min(maxCount, groups.count) {
            cursor = cursor + 1 < groups.count ? cursor + 1 : 0
            let state = groups[cursor]
            guard state.group.serviceClass != .high, !state.lanes.isEmpty else { continue }
            if let first = state.lanes.compactMap({ lanes[$0].best(among: nil)?.entry }).min() {
                found.append((state.group, first.command))
            }
        }
        return found
    }

    /// All commands of these classes to a destination, in no order.
    package func commands(to destination: Destination, _ classes: [ServiceClass]) -> [ReadyCommand] {
        classes.compactMap { groupNumbers[Group(destination: destination, serviceClass: $0)] }
            .flatMap { groups[$0].lanes }.flatMap { lanes[$0].heaps }.flatMap(\.unordered).map(\.command)
    }

    /// Commands of a class that wait and are not parked, at most so many.
    package func rotatingGroups(_ serviceClass: ServiceClass, _ maxCount: Int) -> [Group] {
        guard rotating[serviceClass.rawValue] > 0 else { return [] }
        var found: [Group] = []
        for turn in turns[serviceClass.rawValue].unordered where groups[turn.group].ticket == turn.ticket {
            found.append(groups[turn.group].group)
            if found.count >= maxCount { break }
        }
        return found
    }
}

extension Dictionary where Value == Int {
    /// Keys are there while their count is not 0. Reads and writes, because changing a value in place costs three
    /// allocations.
    mutating func count(_ key: Key, by step: Int) {
        let count = (self[key] ?? 0) + step
        self[key] = count == 0 ? nil : count
    }
}
