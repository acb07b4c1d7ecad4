import Commands
import Host
import Store
import Synchronization
import TestSupport

/// Counts the calls of a coordinator that reach a shard.
final class CountingStore: ForwardingStore {
    private let store: any CommandStore & StoreHealth
    private let isForServer: Bool
    private let counts = Mutex<(calls: Int, sweeps: Int)>((0, 0))

    /// - Parameter isForServer: a call for several shards counts once; else it is made as one call for each shard.
    init(_ store: any CommandStore & StoreHealth, isForServer: Bool) {
        self.store = store
        self.isForServer = isForServer
    }

    var calls: Int { counts.withLock { $0.calls } }
    /// Sweeps that have read the claims of all shards.
    var sweeps: Int { counts.withLock { $0.sweeps } }

    var target: any CommandStore & StoreHealth {
        counts.withLock { $0.calls += 1 }
        return store
    }

    // These ask no shard.
    var shardCount: Int { store.shardCount }
    var clock: any StoreClock { store.clock }
    func commitGroup(of shard: Int) -> CommitGroup { store.commitGroup(of: shard) }
    var problems: [StoreError] { store.problems }
    var overloads: [StoreError] { store.overloads }
    var isClockHeld: Bool { store.isClockHeld }

    private func shards<Item>(_ items: [Item], _ call: (any CommandStore, [Item]) -> Void) {
        if items.isEmpty { return }
        if isForServer { return call(target, items) }
        for item in items { call(target, [item]) }
    }

    func ready(_ reads: [ReadyRead], each: (ReadyRead, Result<[ReadyCommand], StoreError>) -> Void) {
        shards(reads) { $0.ready($1, each: each) }
    }

    func ready(ids: [CommandID], each: ([CommandID], Result<[ReadyCommand], StoreError>) -> Void) {
        shards(ids) { $0.ready(ids: $1, each: each) }
    }

    func sweep(_ shards: [ShardSweep], each: (ShardSweep, Result<SweptShard, StoreError>) -> Void) {
        self.shards(shards) { $0.sweep($1, each: each) }
        if shards.contains(where: \.readsClaims) { counts.withLock { $0.sweeps += 1 } }
    }

    func cancellationRequests(_ shards: [Int], each: (Int, Result<[ClaimedCommand], StoreError>) -> Void) {
        self.shards(shards) { $0.cancellationRequests($1, each: each) }
    }

    func promoteDue(_ shards: [Int], limit: Int, each: (Int, Result<PromotedCommands, StoreError>) -> Void) {
        self.shards(shards) { $0.promoteDue($1, limit: limit, each: each) }
    }

    func passedDeadlines(_ shards: [Int], limit: Int, each: (Int, Result<Set<ReadyKey>, StoreError>) -> Void) {
        self.shards(shards) { $0.passedDeadlines($1, limit: limit, each: each) }
    }

    func expire(_ shards: [Int: [ReadyKey: String]], limit: Int, each: (Int, Result<Expiry, StoreError>) -> Void) {
        self.shards(Array(shards)) { store, shards in
            store.expire(Dictionary(uniqueKeysWithValues: shards.map { ($0.key, $0.value) }), limit: limit, each: each)
        }
    }

    func shardsWithMessages(_ shards: [Int]) -> [Int] {
        var found: [Int] = []
        self.shards(shards) { found += $0.shardsWithMessages($1) }
        return found
    }

    func settle(_ shards: [Int], limit: Int, each: (Int, Result<Effects, StoreError>) -> Void) {
        self.shards(shards) { $0.settle($1, limit: limit, each: each) }
    }

    func fireSchedules(
        _ shards: [Int], _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?,
        each: (Int, Result<ScheduleRound, StoreError>) -> Void
    ) {
        self.shards(shards) { $0.fireSchedules($1, scope, limit: limit, decide, each: each) }
    }
}
