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

/// How each shard is swept for ready commands that no hint told of: by the changes since the last sweep, or
/// by all ready commands, whichever is less. Pure.
///
/// A shard with few pairs of destination and quality is read by these: one index seek for each. With 20,000
/// destinations that would be 40,000 reads in each sweep, although nothing has changed.
struct SweepPlan: Sendable {
    private struct Shard: Sendable {
        /// All transitions up to this number were read; nil before the first sweep.
        var through: Int64?
        var keys = 0
        var keysAt = MonotonicTime.zero
    }

    private var shards: [Shard]

    /// All pairs are read again after this time; the second value holds where commands are passed
    /// over because no worker can run them.
    private static let keysInterval: Duration = .seconds(600)
    private static let unrunnableInterval: Duration = .seconds(60)

    init(shardCount: Int) { shards = Array(repeating: Shard(), count: shardCount) }

    func way(of shard: Int, hasUnrunnable: Bool, now: MonotonicTime) -> ShardSweep.Way {
        let state = shards[shard]
        guard let through = state.through, state.keys > ShardSweep.fewKeys,
            now - state.keysAt < (hasUnrunnable ? Self.unrunnableInterval : Self.keysInterval)
        else { return .keys }
        return .changes(after: through)
    }

    /// Commands of these shards were dropped from memory, or can be run now: all that is ready is read again.
    mutating func forget(_ shards: Set<Int>) { for shard in shards { self.shards[shard].through = nil } }

    /// - Parameter newest: number of the newest transition before the keys were read.
    mutating func readKeys(_ count: Int, of shard: Int, newest: Int64, now: MonotonicTime) {
        shards[shard] = Shard(through: newest, keys: count, keysAt: now)
    }

    mutating func readChanges(of shard: Int, through newest: Int64) {
        shards[shard].through = max(shards[shard].through ?? 0, newest)
    }
}

/// Shards that are being swept. A sweep that is requested meanwhile runs afterwards, because the running one
/// may have read the store before the change. Pure.
struct RunningSweeps: Sendable {
    /// True where the shard is to be swept once more.
    private var shards: [Int: Bool] = [:]

    /// - Returns: false where the shard is being swept.
    mutating func start(_ shard: Int) -> Bool {
        guard shards[shard] == nil else {
            shards[shard] = true
            return false
        }
        shards[shard] = false
        return true
    }

    /// - Returns: whether to sweep the shard again.
    mutating func finish(_ shard: Int) -> Bool { shards.removeValue(forKey: shard) ?? false }
}
