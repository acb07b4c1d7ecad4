internal import Commands
internal import Host
internal import Store

/// Makes commands ready whose `notBefore` has come, cancels those whose deadline has passed, writes the effects that earlier
/// transactions have left, and carries messages between the shards. Confined to the loop.
final class DueTimes {
    private let store: StoreAccess
    private let dispatch: DispatchRunner
    private let effects: EffectsReceiver
    private var isRunning = false

    /// Commands of a shard in one transaction.
    private static let batch = 1000

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner, effects: EffectsReceiver) {
        store = environment.store
        self.dispatch = dispatch
        self.effects = effects
    }

    /// One round over all shards that are not locked. Does nothing while the last one runs.
    /// - Parameter isClockHeld: no deadline has passed, see ``ClockHold``.
    func run(isClockHeld: Bool) {
        let shards = (0..<store.shardCount).filter { !dispatch.dispatcher.locked.contains($0) }
        guard !isRunning, let last = shards.last else { return }
        isRunning = true
        let locked = dispatch.dispatcher.locked
        for shard in shards {
            store.write("Due times cannot be settled") { ready, effects, round, _ in
                !ready.isEmpty || !effects.isEmpty || !round.effects.isEmpty
            } _: { store throws(StoreError) in
                let due = try store.promoteDue(shard: shard, limit: Self.batch)
                let settled = try store.settle(shard: shard, limit: Self.batch)
                return (
                    due.ready, settled, try store.carryMessages(from: shard, except: locked),
                    isClockHeld ? [] : try store.passedDeadlines(shard: shard, limit: Self.batch)
                )
            } then: { [self] due, made, round, passed in
                if shard == last { isRunning = false }
                dispatch.insert(due, now: .now)
                effects.receive(made)
                if made.hasMore { settle(shard) }
                take(round, from: shard)
                if !passed.isEmpty { expire(shard, passed) }
            } otherwise: { [self] _ in
                if shard == last { isRunning = false }
            }
        }
    }

    /// Cancels the commands whose deadline has passed, with what held them back.
    private func expire(_ shard: Int, _ queues: Set<ReadyKey>) {
        var causes: [ReadyKey: String] = [:]
        for key in queues { causes[key] = dispatch.dispatcher.cause(ofWait: key, now: .now) }
        store.write("Deadlines cannot be settled") { effects in
            !effects.isEmpty
        } _: { [causes] store throws(StoreError) in
            try store.expire(shard: shard, limit: Self.batch, causes: causes).effects
        } then: { [self] made in
            effects.receive(made)
            if made.hasMore { settle(shard) }
        }
    }

    /// Carries on page by page, so that other writes come in between.
    private func carryMessages(from shard: Int) {
        let locked = dispatch.dispatcher.locked
        store.write("Messages between shards cannot be carried over") { round in
            !round.effects.isEmpty
        } _: { store throws(StoreError) in
            try store.carryMessages(from: shard, except: locked)
        } then: { [self] round in
            take(round, from: shard)
        }
    }

    private func take(_ round: MessageRound, from shard: Int) {
        effects.receive(round.effects)
        if let problem = round.problem { store.report(problem, "Messages between shards cannot be carried over") }
        if round.hasMore { carryMessages(from: shard) }
    }

    /// Writes what is left step by step, so that other writes of the shard come in between.
    private func settle(_ shard: Int) {
        store.write("Effects on dependent commands cannot be written") { effects in
            !effects.isEmpty
        } _: { store throws(StoreError) in
            try store.settle(shard: shard, limit: Self.batch)
        } then: { [self] made in
            effects.receive(made)
            if made.hasMore { settle(shard) }
        }
    }
}
