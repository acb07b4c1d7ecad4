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

    private struct Group: Hashable {
        var destination: Destination
        var serviceClass: ServiceClass
    }

    private let shardCount: Int
    /// Commands kept for each (destination, class).
    package var limit: Int
    /// For each class, the lanes that have something, in the order of their turns.
    private var turns: [Deque<Lane>]
    /// For each class and lane, a heap for each shard.
    private var lanes: [[Lane: [Heap<Entry>]]]
    private var known: Set<CommandID> = []
    private var counts: [Group: Int] = [:]
    private var keyCounts: [ReadyKey: Int] = [:]
    /// Suspects among them.
    package private(set) var suspects = 0

    /// - Parameter limit: commands kept for each (destination, class).
    package init(shardCount: Int, limit: Int = 256) {
        self.shardCount = shardCount
        self.limit = limit
        turns = Array(repeating: [], count: ServiceClass.allCases.count)
        lanes = Array(repeating: [:], count: ServiceClass.allCases.count)
    }

    package var count: Int { known.count }
    /// Pairs of destination and class that have something.
    package var groupCount: Int { counts.count }
    package func count(_ destination: Destination, _ serviceClass: ServiceClass) -> Int {
        counts[Group(destination: destination, serviceClass: serviceClass), default: 0]
    }
    package func count(of key: ReadyKey) -> Int { keyCounts[key, default: 0] }
    package func contains(_ id: CommandID) -> Bool { known.contains(id) }

    /// Smaller runs first within a class: when it was made, and a minute later for each step of quality that it stands
    /// behind the first of its class.
    package static func order(of command: ReadyCommand) -> Int64 {
        command.createdAt.milliseconds + command.qos.handicap
    }

    /// - Returns: where the window is full, the one that stays out, this or the last of its destination and class that
    ///   has made way: the store must be asked for it again later. Nil where all are in.
    package mutating func insert(_ command: ReadyCommand) -> ReadyCommand? {
        if known.contains(command.id) { return nil }
        let serviceClass = command.qos.serviceClass
        let group = Group(destination: command.destination, serviceClass: serviceClass)
        var out: ReadyCommand?
        if counts[group, default: 0] >= limit {
            guard let last = last(of: group), Self.order(of: command) < Self.order(of: last) else { return command }
            remove(last.id)
            out = last
        }
        let lane = Lane(destination: command.destination, type: command.type, suspect: command.suspect)
        let index = serviceClass.rawValue
        if lanes[index][lane] == nil {
            lanes[index][lane] = Array(repeating: Heap(), count: shardCount)
            turns[index].append(lane)
        }
        lanes[index][lane]?[command.id.shard(of: shardCount)]
            .insert(Entry(command: command, order: Self.order(of: command)))
        known.insert(command.id)
        counts[group, default: 0] += 1
        keyCounts[ReadyKey(destination: command.destination, qos: command.qos), default: 0] += 1
        if command.suspect { suspects += 1 }
        return out
    }

    private func last(of group: Group) -> ReadyCommand? {
        lanes[group.serviceClass.rawValue].filter { $0.key.destination == group.destination }.values
            .compactMap { $0.compactMap(\.max).max() }.max()?.command
    }

    /// Takes the first command of a class, of the lane whose turn it is.
    /// - Parameters:
    ///   - shards: from which shards; nil for all.
    ///   - accepts: whether a lane may be taken from now.
    package mutating func take(
        _ serviceClass: ServiceClass, shards: [Int]? = nil, accepts: (Lane) -> Bool
    ) -> ReadyCommand? {
        let index = serviceClass.rawValue
        for _ in 0..<turns[index].count {
            guard let lane = turns[index].popFirst() else { break }
            guard accepts(lane), let best = bestShard(of: lane, index, among: shards) else {
                turns[index].append(lane)
                continue
            }
            let entry = lanes[index][lane]?[best].popMin()
            if lanes[index][lane]?.allSatisfy({ $0.isEmpty }) == true {
                lanes[index][lane] = nil
            } else {
                turns[index].append(lane)
            }
            guard let entry else { continue }
            forget(entry.command)
            return entry.command
        }
        return nil
    }

    /// The first command of a destination and class, without taking it.
    package func oldest(_ serviceClass: ServiceClass, where accepts: (Lane) -> Bool) -> [ReadyCommand] {
        lanes[serviceClass.rawValue].filter { accepts($0.key) }.compactMap { $0.value.compactMap(\.min).min()?.command }
    }

    /// Drops a command that is known not to be ready any more.
    package mutating func remove(_ id: CommandID) {
        guard known.contains(id) else { return }
        let shard = id.shard(of: shardCount)
        for index in lanes.indices {
            for (lane, heaps) in lanes[index] {
                guard let entry = heaps[shard].unordered.first(where: { $0.command.id == id }) else { continue }
                lanes[index][lane]?[shard] = Heap(heaps[shard].unordered.filter { $0.command.id != id })
                if lanes[index][lane]?.allSatisfy({ $0.isEmpty }) == true {
                    lanes[index][lane] = nil
                    turns[index].removeAll { $0 == lane }
                }
                forget(entry.command)
                return
            }
        }
    }

    package mutating func removeAll(where condition: (ReadyCommand) -> Bool) {
        let gone = lanes.flatMap(\.values).flatMap { $0 }.flatMap(\.unordered).map(\.command).filter(condition)
        for command in gone { remove(command.id) }
    }

    /// Destinations and types that have something ready, of any class.
    package var allLanes: Set<Lane> { Set(lanes.flatMap(\.keys)) }

    private func bestShard(of lane: Lane, _ index: Int, among shards: [Int]?) -> Int? {
        guard let heaps = lanes[index][lane] else { return nil }
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

    private mutating func forget(_ command: ReadyCommand) {
        known.remove(command.id)
        if command.suspect { suspects -= 1 }
        let group = Group(destination: command.destination, serviceClass: command.qos.serviceClass)
        let left = counts[group, default: 1] - 1
        counts[group] = left > 0 ? left : nil
        let key = ReadyKey(destination: command.destination, qos: command.qos)
        let leftOfKey = keyCounts[key, default: 1] - 1
        keyCounts[key] = leftOfKey > 0 ? leftOfKey : nil
    }
}
