package import Commands

extension SQLiteStore {
    package func submit(
        _ plan: FlowPlan, allowUnknownTypes: Bool, now: Timestamp
    ) throws(StoreError) -> FlowSubmission {
        let draft = plan.draft
        if let problem = draft.problem ?? plan.problem ?? plan.timeProblem(now: now) { throw problem }
        try LimitCheck(plan.drafts, in: self).check(plan)
        var random = BufferedRandom()
        let byte = draft.shardByte ?? usableByte(using: &random)
        // In the order of the turns, so that the indices of ids are written and changed page after page.
        let ids = (0...plan.nodes.count + plan.flow.callbacks.count).map { _ in
            CommandID(now: now, shardByte: byte, using: &random)
        }.sorted()
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

    /// A random last byte of ids, of a shard that can be used.
    func usableByte(using random: inout BufferedRandom) -> UInt8 {
        let usable = shards.indices.filter { shards[$0].problem == nil }
        guard let shard = usable.randomElement(using: &random) else { return 0 }
        let group = random.next() & 0xFF
        return UInt8(truncatingIfNeeded: group & ~UInt64(shardCount - 1) | UInt64(shard))
    }

    package func settle(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> Effects {
        let shard = try self.shard(shard)
        let isLeft = try shard.use { connection throws(StoreError) in
            guard connection.version >= 3 else { return false }
            return try connection.cascade() != nil
        }
        guard isLeft else { return Effects() }
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            try connection.settlePostponed(now: now, limit: limit)
        }
    }
}
