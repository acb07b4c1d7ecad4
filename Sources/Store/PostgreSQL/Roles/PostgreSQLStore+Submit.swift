package import Commands
internal import Synchronization

extension PostgreSQLStore {
    private static var notProcessed: StoreError { StoreError(.failed, "A draft was not processed.") }

    /// Drafts that share a commit.
    private static let maxDrafts = 512

    package func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) -> [Result<Submission, StoreError>] {
        let now = clock.now()
        var random = BufferedRandom()
        let limits = LimitCheck(drafts, in: self)
        var results = [Result<Submission, StoreError>?](repeating: nil, count: drafts.count)
        for start in stride(from: 0, to: drafts.count, by: Self.maxDrafts) {
            // Drafts without a key go to one shard, so that they wait for one lock.
            let byte = UInt8.random(in: 0...255, using: &random)
            var waiting: [PendingDraft] = []
            for index in start..<min(start + Self.maxDrafts, drafts.count) {
                let draft = drafts[index]
                do throws(StoreError) {
                    if let problem = draft.problem ?? draft.timeProblem(now: now) ?? draft.dependencyProblem
                        ?? limits.problem(of: draft) ?? draft.textProblem
                    {
                        throw problem
                    }
                    if !allowUnknownTypes { try requireKnown(draft.type) }
                    let id = router.newID(draft.shardByte ?? byte, now: now, using: &random)
                    let remote = try draft.remoteDependencies(shardCount: shardCount) { id throws(StoreError) in
                        try snapshot(shard: id.shard(of: shardCount)) { shard throws(StoreError) in
                            var rows = shard
                            return try RemoteParent(id, &rows)
                        }
                    }
                    waiting.append(
                        PendingDraft(index: index, draft: draft, id: id, digest: draft.digest, remote: remote))
                } catch {
                    results[index] = .failure(error)
                }
            }
            if waiting.isEmpty { continue }
            let outcome = Result { () throws(StoreError) in try insert(waiting, now: now) }
            for (position, pending) in waiting.enumerated() {
                results[pending.index] = outcome.flatMap { $0[position] }
            }
        }
        return results.map { $0 ?? .failure(Self.notProcessed) }
    }

    /// Inserts drafts in one transaction. After a commit without an answer, their ids show whether it was made.
    private func insert(
        _ drafts: [PendingDraft], now: Timestamp
    ) throws(StoreError) -> [Result<Submission, StoreError>] {
        let shards = drafts.map { $0.id.shard(of: shardCount) }
        var results: [Result<Submission, StoreError>] = []
        while true {
            do throws(StoreError) {
                let (made, effects) = try change(Set(shards)) { change throws(StoreError) in
                    results = Array(repeating: .failure(Self.notProcessed), count: drafts.count)
                    let byShard = Dictionary(grouping: drafts.indices, by: { shards[$0] })
                    var closure = SubmitClosure()
                    for (shard, positions) in byShard {
                        closure.add(positions.lazy.map { drafts[$0].draft }, to: try change.shard(shard))
                    }
                    try closure.load(change.transaction, shardCount: shardCount)
                    for (shard, positions) in byShard {
                        let own = try change.shard(shard).insert(positions.map { drafts[$0] }, now: now)
                        for (position, result) in zip(positions, own) { results[position] = result }
                    }
                    return results
                }
                return made.telling(effects)
            } catch {
                guard error.code == .unknown else { throw error }
                if try exist(results.newIDs) { return results }
            }
        }
    }

    private static let existing = PostgreSQLStatement(
        "existing", "SELECT id FROM command WHERE id = ANY($1::uuid[]) LIMIT 1")

    /// Whether a commit without an answer was made.
    ///
    /// It held the locks of its shards when its `COMMIT` was sent, and the server may still have to read that. Behind these locks
    /// it is over.
    /// - Parameter ids: that it inserts: all or none of them are there. Without any, it has changed nothing.
    /// - Throws: `unknown` where that cannot be found out.
    func exist(_ ids: [CommandID]) throws(StoreError) -> Bool {
        if ids.isEmpty { return true }
        do throws(StoreError) {
            return try untilKnown { _ throws(StoreError) in
                try change(Set(ids.map { $0.shard(of: shardCount) })) { change throws(StoreError) in
                    try change.transaction.read(Self.existing, ids).count > 0
                }.0
            }
        } catch {
            throw .unknownOutcome(pool.name, error.message.withoutStop)
        }
    }

    package func submit(_ plan: FlowPlan, allowUnknownTypes: Bool) throws(StoreError) -> FlowSubmission {
        let now = clock.now()
        let draft = plan.draft
        if let problem = draft.problem ?? plan.problem ?? plan.timeProblem(now: now) ?? draft.textProblem {
            throw problem
        }
        try LimitCheck(plan.drafts, in: self).check(plan)
        for draft in plan.drafts {
            if let problem = draft.textProblem { throw problem }
            if !allowUnknownTypes { try requireKnown(draft.type) }
        }
        var random = BufferedRandom()
        let ids = router.newIDs(
            1 + plan.nodes.count + plan.flow.callbacks.count, draft.shardByte, now: now, using: &random)
        let digest = draft.digest
        var submission: FlowSubmission?
        while true {
            do throws(StoreError) {
                let (result, _) = try change(shard: ids[0].shard(of: shardCount)) { shard throws(StoreError) in
                    let result = try shard.insert(plan, digest: digest, ids: ids, now: now)
                    submission = try? result.get()
                    return result
                }
                return try result.get()
            } catch {
                guard error.code == .unknown, let made = submission else { throw error }
                if made.submission.isExisting { return made }
                if try exist([ids[0]]) { return made }
            }
        }
    }

    // MARK: Types

    private static let types = PostgreSQLStatement("types", "SELECT name FROM type")
    private static let addTypes = PostgreSQLStatement(
        "add-types", "INSERT INTO type(name) SELECT * FROM unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING")

    package func types() throws(StoreError) -> Set<String> {
        let names = try read { transaction throws(StoreError) in
            try transaction.read(Self.types).rows { row in row[0] as String }
        }
        knownTypes.withLock { $0 = Set(names) }
        return Set(names)
    }

    package func record(types: Set<String>) throws(StoreError) {
        if let wrong = types.first(where: { !CommandDraft.isType($0) }) { throw StoreError.notAType(wrong) }
        if knownTypes.withLock({ types.isSubset(of: $0) }) { return }
        try untilKnown { _ throws(StoreError) in
            _ = try change([Int]()) { change throws(StoreError) in
                try change.transaction.write(Self.addTypes, types.sorted())
            }
        }
        _ = try self.types()
    }

    /// - Throws: `invalid` for a type that no worker has ever been able to run.
    func requireKnown(_ type: String) throws(StoreError) {
        if knownTypes.withLock({ $0.contains(type) }) { return }
        let known = try types()
        guard known.contains(type) else { throw .unknownType(type, known: known) }
    }
}

extension [Result<Submission, StoreError>] {
    /// The commands that the drafts have made.
    fileprivate var newIDs: [CommandID] {
        compactMap { result in
            guard let submission = try? result.get(), !submission.isExisting else { return nil }
            return submission.id
        }
    }
}

extension CommandDraft {
    /// PostgreSQL keeps no NUL in a text.
    var textProblem: StoreError? {
        let texts = [uniqueKey, orderingKey, destination.text].compactMap { $0 }
        guard texts.contains(where: { $0.utf8.contains(0) }) else { return nil }
        return StoreError(.invalid, "A key or destination has a NUL character; leave it out.")
    }
}
