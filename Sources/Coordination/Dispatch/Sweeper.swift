internal import Commands
internal import Host
internal import Store

/// The backstop behind every hint: finds ready commands and lost reports in the store. Confined to the loop.
final class Sweeper {
    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    private var plan: SweepPlan
    private var running = RunningSweeps()

    private var store: StoreAccess { environment.store }

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner) {
        self.environment = environment
        self.dispatch = dispatch
        plan = SweepPlan(shardCount: environment.store.shardCount)
    }

    /// Commands that became ready again, of a shard in one sweep.
    private static let maxReadyAgain = 1000
    /// The newest transitions that are read beside many pairs of destination and quality. A command that was submitted
    /// while no coordinator ran does not wait for the turn of its pair, which is seconds away beside 20,000 others.
    private static let maxNewest: Int64 = 256

    // MARK: Ready commands

    /// Looks for ready commands that no hint told of.
    /// - Parameter shards: nil for all.
    func sweep(_ shards: Set<Int>? = nil) {
        let now = MonotonicTime.now
        for shard in shards ?? Set(0..<store.shardCount) where running.start(shard) {
            takeReadyAgain(of: shard)
            switch plan.way(of: shard, hasUnrunnable: dispatch.dispatcher.backlog.hasUnrunnable(in: shard), now: now) {
            case .keys: sweepKeys(of: shard)
            case .changes(let after): sweepChanges(of: shard, after: after)
            }
        }
    }

    /// A worker joined, which may run commands that were passed over: all that is ready is read again.
    func sweepEverythingAgain() {
        plan.forget(Set(0..<store.shardCount))
        sweep()
    }

    /// Takes in which shards workers find locked. Commands of a shard that is free again were dropped from
    /// memory: read them again.
    func followLocks(now: MonotonicTime) {
        let free = dispatch.dispatcher.followLocks(now: now)
        guard !free.isEmpty else { return }
        plan.forget(free)
        sweep(free)
    }

    /// Reads the commands that became ready out of their turn: behind a large backlog, their turn would come late. A
    /// command that finds no room in memory is read in its turn.
    private func takeReadyAgain(of shard: Int) {
        store.write("Commands that became ready again cannot be read") { commands in
            !commands.isEmpty
        } _: { store throws(StoreError) in
            try store.takeReadyAgain(shard: shard, limit: Self.maxReadyAgain)
        } then: { [dispatch] commands in
            dispatch.insert(commands, now: .now)
        }
    }

    private func sweepKeys(of shard: Int) {
        store.read("Ready commands cannot be looked for") {
            store throws(StoreError) -> (Int64, Set<ReadyKey>, [ReadyCommand]) in
            let newest = try store.lastTransition(shard: shard)
            let keys = try store.readyKeys(shard: shard)
            guard keys.count > SweepPlan.fewKeys else { return (newest, keys, []) }
            let changes = try Self.changes(store, shard: shard, after: max(newest - Self.maxNewest, 0))
            return (min(newest, changes.complete), keys, changes.ready)
        } then: { [self] newest, keys, commands in
            finish(shard)
            let now = MonotonicTime.now
            dispatch.insert(commands, now: now)
            plan.readKeys(keys.count, of: shard, newest: newest, now: now)
            dispatch.dispatcher.found(keys, shard: shard, now: now)
            if !keys.isEmpty { dispatch.setNeeded() }
        } otherwise: { [self] _ in
            finish(shard)
        }
    }

    private func sweepChanges(of shard: Int, after: Int64) {
        store.read("Ready commands cannot be looked for") { store throws(StoreError) -> (Int64, [ReadyCommand])? in
            let newest = try store.lastTransition(shard: shard)
            guard newest > after else { return (after, []) }
            guard newest - after <= Int64(SweepPlan.maxChanges) else { return nil }
            let changes = try Self.changes(store, shard: shard, after: after)
            return (min(newest, changes.complete), changes.ready)
        } then: { [self] found in
            guard let (newest, commands) = found else { return sweepKeys(of: shard) }
            finish(shard)
            plan.readChanges(of: shard, through: newest)
            dispatch.insert(commands, now: .now)
        } otherwise: { [self] _ in
            finish(shard)
        }
    }

    /// The ready commands among those that changed after a transition, and the number up to which the changes are complete.
    private static func changes(
        _ store: any CommandStore, shard: Int, after: Int64
    ) throws(StoreError) -> (complete: Int64, ready: [ReadyCommand]) {
        let page = try store.events(shard: shard, after: after, limit: SweepPlan.maxChanges)
        let ids = Set(page.events.map(\.transition).filter { $0.status == .new || $0.status == .error }.map(\.id))
        return (page.complete, try store.ready(shard: shard, ids: Array(ids)))
    }

    private func finish(_ shard: Int) {
        if running.finish(shard) { environment.callbacks.later { [self] in sweep([shard]) } }
    }

    // MARK: Claims

    /// Compares what workers hold with what is claimed in the store: the truth behind lost reports.
    func reconcile() {
        for shard in 0..<store.shardCount where dispatch.dispatcher.willReconcile(shard: shard) {
            store.read("Claimed commands cannot be read") { store throws(StoreError) in
                try store.claimed(shard: shard)
            } then: { [dispatch] rows in
                let now = MonotonicTime.now
                dispatch.lookUp(dispatch.dispatcher.reconcile(rows, shard: shard, now: now))
            } otherwise: { [dispatch] _ in
                dispatch.dispatcher.reconcileFailed(shard: shard)
            }
        }
    }
}
