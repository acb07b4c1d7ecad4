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

    /// The findings of a round in a shard.
    private enum Step: Sendable {
        case promoted([ReadyCommand])
        case settled(Effects)
        case carried(MessageRound)
        case passed(Set<ReadyKey>)
        case failed(StoreError)
    }

    /// One round over all shards that are not locked. Does nothing while the last one runs.
    /// - Parameter isClockHeld: no deadline has passed, see ``ClockHold``.
    func run(isClockHeld: Bool) {
        let locked = dispatch.dispatcher.locked
        let shards = (0..<store.shardCount).filter { !locked.contains($0) }
        guard !isRunning, !shards.isEmpty else { return }
        isRunning = true
        store.write { store, step in
            Self.round(of: shards, except: locked, isClockHeld: isClockHeld, in: store) { step(($0, $1)) }
        } each: { [self] (found: (Int, Step)) in
            take(found.1, of: found.0)
        } then: { [self] in
            isRunning = false
        }
    }

    /// - Parameter found: gets what is not empty. A shard that has failed is left out of the rest.
    private static func round(
        of shards: [Int], except locked: Set<Int>, isClockHeld: Bool, in store: any CommandStore,
        _ found: (Int, Step) -> Void
    ) {
        var usable = shards
        func take<Value>(
            _ shard: Int, _ result: Result<Value, StoreError>, isEmpty: (Value) -> Bool, _ step: (Value) -> Step
        ) {
            switch result {
            case .success(let value): if !isEmpty(value) { found(shard, step(value)) }
            case .failure(let error):
                usable.removeAll { $0 == shard }
                found(shard, .failed(error))
            }
        }
        store.promoteDue(usable, limit: batch) {
            take($0, $1.map(\.ready), isEmpty: \.isEmpty) { .promoted($0) }
        }
        store.settle(usable, limit: batch) {
            take($0, $1, isEmpty: { effects in effects.isEmpty && !effects.hasMore }, { .settled($0) })
        }
        for shard in store.shardsWithMessages(usable) {
            let round = Result { () throws(StoreError) in try store.carryMessages(from: shard, except: locked) }
            take(shard, round, isEmpty: { _ in false }, { .carried($0) })
        }
        guard !isClockHeld else { return }
        store.passedDeadlines(usable, limit: batch) { take($0, $1, isEmpty: \.isEmpty) { .passed($0) } }
    }

    private func take(_ step: Step, of shard: Int) {
        switch step {
        case .promoted(let commands): dispatch.insert(commands, now: .now)
        case .settled(let made): take(made, of: shard)
        case .carried(let round): take(round, from: shard)
        case .passed(let queues): expire(shard, queues)
        case .failed(let error): store.report(error, "Due times cannot be settled")
        }
    }

    private func take(_ made: Effects, of shard: Int) {
        effects.receive(made)
        if made.hasMore { settle(shard) }
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
            take(made, of: shard)
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
            take(made, of: shard)
        }
    }
}
