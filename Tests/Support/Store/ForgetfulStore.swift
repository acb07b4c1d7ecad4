package import Commands
package import Store
internal import Synchronization

/// A store on a server that loses answers: it makes a commit, and then says that the outcome is unknown. Its transitions have
/// ``NumberHoles``.
///
/// Which commits, a seed says, so that a run can be repeated. Submits are not forgotten: a store on a server asks for the ids that
/// it gave.
package final class ForgetfulStore: ForwardingStore {
    /// The calls whose outcome is forgotten.
    package enum Scope: Sendable {
        /// Those whose callers repeat them, and then have all that the first call would have returned: commits of executions
        /// that name each command once and have no effects on others, commits of uploads, and calls that return nothing.
        case repeated
        /// All but submits. Their results are lost, which costs a hint.
        case all
    }

    private struct State {
        var random: SeededRandom
        var rate: Double
        var forgotten = 0
    }

    package let target: any CommandStore & StoreHealth
    let holes: NumberHoles
    private let scope: Scope
    private let state: Mutex<State>

    /// - Parameter rate: the share of the commits whose outcome is forgotten.
    package init(_ target: any CommandStore & StoreHealth, seed: UInt64, rate: Double = 0.2, scope: Scope = .repeated) {
        self.target = target
        self.scope = scope
        holes = NumberHoles(seed: seed)
        state = Mutex(State(random: SeededRandom(seed: seed), rate: rate))
    }

    /// The commits whose outcome was forgotten so far.
    package var forgotten: Int { state.withLock { $0.forgotten } }

    /// From now on no outcome is forgotten.
    package func remember() { state.withLock { $0.rate = 0 } }

    /// - Throws: `unknown` for the commit that has just been made.
    private func mayForget(_ call: Scope = .repeated) throws(StoreError) {
        guard call == .repeated || scope == .all else { return }
        let forgets = state.withLock { state in
            guard state.random.chance(state.rate) else { return false }
            state.forgotten += 1
            return true
        }
        if forgets { throw .unknownOutcome("of the test", "its answer was dropped") }
    }

    /// Makes a commit, and may forget its outcome.
    private func forgetting<Value>(
        _ call: Scope = .repeated, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let value = try body()
        try mayForget(call)
        return value
    }

    // MARK: Executions

    package func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        var ids: [CommandID] = []
        let outcome = try target.apply(
            {
                let writes = writes()
                ids = writes.map(\.id)
                return writes
            }, group: group, seat: seat, epoch: epoch, attempt)
        let isWhole = outcome.effects.isEmpty && Set(ids).count == ids.count
        try mayForget(isWhole ? .repeated : .all)
        return holes.renumbered(outcome)
    }

    package func open(_ session: Session, shard: Int) throws(StoreError) {
        try forgetting { () throws(StoreError) in try target.open(session, shard: shard) }
    }

    package func close(seat: Int, epoch: Int64) throws(StoreError) {
        try forgetting { () throws(StoreError) in try target.close(seat: seat, epoch: epoch) }
    }

    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        holes.renumbered(
            try forgetting(.all) { () throws(StoreError) in try target.settle(shard: shard, limit: limit) })
    }

    package func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, released: (Effects) -> Void
    ) throws(StoreError) {
        try forgetting(.all) { () throws(StoreError) in
            try target.reap(seat: seat, epoch: epoch, verdict) { released(holes.renumbered($0)) }
        }
    }

    // MARK: Uploads

    package func apply(
        _ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        try forgetting { () throws(StoreError) in
            try target.apply(writes, group: group, isRepetition: isRepetition)
        }
    }

    // MARK: The queue

    package func promoteDue(shard: Int, limit: Int) throws(StoreError) -> PromotedCommands {
        try forgetting(.all) { () throws(StoreError) in try target.promoteDue(shard: shard, limit: limit) }
    }

    package func takeReadyAgain(shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand] {
        try forgetting(.all) { () throws(StoreError) in try target.takeReadyAgain(shard: shard, limit: limit) }
    }

    package func expire(shard: Int, limit: Int, causes: [ReadyKey: String]) throws(StoreError) -> Expiry {
        var expiry = try forgetting(.all) { () throws(StoreError) in
            try target.expire(shard: shard, limit: limit, causes: causes)
        }
        expiry.effects = holes.renumbered(expiry.effects)
        return expiry
    }

    package func receive(_ messages: [ShardMessage], shard: Int) throws(StoreError) -> Effects {
        holes.renumbered(
            try forgetting(.all) { () throws(StoreError) in try target.receive(messages, shard: shard) })
    }

    package func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError) {
        try forgetting { () throws(StoreError) in try target.remove(messages, shard: shard) }
    }

    package func record(types: Set<String>) throws(StoreError) {
        try forgetting { () throws(StoreError) in try target.record(types: types) }
    }

    package func seal(_ batch: CommandID) throws(StoreError) {
        try forgetting { () throws(StoreError) in try target.seal(batch) }
    }

    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try forgetting { () throws(StoreError) in try target.set(settings, timeout: timeout) }
    }

    package func fireSchedules(
        shard: Int, _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound {
        var round = try forgetting(.all) { () throws(StoreError) in
            try target.fireSchedules(shard: shard, scope, limit: limit, decide)
        }
        round.effects = holes.renumbered(round.effects)
        return round
    }

    // MARK: Requests

    package func cancel(_ id: CommandID, ifNewest newest: Int64?, reason: String) throws(StoreError) -> CancelOutcome {
        holes.renumbered(
            try forgetting(.all) { () throws(StoreError) in
                try target.cancel(id, ifNewest: holes.condition(newest), reason: reason)
            })
    }

    package func cancel(_ ids: [CommandID], shard: Int, reason: String) throws(StoreError) -> Effects {
        holes.renumbered(
            try forgetting(.all) { () throws(StoreError) in
                try target.cancel(ids, shard: shard, reason: reason)
            })
    }

    package func retry(_ id: CommandID, ifNewest newest: Int64?, by actor: String) throws(StoreError) -> Effects? {
        try forgetting(.all) { () throws(StoreError) in
            try target.retry(id, ifNewest: holes.condition(newest), by: actor)
        }.map { holes.renumbered($0) }
    }

    package func resolve(
        _ id: CommandID, ifNewest newest: Int64?, as status: CommandStatus, by actor: String
    ) throws(StoreError) -> Effects? {
        try forgetting(.all) { () throws(StoreError) in
            try target.resolve(id, ifNewest: holes.condition(newest), as: status, by: actor)
        }.map { holes.renumbered($0) }
    }

    package func requalify(
        _ id: CommandID, ifNewest newest: Int64?, qos: QualityOfService
    ) throws(StoreError) -> Bool {
        try forgetting(.all) { () throws(StoreError) in
            try target.requalify(id, ifNewest: holes.condition(newest), qos: qos)
        }
    }

    // MARK: Transitions

    package func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> EventPage {
        let real = holes.real(upTo: seq)
        return holes.renumbered(try target.events(shard: shard, after: real, limit: limit), after: real)
    }

    package func lastTransition(shard: Int) throws(StoreError) -> Int64 {
        holes.number(of: try target.lastTransition(shard: shard))
    }

    package func timeline(_ id: CommandID, before seq: Int64?, limit: Int) throws(StoreError) -> [Transition] {
        try target.timeline(id, before: holes.condition(seq), limit: limit).map { holes.renumbered($0) }
    }
}

extension NumberHoles {
    fileprivate func renumbered(_ transition: Transition) -> Transition {
        var transition = transition
        transition.seq = number(of: transition.seq)
        return transition
    }

    fileprivate func renumbered(_ effects: Effects) -> Effects {
        var effects = effects
        for index in effects.events.indices {
            effects.events[index].transition = renumbered(effects.events[index].transition)
        }
        return effects
    }

    fileprivate func renumbered(_ outcome: CommitOutcome) -> CommitOutcome {
        let outcomes = outcome.map { outcome -> ExecutionOutcome in
            switch outcome {
            case .claimed(let command, let payload, let checkpoint, let transitions):
                .claimed(command, payload: payload, checkpoint: checkpoint, transitions.map(renumbered))
            case .done(let transitions, let retries): .done(transitions.map(renumbered), retries: retries)
            case .refused, .replaced: outcome
            }
        }
        return CommitOutcome(outcomes, renumbered(outcome.effects))
    }

    fileprivate func renumbered(_ outcome: CancelOutcome) -> CancelOutcome {
        switch outcome {
        case .cancelled(let effects): .cancelled(renumbered(effects))
        case .requested(let effects): .requested(renumbered(effects))
        case .ended, .outdated: outcome
        }
    }

    /// The number, in the store without holes, of the transition that a caller names. A number that was never given names none.
    fileprivate func condition(_ number: Int64?) -> Int64? {
        guard let number else { return nil }
        let real = real(upTo: number)
        return self.number(of: real) == number ? real : .max
    }
}
