package import Commands

/// A read of ready commands: the parameters of ``QueueStore/ready(shard:key:afterTurn:limit:)``.
package struct ReadyRead: Sendable, Hashable {
    package var shard: Int
    package var key: ReadyKey
    package var afterTurn: Int64
    package var limit: Int

    package init(shard: Int, key: ReadyKey, afterTurn: Int64, limit: Int) {
        self.shard = shard
        self.key = key
        self.afterTurn = afterTurn
        self.limit = limit
    }
}

/// The parts of a shard that a sweep reads.
package struct ShardSweep: Sendable, Hashable {
    package enum Way: Sendable, Hashable {
        /// All keys that have ready commands.
        case keys
        /// The transitions behind this number. Where they are more than ``maxChanges``, the keys.
        case changes(after: Int64)
    }

    package var shard: Int
    /// Where ready commands are looked for; nil: nowhere.
    package var way: Way?
    /// Also reads the claims and the cancellation requests.
    package var readsClaims: Bool

    /// Keys beside which no change needs to be read.
    package static let fewKeys = 256
    /// The newest transitions that are read beside more keys. A command that was submitted while no coordinator ran does
    /// not wait for the turn of its key, which is seconds away beside 20,000 others.
    package static let newestChanges: Int64 = 256
    /// Transitions that are read instead of the keys.
    package static let maxChanges = 2000

    package init(shard: Int, way: Way?, readsClaims: Bool = false) {
        self.shard = shard
        self.way = way
        self.readsClaims = readsClaims
    }
}

/// The findings of a sweep in a shard.
package struct SweptShard: Sendable {
    /// The changes up to this transition were read.
    package var through: Int64
    /// Nil where the keys were not read.
    package var keys: Set<ReadyKey>?
    /// The ready commands among those that have changed.
    package var changed: [ReadyCommand] = []
    /// ``QueueStore/takeReadyAgain(shard:limit:)`` has something.
    package var hasReadyAgain: Bool
    /// Nil where the sweep did not ask.
    package var claimed: [ClaimedCommand]?
    package var requests: [ClaimedCommand]?
}

/// One shard after the other, for stores to which a call costs little.
extension QueueStore where Self: ReadingStore {
    package func ready(_ reads: [ReadyRead], each: (ReadyRead, Result<[ReadyCommand], StoreError>) -> Void) {
        for read in reads {
            each(
                read,
                Result { () throws(StoreError) in
                    try ready(shard: read.shard, key: read.key, afterTurn: read.afterTurn, limit: read.limit)
                })
        }
    }

    package func ready(ids: [CommandID], each: ([CommandID], Result<[ReadyCommand], StoreError>) -> Void) {
        for (shard, ids) in Dictionary(grouping: ids, by: { $0.shard(of: shardCount) }) {
            each(ids, Result { () throws(StoreError) in try ready(shard: shard, ids: ids) })
        }
    }

    package func sweep(_ shards: [ShardSweep], each: (ShardSweep, Result<SweptShard, StoreError>) -> Void) {
        for sweep in shards { each(sweep, Result { () throws(StoreError) in try swept(sweep) }) }
    }

    package func cancellationRequests(_ shards: [Int], each: (Int, Result<[ClaimedCommand], StoreError>) -> Void) {
        for shard in shards { each(shard, Result { () throws(StoreError) in try cancellationRequests(shard: shard) }) }
    }

    package func promoteDue(_ shards: [Int], limit: Int, each: (Int, Result<PromotedCommands, StoreError>) -> Void) {
        for shard in shards {
            each(shard, Result { () throws(StoreError) in try promoteDue(shard: shard, limit: limit) })
        }
    }

    package func passedDeadlines(
        _ shards: [Int], limit: Int, each: (Int, Result<Set<ReadyKey>, StoreError>) -> Void
    ) {
        for shard in shards {
            each(shard, Result { () throws(StoreError) in try passedDeadlines(shard: shard, limit: limit) })
        }
    }

    package func expire(
        _ shards: [Int: [ReadyKey: String]], limit: Int, each: (Int, Result<Expiry, StoreError>) -> Void
    ) {
        for (shard, causes) in shards.sorted(by: { $0.key < $1.key }) {
            each(shard, Result { () throws(StoreError) in try expire(shard: shard, limit: limit, causes: causes) })
        }
    }

    package func dueWork(_ shards: [Int]) throws(StoreError) -> DueWork? { nil }

    package func shardsWithMessages(_ shards: [Int]) -> [Int] {
        shards.filter { shard in (try? outbox(shard: shard, after: 0, limit: 1).isEmpty) != true }
    }

    private func swept(_ sweep: ShardSweep) throws(StoreError) -> SweptShard {
        let shard = sweep.shard
        // Before everything else, so that no later change counts as read.
        let newest = try lastTransition(shard: shard)
        var swept = SweptShard(through: newest, hasReadyAgain: try hasReadyAgain(shard: shard))
        if sweep.readsClaims {
            swept.claimed = try claimed(shard: shard)
            swept.requests = try cancellationRequests(shard: shard)
        }
        switch sweep.way {
        case .changes(let after) where newest - after <= Int64(ShardSweep.maxChanges):
            swept.through = max(after, newest)
            if newest > after { try readChanges(of: shard, after: after, into: &swept) }
        case .changes, .keys:
            let keys = try readyKeys(shard: shard)
            swept.keys = keys
            if keys.count > ShardSweep.fewKeys {
                try readChanges(of: shard, after: max(newest - ShardSweep.newestChanges, 0), into: &swept)
            }
        case nil: break
        }
        return swept
    }

    private func readChanges(of shard: Int, after: Int64, into swept: inout SweptShard) throws(StoreError) {
        let page = try events(shard: shard, after: after, limit: ShardSweep.maxChanges)
        let ids = Set(page.events.map(\.transition).filter { $0.status == .new || $0.status == .error }.map(\.id))
        swept.changed = try ready(shard: shard, ids: Array(ids))
        swept.through = min(swept.through, page.complete)
    }
}

/// One shard after the other, for stores to which a call costs little. The calls of a shard that is unusable are left out.
extension QueueStore {
    package func claimed() throws(StoreError) -> [[ClaimedCommand]] {
        try mapShards(or: []) { shard throws(StoreError) in try claimed(shard: shard) }
    }
}

/// The work of the coordinator that has come due, as one look finds it: for a store to which each question costs a round trip.
package struct DueWork: Sendable, Equatable {
    /// Shards with commands whose `notBefore` has come (``QueueStore/promoteDue(shard:limit:)``).
    package var promotions: [Int] = []
    /// Shards with effects that earlier transactions have left (``ExecutionStore/settle(shard:limit:)``).
    package var effects: [Int] = []
    /// Shards with messages to others (``QueueStore/outbox(shard:after:limit:)``).
    package var messages: [Int] = []
    /// Shards with commands whose deadline has passed (``QueueStore/passedDeadlines(shard:limit:)``).
    package var deadlines: [Int] = []
    /// Shards with schedules that fire (``ScheduleStore/fireSchedules(shard:_:limit:_:)``).
    package var schedules: [Int] = []
    /// The inbox has entries.
    package var hasInbox = false
    /// When the next of the rows that were found comes due; nil: none is known.
    package var next: Timestamp?

    package init() {}

    /// Nothing is due. `next` does not count.
    package var isEmpty: Bool {
        promotions.isEmpty && effects.isEmpty && messages.isEmpty && deadlines.isEmpty && schedules.isEmpty && !hasInbox
    }

    /// Takes in a row: a time that has come adds its shard, a later one may be the next.
    mutating func add(_ time: Timestamp?, of shard: Int, to shards: WritableKeyPath<DueWork, [Int]>, now: Timestamp) {
        guard let time else { return }
        if time <= now {
            self[keyPath: shards].append(shard)
        } else {
            next = min(next ?? time, time)
        }
    }
}
