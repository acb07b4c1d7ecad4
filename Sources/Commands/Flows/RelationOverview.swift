/// Flows, batches, ordering keys and schedules in brief, at one moment. The numbers of each shard are counted up to ``maxCounted``,
/// so that a reading costs the same in every store.
package struct RelationOverview: Sendable, Equatable {
    /// The rows of a kind that are counted in each shard.
    package static let maxCounted = 1000

    package var flows = FlowOverview()
    /// Its members are in all shards, so that the overview of one shard has none.
    package var batches = BatchOverview()
    package var keys = OrderingKeyOverview()
    package var schedules = ScheduleOverview()

    package init() {}

    package var isEmpty: Bool {
        flows.count == 0 && batches.count == 0 && keys.keys == 0 && schedules.count == 0
    }

    /// Adds the numbers of another shard.
    package mutating func add(_ other: RelationOverview) {
        flows.add(other.flows)
        keys.add(other.keys)
        schedules.add(other.schedules)
    }
}

/// The flows that have not ended.
package struct FlowOverview: Sendable, Equatable {
    /// The flows that are shown.
    package static let maxShown = 5

    package var count = 0
    /// False where there are more than ``count``.
    package var isComplete = true
    /// At most ``maxShown``, the newest first.
    package var newest: [FlowState] = []

    package init() {}

    mutating func add(_ other: FlowOverview) {
        count += other.count
        isComplete = isComplete && other.isComplete
        newest = Array((newest + other.newest).sorted { $0.command.id > $1.command.id }.prefix(Self.maxShown))
    }
}

/// The batches that have not ended.
package struct BatchOverview: Sendable, Equatable {
    /// The batches that are shown.
    package static let maxShown = 5

    package var count = 0
    /// False where there are more than ``count``.
    package var isComplete = true
    /// At most ``maxShown``, the newest first.
    package var newest: [BatchState] = []

    package init() {}
}

/// The ordering keys that commands wait for.
package struct OrderingKeyOverview: Sendable, Equatable {
    package struct Queue: Sendable, Equatable {
        package var key: String
        /// Commands that wait for it.
        package var waiting: Int

        package init(key: String, waiting: Int) {
            self.key = key
            self.waiting = waiting
        }
    }

    /// Keys that a command waits for.
    package var keys = 0
    /// Commands that wait for a key.
    package var waiting = 0
    /// Nil where no command waits.
    package var longest: Queue?
    /// False where more commands wait.
    package var isComplete = true

    package init() {}

    package mutating func add(_ queue: Queue) {
        keys += 1
        waiting += queue.waiting
        if queue.waiting > longest?.waiting ?? 0 { longest = queue }
    }

    mutating func add(_ other: OrderingKeyOverview) {
        keys += other.keys
        waiting += other.waiting
        if let queue = other.longest, queue.waiting > longest?.waiting ?? 0 { longest = queue }
        isComplete = isComplete && other.isComplete
    }
}

/// The schedules, and those that need a look.
package struct ScheduleOverview: Sendable, Equatable {
    package struct Due: Sendable, Equatable {
        package var name: String
        package var at: Timestamp

        package init(name: String, at: Timestamp) {
            self.name = name
            self.at = at
        }
    }

    /// A schedule that has no next time, and why.
    package struct Held: Sendable, Equatable {
        package var name: String
        package var reason: String

        package init(name: String, reason: String) {
            self.name = name
            self.reason = reason
        }
    }

    package var count = 0
    package var paused = 0
    /// The one that fires next; nil where none has a next time.
    package var next: Due?
    /// In the order of their names.
    package var held: [Held] = []
    /// False where there are more than ``count``.
    package var isComplete = true

    package init() {}

    package mutating func add(name: String, isPaused: Bool, next due: Timestamp?, reason: String?) {
        count += 1
        if isPaused {
            paused += 1
        } else if let due {
            consider(Due(name: name, at: due))
        } else if let reason {
            held.append(Held(name: name, reason: reason))
        }
    }

    mutating func add(_ other: ScheduleOverview) {
        count += other.count
        paused += other.paused
        if let due = other.next { consider(due) }
        held = (held + other.held).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        isComplete = isComplete && other.isComplete
    }

    private mutating func consider(_ due: Due) {
        if next.map({ due.at < $0.at }) ?? true { next = due }
    }
}

extension RelationOverview {
    /// `flows`, `batches`, `orderingKeys` and `schedules`; null where there are none.
    package var members: [JSONValue.Member] {
        [
            .init("flows", flows.count == 0 ? .null : flows.json),
            .init("batches", batches.count == 0 ? .null : batches.json),
            .init("orderingKeys", keys.keys == 0 ? .null : keys.json),
            .init("schedules", schedules.count == 0 ? .null : schedules.json),
        ]
    }
}

extension FlowOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("count", .integer(Int64(count))), .init("complete", .bool(isComplete)),
            .init("newest", .array(newest.map(\.summary))),
        ])
    }
}

extension FlowState {
    /// The flow without its command's fields.
    fileprivate var summary: JSONValue {
        .object([
            .init("id", .string(command.id.description)), .init("name", .string(name)),
            .init("nodes", .integer(Int64(nodes))), .init("ended", .integer(Int64(nodes - open))),
            .init("failed", .integer(Int64(failed))), .init("createdAt", .string(command.createdAt.description)),
        ])
    }
}

extension BatchOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("count", .integer(Int64(count))), .init("complete", .bool(isComplete)),
            .init("newest", .array(newest.map(\.summary))),
        ])
    }
}

extension BatchState {
    /// The batch without its command's fields.
    fileprivate var summary: JSONValue {
        .object([
            .init("id", .string(command.id.description)), .init("name", .string(name)),
            .init("sealed", .bool(isSealed)),
            .init("members", .integer(Int64(members))), .init("ended", .integer(Int64(members - open))),
            .init("failed", .integer(Int64(failed))), .init("createdAt", .string(command.createdAt.description)),
        ])
    }
}

extension OrderingKeyOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("keys", .integer(Int64(keys))), .init("waiting", .integer(Int64(waiting))),
            .init("complete", .bool(isComplete)),
            .init(
                "longest",
                longest.map {
                    .object([.init("key", .string($0.key)), .init("waiting", .integer(Int64($0.waiting)))])
                } ?? .null),
        ])
    }
}

extension ScheduleOverview {
    fileprivate var json: JSONValue {
        .object([
            .init("count", .integer(Int64(count))), .init("paused", .integer(Int64(paused))),
            .init("complete", .bool(isComplete)),
            .init(
                "next",
                next.map {
                    .object([.init("schedule", .string($0.name)), .init("at", .string($0.at.description))])
                } ?? .null),
            .init(
                "held",
                .array(
                    held.map { .object([.init("schedule", .string($0.name)), .init("reason", .string($0.reason))]) })),
        ])
    }
}
