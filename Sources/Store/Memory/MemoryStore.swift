package import Commands
internal import Synchronization

/// A store in memory, which ends with its process: for tests, and for programs that need no durability.
package final class MemoryStore: CommandStore {
    struct State {
        var shards: [MemoryShard]
        var types: Set<String>
        var settings: [String: String] = [:]
    }

    package let shardCount: Int
    package let clock: any StoreClock
    private let state: Mutex<State>

    /// - Parameters:
    ///   - shardCount: a power of two from 1 to 256; for any other number the store has 8 shards.
    ///   - types: known types, which are accepted before any worker has registered.
    package init(
        shardCount: Int = 8, types: Set<String> = CommandType.builtIn, clock: any StoreClock = MachineClock()
    ) {
        self.clock = clock
        let isPower = (1...256).contains(shardCount) && shardCount & (shardCount - 1) == 0
        self.shardCount = isPower ? shardCount : 8
        state = Mutex(State(shards: (0..<self.shardCount).map { MemoryShard(number: $0) }, types: types))
    }

    /// Runs `body` with the shard of that number.
    func withShard<Value: Sendable>(
        _ shard: Int, _ body: (inout MemoryShard) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in
            guard state.shards.indices.contains(shard) else {
                throw StoreError(.invalid, "There is no shard \(shard); the store has \(shardCount).")
            }
            return try body(&state.shards[shard])
        }
    }

    func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    // MARK: Producers

    package func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) -> [Result<Submission, StoreError>] {
        let now = clock.now()
        var random = BufferedRandom()
        let digests = drafts.map(\.digest)
        let limits = LimitCheck(drafts, in: self)
        return withState { state in
            zip(drafts, digests).map { draft, digest in
                if let problem = draft.problem ?? draft.timeProblem(now: now) ?? draft.dependencyProblem
                    ?? limits.problem(of: draft)
                {
                    return .failure(problem)
                }
                guard allowUnknownTypes || state.types.contains(draft.type) else {
                    return .failure(.unknownType(draft.type, known: state.types))
                }
                let id = router.newID(draft.shardByte, now: now, using: &random)
                do throws(StoreError) {
                    let remote = try draft.remoteDependencies(shardCount: shardCount) { id throws(StoreError) in
                        try RemoteParent(id, &state.shards[id.shard(of: shardCount)])
                    }
                    let shard = id.shard(of: shardCount)
                    let result = state.shards[shard].insert(draft, digest: digest, id: id, remote: remote, now: now)
                    return [result].telling(state.shards[shard].takeEffects())[0]
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    package func submit(_ plan: FlowPlan, allowUnknownTypes: Bool) throws(StoreError) -> FlowSubmission {
        let now = clock.now()
        let draft = plan.draft
        if let problem = draft.problem ?? plan.problem ?? plan.timeProblem(now: now) { throw problem }
        try LimitCheck(plan.drafts, in: self).check(plan)
        var random = BufferedRandom()
        let ids = router.newIDs(
            1 + plan.nodes.count + plan.flow.callbacks.count, draft.shardByte, now: now, using: &random)
        let types = types()
        if !allowUnknownTypes, let unknown = plan.drafts.first(where: { !types.contains($0.type) }) {
            throw .unknownType(unknown.type, known: types)
        }
        return try withShard(ids[0].shard(of: shardCount)) { shard throws(StoreError) in
            try shard.submit(plan, ids: ids, now: now)
        }
    }

    package func relationProblems(shard: Int) throws(StoreError) -> [String] {
        try withShard(shard) { shard throws(StoreError) in
            var check = RelationCheck(shard)
            try check.run()
            return check.problems
        }
    }

    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        try withShard(shard) { shard in
            guard !shard.cascades.isEmpty else { return Effects() }
            shard.settlePostponed(now: clock.now(), limit: limit)
            return shard.takeEffects()
        }
    }

    package func types() -> Set<String> { withState { $0.types } }

    package func record(types: Set<String>) throws(StoreError) {
        if let wrong = types.first(where: { !CommandDraft.isType($0) }) {
            throw StoreError.notAType(wrong)
        }
        withState { $0.types.formUnion(types) }
    }
}
