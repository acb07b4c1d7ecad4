package import Commands
internal import DequeModule
internal import HeapModule
package import Store

/// Ready commands in memory: a bounded window on the store's backlog, so that a million commands for one destination
/// cost no more than a few hundred and hide nobody else's. Pure.
///
/// Classes are strict among themselves; within one, destinations take turns; within a destination the order is
/// ``order(of:)``.
package struct ReadyQueue: Sendable {
    /// Commands that are alike for a dispatcher: whoever may run one of them may run all.
    package struct Lane: Hashable, Sendable {
        package var destination: Destination
        package var type: String
        package var suspect: Bool

        package init(destination: Destination, type: String, suspect: Bool) {
            self.destination = destination
            self.type = type
            self.suspect = suspect
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

    /// A destination's commands of a class.
    package struct Group: Hashable, Sendable {
        package var destination: Destination
        package var serviceClass: ServiceClass
    }

    /// A lane and what waits in it: a heap for each shard.
    private struct Slot: Sendable {
        var lane: Lane
        var heaps: [Heap<Entry>]
        var count = 0

        /// The shard with the first entry.
        func best(among shards: StrideTo<Int>?) -> Int? {
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
            return best?.shard
        }
    }

    private let shardCount: Int
    private let agingStep: Int64
    /// Commands kept for each (destination, class).
    package var limit: Int
    /// Reached by number: a dictionary would be asked four times for each command.
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    /// For each class, where its lanes are.
    private var lanes: [[Lane: Int]]
    /// For each class, the slots of the lanes that have something, in the order of their turns.
    private var turns: [Deque<Int>]
    private var known: Set<CommandID> = []
    private var counts: [Group: Int] = [:]
    private var keyCounts: [ReadyKey: Int] = [:]
    /// Suspects among them.
    package private(set) var suspects = 0

    /// - Parameters:
    ///   - limit: commands kept for each (destination, class).
    ///   - agingStep: milliseconds of waiting that count as one step of quality within a class.
    package init(shardCount: Int, limit: Int = 256, agingStep: Int64 = 60_000) {
        self.shardCount = shardCount
        self.agingStep = agingStep
        self.limit = limit
        lanes = Array(repeating: [:], count: ServiceClass.allCases.count)
        turns = Array(repeating: [], count: ServiceClass.allCases.count)
    }

    package var count: Int { known.count }
    package func holds(_ serviceClass: ServiceClass) -> Bool { !lanes[serviceClass.rawValue].isEmpty }
    /// Pairs of destination and class that have something.
    package var groupCount: Int { counts.count }
    package func count(_ destination: Destination, _ serviceClass: ServiceClass) -> Int {
        counts[Group(destination: destination, serviceClass: serviceClass), default: 0]
    }
    package func count(of key: ReadyKey) -> Int { keyCounts[key, default: 0] }
    /// What waits in memory, by destination and quality.
    package var waiting: [Destination: [QualityOfService: Int]] {
        var waiting: [Destination: [QualityOfService: Int]] = [:]
        for (key, count) in keyCounts where key.destination != .none {
            waiting[key.destination, default: [:]][key.qos] = count
        }
        return waiting
    }
    package func contains(_ id: CommandID) -> Bool { known.contains(id) }

    package func command(_ id: CommandID) -> ReadyCommand? {
        guard known.contains(id) else { return nil }
        let shard = id.shard(of: shardCount)
        for slot in lanes.lazy.flatMap(\.values) {
            if let entry = slots[slot].heaps[shard].unordered.first(where: { $0.command.id == id }) {
                return entry.command
            }
        }
        return nil
    }

    /// Smaller runs first within a class: when it was made, and a step of waiting later for each step of quality that it
    /// stands behind the first of its class.
    package func order(of command: ReadyCommand) -> Int64 {
        command.createdAt.milliseconds + command.qos.stepsBehind * agingStep
    }

    /// - Returns: where the window is full, the one that stays out, this or the last of its destination and class that
    ///   has made way: the store must be asked for it again later. Nil where all are in.
    package mutating func insert(_ command: ReadyCommand) -> ReadyCommand? {
        if known.contains(command.id) { return nil }
        let serviceClass = command.qos.serviceClass
        let group = Group(destination: command.destination, serviceClass: serviceClass)
        var out: ReadyCommand?
        if counts[group, default: 0] >= limit {
            let entry = Entry(command: command, order: order(of: command))
            guard let last = last(of: group), entry < last else { return command }
            remove(last.command.id)
            out = last.command
        }
        let slot = slot(
            of: Lane(destination: command.destination, type: command.type, suspect: command.suspect),
            serviceClass.rawValue)
        slots[slot].heaps[command.id.shard(of: shardCount)]
            .insert(Entry(command: command, order: order(of: command)))
        slots[slot].count += 1
        known.insert(command.id)
        counts.count(group, by: 1)
        keyCounts.count(ReadyKey(destination: command.destination, qos: command.qos), by: 1)
        if command.suspect { suspects += 1 }
        return out
    }

    private func last(of group: Group) -> Entry? {
        lanes[group.serviceClass.rawValue].filter { $0.key.destination == group.destination }.values
            .compactMap { slots[$0].heaps.compactMap(\.max).max() }.max()
    }

    private mutating func slot(of lane: Lane, _ index: Int) -> Int {
        if let slot = lanes[index][lane] { return slot }
        let slot = freeSlots.popLast() ?? slots.count
        if slot < slots.count {
            // Its heaps are empty, and made.
            slots[slot].lane = lane
        } else {
            slots.append(Slot(lane: lane, heaps: Array(repeating: Heap(), count: shardCount)))
        }
        lanes[index][lane] = slot
        turns[index].append(slot)
        return slot
    }

    /// Takes the first command of a class, of the lane whose turn it is.
    /// - Parameters:
    ///   - shards: from which shards; nil for all.
    ///   - accepts: whether a lane may be taken from now.
    package mutating func take(
        _ serviceClass: ServiceClass, shards: StrideTo<Int>? = nil, accepts: (Lane) -> Bool
    ) -> ReadyCommand? {
        let index = serviceClass.rawValue
        for _ in 0..<turns[index].count {
            guard let slot = turns[index].popFirst() else { break }
            guard accepts(slots[slot].lane), let best = slots[slot].best(among: shards),
                let entry = slots[slot].heaps[best].popMin()
            else {
                turns[index].append(slot)
                continue
            }
            forget(entry.command, slot: slot, index)
            if slots[slot].count > 0 { turns[index].append(slot) }
            return entry.command
        }
        return nil
    }

    /// The first command of a destination and class, without taking it.
    package func oldest(_ serviceClass: ServiceClass, where accepts: (Lane) -> Bool) -> [ReadyCommand] {
        lanes[serviceClass.rawValue].compactMap { lane, slot in
            guard accepts(lane), let shard = slots[slot].best(among: nil) else { return nil }
            return slots[slot].heaps[shard].min?.command
        }
    }

    /// All commands of these classes to a destination, in no order.
    package func commands(to destination: Destination, _ classes: [ServiceClass]) -> [ReadyCommand] {
        classes.flatMap { lanes[$0.rawValue] }.filter { $0.key.destination == destination }
            .flatMap { slots[$0.value].heaps }.flatMap(\.unordered).map(\.command)
    }

    /// Drops a command that is known not to be ready any more.
    package mutating func remove(_ id: CommandID) {
        guard known.contains(id) else { return }
        let shard = id.shard(of: shardCount)
        for index in lanes.indices {
            for slot in lanes[index].values {
                let heap = slots[slot].heaps[shard]
                guard let entry = heap.unordered.first(where: { $0.command.id == id }) else { continue }
                slots[slot].heaps[shard] = Heap(heap.unordered.filter { $0.command.id != id })
                forget(entry.command, slot: slot, index)
                if slots[slot].count == 0 { turns[index].removeAll { $0 == slot } }
                return
            }
        }
    }

    package mutating func removeAll(where condition: (ReadyCommand) -> Bool) {
        let gone = lanes.flatMap(\.values).flatMap { slots[$0].heaps }.flatMap(\.unordered).map(\.command)
            .filter(condition)
        for command in gone { remove(command.id) }
    }

    private mutating func forget(_ command: ReadyCommand, slot: Int, _ index: Int) {
        known.remove(command.id)
        if command.suspect { suspects -= 1 }
        counts.count(Group(destination: command.destination, serviceClass: command.qos.serviceClass), by: -1)
        keyCounts.count(ReadyKey(destination: command.destination, qos: command.qos), by: -1)
        slots[slot].count -= 1
        guard slots[slot].count == 0 else { return }
        lanes[index][slots[slot].lane] = nil
        freeSlots.append(slot)
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
