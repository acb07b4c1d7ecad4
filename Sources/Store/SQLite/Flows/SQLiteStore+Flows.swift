package import Commands

extension SQLiteStore {
    package func submit(_ plan: FlowPlan, allowUnknownTypes: Bool) throws(StoreError) -> FlowSubmission {
        let now = clock.now()
        let draft = plan.draft
        if let problem = draft.problem ?? plan.problem ?? plan.timeProblem(now: now) { throw problem }
        try LimitCheck(plan.drafts, in: self).check(plan)
        var random = BufferedRandom()
        let ids = router.newIDs(
            1 + plan.nodes.count + plan.flow.callbacks.count, draft.shardByte, among: usable, now: now, using: &random)
        let shard = shards[ids[0].shard(of: shardCount)]
        try shard.checkWALLimit(timeout: WriteTimeout.foreground)
        return try shard.write { connection throws(StoreError) in
            try connection.insert(
                plan, draft, digest: draft.digest, ids: ids, allowUnknownTypes: allowUnknownTypes, now: now)
        }.get()
    }

    package func relationProblems(shard: Int) throws(StoreError) -> [String] {
        try self.shard(shard).withOwnConnection { connection throws(StoreError) in
            guard connection.version >= 3 else { return [] }
            // One read transaction: the numbers are of one moment.
            try connection.execute("BEGIN")
            defer { connection.rollback() }
            return try connection.relationProblems()
        }
    }

    /// Whether each shard can be used, as far as known.
    var usable: [Bool] { shards.map { $0.problem == nil } }

    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        let shard = try self.shard(shard)
        let isLeft = try shard.use { connection throws(StoreError) in
            guard connection.version >= 3 else { return false }
            return try connection.cascade() != nil
        }
        guard isLeft else { return Effects() }
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            try connection.settlePostponed(now: clock.now(), limit: limit)
        }
    }
}
