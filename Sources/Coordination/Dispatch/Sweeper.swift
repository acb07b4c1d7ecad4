internal import Commands
internal import Host
internal import Store

/// The backstop behind every hint: finds ready commands, cancellation requests and lost reports in the store. Confined to the
/// loop.
final class Sweeper {
    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    private let control: ControlPublisher
    private var plan: SweepPlan
    private var running = RunningSweeps()

    private var store: StoreAccess { environment.store }

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner, control: ControlPublisher) {
        self.environment = environment
        self.dispatch = dispatch
        self.control = control
        plan = SweepPlan(shardCount: environment.store.shardCount)
    }

    /// Commands that became ready again, of a shard in one sweep.
    private static let maxReadyAgain = 1000

    /// Looks for ready commands that no hint told of.
    /// - Parameters:
    ///   - shards: nil for all.
    ///   - readsClaims: also compares what workers hold with what is claimed, and takes in the cancellation requests.
    func sweep(_ shards: Set<Int>? = nil, readsClaims: Bool = false) {
        let now = MonotonicTime.now
        sweep(
            (shards ?? Set(0..<store.shardCount)).sorted().map { shard in
                let hasUnrunnable = dispatch.dispatcher.backlog.hasUnrunnable(in: shard)
                let way = running.start(shard) ? plan.way(of: shard, hasUnrunnable: hasUnrunnable, now: now) : nil
                return ShardSweep(shard: shard, way: way, readsClaims: readsClaims)
            })
    }

    /// A worker joined, which may run commands that were passed over: all that is ready is read again. Its commands in flight
    /// count before it is offered others.
    func sweepEverythingAgain() {
        plan.forget(Set(0..<store.shardCount))
        sweep((0..<store.shardCount).map { ShardSweep(shard: $0, way: nil, readsClaims: true) })
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

    private func sweep(_ wanted: [ShardSweep]) {
        let sweeps = wanted.compactMap { sweep in
            var sweep = sweep
            // One reading of the claims at a time.
            sweep.readsClaims = sweep.readsClaims && dispatch.dispatcher.willReconcile(shard: sweep.shard)
            return sweep.way == nil && !sweep.readsClaims ? nil : sweep
        }
        guard !sweeps.isEmpty else { return }
        store.read { store, step in
            store.sweep(sweeps) { step(($0, $1)) }
        } each: { [self] (step: (ShardSweep, Result<SweptShard, StoreError>)) in
            take(step.1, of: step.0)
        }
    }

    private func take(_ result: Result<SweptShard, StoreError>, of sweep: ShardSweep) {
        let (shard, now) = (sweep.shard, MonotonicTime.now)
        if sweep.way != nil, running.finish(shard) { environment.callbacks.later { [self] in self.sweep([shard]) } }
        switch result {
        case .failure(let error):
            if sweep.readsClaims { dispatch.dispatcher.reconcileFailed(shard: shard) }
            store.report(error, "Ready commands cannot be looked for")
        case .success(let swept):
            if let requests = swept.requests { control.replaceCancellations(of: shard, with: requests) }
            if let claimed = swept.claimed {
                dispatch.lookUp(dispatch.dispatcher.reconcile(claimed, shard: shard, now: now))
            }
            if swept.hasReadyAgain { takeReadyAgain(of: shard) }
            dispatch.insert(swept.changed, now: now)
            if let keys = swept.keys {
                plan.readKeys(keys.count, of: shard, newest: swept.through, now: now)
                dispatch.dispatcher.found(keys, shard: shard, now: now)
                if !keys.isEmpty { dispatch.setNeeded() }
            } else if sweep.way != nil {
                plan.readChanges(of: shard, through: swept.through)
            }
        }
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
}
