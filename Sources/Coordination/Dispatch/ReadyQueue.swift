package import Commands
internal import HeapModule
package import Store

/// Ready commands in memory: a bounded window on the store's backlog, so that a million commands for one
/// destination cost no more than a few hundred and hide no others. Pure.
///
/// Service classes are strict among themselves. Within a class the destination that holds the fewest slots is
/// next; among equals, the one whose turn is longest ago. Within a destination the order is ``order(of:)``. A
/// destination that admission refuses is parked: it costs nothing until ``wake(_:)``.
package struct ReadyQueue: Sendable {
    /// A FIFO of commands that are alike for admission and for workers.
    package struct SubQueue: Hashable, Sendable {
        package var destination: Destination
        package var qos: QualityOfService
        package var type: String
        package var suspect: Bool
        /// The name of their rate limit.
        package var limit: String?

        package init(
            destination: Destination, qos: QualityOfService, type: String, suspect: Bool, limit: String? = nil
        ) {
            self.destination = destination
            self.qos = qos
            self.type = type
            self.suspect = suspect
            self.limit = limit
        }

        init(_ command: ReadyCommand) {
            self.init(
                destination: command.destination, qos: command.qos, type: command.type, suspect: command.suspect,
                limit: command.limit)
        }

        package var key: ReadyKey { ReadyKey(destination: destination, qos: qos, limit: limit) }
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

    struct Entry: Sendable, Comparable {
        var command: ReadyCommand
        var order: Int64

        /// By turn: for the commands of one sub-queue and shard. No clock has written the turns.
        static func == (left: Self, right: Self) -> Bool { left.command.id == right.command.id }
        static func < (left: Self, right: Self) -> Bool {
            (left.command.turn, left.command.id) < (right.command.turn, right.command.id)
        }

        /// For commands of several sub-queues or shards.
        func precedes(_ other: Self) -> Bool {
            (order, command.turn, command.id) < (other.order, other.command.turn, other.command.id)
        }
    }

    struct SubQueueState: Sendable {
        var subQueue: SubQueue
        /// Index of its group.
        var group: Int
        /// By shard.
        var heaps: [Heap<Entry>]
        var count = 0

        /// The shard with the first entry, and that entry.
        func best(among shards: StrideTo<Int>?) -> (shard: Int, entry: Entry)? {
            var best: (shard: Int, entry: Entry)?
            func consider(_ shard: Int) {
                guard let entry = heaps[shard].min else { return }
                if let known = best, known.entry.precedes(entry) { return }
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

    struct GroupState: Sendable {
        var group: Group
        /// Indices of its sub-queues.
        var subQueues: [Int] = []
        /// Of its valid turn; 0 while it is parked or free.
        var ticket: UInt64 = 0
        /// Slots held, as its valid turn counts them.
        var held = 0
    }

    let shardCount: Int
    private let agingStep: Int64
    /// Commands kept of each destination and quality of service.
    package var limit: Int
    /// The wall clock at the last dispatch. A command that a clock ahead of it has dated counts as made now.
    package var present: Timestamp?
    package var clockJumps = ClockJumps()
    var contents: [SubQueueState] = []
    var freeSubQueues: [Int] = []
    var subQueueNumbers: [SubQueue: Int] = [:]
    var groups: [GroupState] = []
    var freeGroups: [Int] = []
    var groupNumbers: [Group: Int] = [:]
    /// The index of each command's sub-queue.
    var subQueues: [CommandID: Int] = [:]
    var keyCounts: [ReadyKey: Int] = [:]
    var classCounts = [0, 0, 0]
    /// Destinations whose number of waiting commands has changed since ``takeChanged()``.
    var changed: Set<Destination> = []
    /// Suspects among the commands.
    package internal(set) var suspects = 0

    // Rotation
    /// By class. Turns that are not valid any more are dropped when they come up.
    var turns: [Heap<Turn>]
    /// By class: groups with a valid turn.
    var rotating = [0, 0, 0]
    var lastTicket: UInt64 = 0
    /// Groups of destinations that fail, and of destinations that were never tried, by the budget that they wait for.
    var failing = ByProbeBudget(ParkedGroups())
    var untried = ByProbeBudget(ParkedGroups())
    /// By rate limit and class, the groups that wait for its next token, or for the end of one of its commands.
    var awaiting: [RateLimits.Name: [ParkedGroups]] = [:]
    /// Where ``oldest(_:)`` continues.
    private var cursor = 0

    /// - Parameters:
    ///   - limit: commands kept of each destination and quality of service.
    ///   - agingStep: milliseconds of waiting that count as one step of quality within a class.
    package init(shardCount: Int, limit: Int = 256, agingStep: Int64 = 60_000) {
        self.shardCount = shardCount
        self.agingStep = agingStep
        self.limit = limit
        turns = Array(repeating: Heap(), count: ServiceClass.allCases.count)
    }

    // MARK: Counts

    package var count: Int { subQueues.count }
    package func holds(_ serviceClass: ServiceClass) -> Bool { classCounts[serviceClass.rawValue] > 0 }
    /// Destinations, qualities of service and rate limits that have commands.
    package var keyCount: Int { keyCounts.count }
    package func count(of key: ReadyKey) -> Int { keyCounts[key] ?? 0 }
    /// The commands of a key, by shard.
    func counts(of key: ReadyKey) -> [Int] {
        var counts = Array(repeating: 0, count: shardCount)
        for number in subQueues(of: key.destination, key.qos.serviceClass) where contents[number].subQueue.key == key {
            for shard in counts.indices { counts[shard] += contents[number].heaps[shard].count }
        }
        return counts
    }

    package func contains(_ id: CommandID) -> Bool { subQueues[id] != nil }

    package func count(_ destination: Destination, _ serviceClass: ServiceClass) -> Int {
        subQueues(of: destination, serviceClass).reduce(0) { $0 + contents[$1].count }
    }

    /// The commands of a class to a destination, by key.
    func counts(_ destination: Destination, _ serviceClass: ServiceClass) -> [ReadyKey: Int] {
        subQueues(of: destination, serviceClass).reduce(into: [:]) {
            $0[contents[$1].subQueue.key, default: 0] += contents[$1].count
        }
    }

    private func subQueues(of destination: Destination, _ serviceClass: ServiceClass) -> [Int] {
        groupNumbers[Group(destination: destination, serviceClass: serviceClass)].map { groups[$0].subQueues } ?? []
    }

    /// The commands with a rate limit.
    func count(ofLimit name: String) -> Int {
        keyCounts.reduce(0) { $0 + ($1.key.limit == name ? $1.value : 0) }
    }

    /// The queue that has the command.
    func key(of id: CommandID) -> ReadyKey? { subQueues[id].map { contents[$0].subQueue.key } }

    /// Destinations whose number of waiting commands has changed and was not returned since, with the numbers.
    /// - Parameter maxCount: the others follow in the next calls.
    package mutating func takeChanged(_ maxCount: Int = .max) -> [Destination: [QualityOfService: Int]] {
        let taken = changed.prefix(maxCount)
        defer { if taken.count == changed.count { changed = [] } else { changed.subtract(Array(taken)) } }
        return Dictionary(uniqueKeysWithValues: taken.map { ($0, waiting(for: $0)) })
    }

    package func waiting(for destination: Destination) -> [QualityOfService: Int] {
        var waiting: [QualityOfService: Int] = [:]
        for serviceClass in ServiceClass.allCases {
            for number in subQueues(of: destination, serviceClass) {
                waiting[contents[number].subQueue.qos, default: 0] += contents[number].count
            }
        }
        return waiting
    }

    // MARK: Commands

    package func command(_ id: CommandID) -> ReadyCommand? {
        guard let number = subQueues[id] else { return nil }
        return contents[number].heaps[id.shard(of: shardCount)].unordered.first { $0.command.id == id }?.command
    }

    /// The order within a class; the smallest runs first. It is the time when the command was made, without the jumps of the
    /// wall clock, and a step of waiting later for each step of quality that it stands behind the first of its class.
    package func order(of command: ReadyCommand) -> Int64 {
        var created = clockJumps.steady(
            command.createdAt, shard: command.id.shard(of: shardCount), turn: command.turn)
        if let present {
            let now = clockJumps.steady(now: present)
            if created > now + ClockHold.maxStep { created = now }
        }
        return created.milliseconds + command.qos.stepsBehind * agingStep
    }

    /// The wall clock has jumped. The ages of the commands stay as they are.
    package mutating func wallClockJumped(_ jump: ClockJumps.Jump) {
        clockJumps.add(jump)
        if let present { self.present = present + jump.by }
    }

    /// How long a command has waited.
    func age(of entry: Entry, at: Timestamp) -> Duration {
        let created = entry.order - entry.command.qos.stepsBehind * agingStep
        return clockJumps.steady(now: at) - Timestamp(milliseconds: created)
    }

    /// The first commands of the next groups of middle and low QoS, without taking them: of each sub-queue, in their
    /// order. Groups come round in turn, so that a look at many costs a bounded time.
    mutating func oldest(_ maxCount: Int) -> [(group: Group, entries: [Entry])] {
        var found: [(Group, [Entry])] = []
        for _ in 0..<min(maxCount, groups.count) {
            cursor = cursor + 1 < groups.count ? cursor + 1 : 0
            let state = groups[cursor]
            guard state.group.serviceClass != .high, !state.subQueues.isEmpty else { continue }
            let entries = state.subQueues.compactMap { contents[$0].best(among: nil)?.entry }
            found.append((state.group, entries.sorted { $0.precedes($1) }))
        }
        return found
    }

    /// All commands of these classes to a destination, in no order.
    package func commands(to destination: Destination, _ classes: [ServiceClass]) -> [ReadyCommand] {
        classes.compactMap { groupNumbers[Group(destination: destination, serviceClass: $0)] }
            .flatMap { groups[$0].subQueues }.flatMap { contents[$0].heaps }.flatMap(\.unordered).map(\.command)
    }
}

extension Dictionary where Value == Int {
    /// Keys are there while their count is not 0. Reads and writes, because changing a value in place costs
    /// three allocations.
    mutating func count(_ key: Key, by step: Int) {
        let count = (self[key] ?? 0) + step
        self[key] = count == 0 ? nil : count
    }
}
