package import Commands

extension PostgreSQLStore {
    /// The batch and its parts in all shards are one commit.
    package func open(_ batch: BatchDraft, allowUnknownTypes: Bool) throws(StoreError) -> CommandID {
        let now = clock.now()
        let drafts = batch.callbacks.map(\.draft)
        let limits = LimitCheck(drafts, in: self)
        if let problem = batch.problem ?? drafts.lazy.compactMap({ limits.problem(of: $0) ?? $0.textProblem }).first {
            throw problem
        }
        if !allowUnknownTypes { for draft in drafts { try requireKnown(draft.type) } }
        var random = BufferedRandom()
        let ids = router.newIDs(1 + drafts.count, now: now, using: &random)
        while true {
            do throws(StoreError) {
                _ = try change(0..<shardCount) { change throws(StoreError) in
                    for number in 0..<shardCount {
                        let shard = try change.shard(number)
                        try shard.save(BatchPart(batch: ids[0]))
                        guard number == ids[0].shard(of: shardCount) else { continue }
                        try shard.insert(
                            BatchLayout(batch, ids: ids, turn: shard.turn + 1, shardCount: shardCount, now: now))
                    }
                }
                return ids[0]
            } catch {
                guard error.code == .unknown else { throw error }
                if try exist([ids[0]]) { return ids[0] }
            }
        }
    }

    package func seal(_ batch: CommandID) throws(StoreError) {
        guard let command = try command(batch), command.type == CommandType.batch else {
            throw StoreError.noBatch(batch)
        }
        try untilKnown { _ throws(StoreError) in
            _ = try change(0..<shardCount) { change throws(StoreError) in
                for number in 0..<shardCount {
                    var rows = try change.shard(number)
                    try BatchPart.seal(batch, shard: number, &rows)
                }
            }
        }
    }

    package func batch(_ id: CommandID) throws(StoreError) -> BatchState? {
        let count = shardCount
        return try snapshot(shard: id.shard(of: count)) { shard throws(StoreError) -> BatchState? in
            var rows = shard
            guard let row = try shard.command(id), var reading = try BatchReading(row, shardCount: count, &rows) else {
                return nil
            }
            let open = (0..<count).filter { reading.isOpen(shard: $0) }
            let parts = try shard.transaction.pipeline {
                for number in open { $0.append(PostgreSQLShard.partOfBatch, number, id) }
            } read: { (results, first) throws(StoreError) -> [BatchPart?] in
                var parts: [BatchPart?] = []
                for index in open.indices {
                    parts.append(
                        try results.take(first + index).first { row throws(StoreError) in try BatchPart(row) })
                }
                return parts
            }
            for part in parts { reading.add(part) }
            return reading.state
        }
    }

    // MARK: Messages

    package func outbox(shard: Int, after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        try check(shard)
        return try read { transaction throws(StoreError) in
            try transaction.read(PostgreSQLShard.outbox, shard, number, limit).rows { row throws(StoreError) in
                try ShardMessage(row)
            }
        }
    }

    package func receive(_ messages: [ShardMessage], shard: Int) throws(StoreError) -> Effects {
        let now = clock.now()
        let (own, others) = try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            try shard.load(messages.map(\.receiver))
            var settlements = Settlements(shard, shard: shard.number, now: now)
            try settlements.receive(messages)
            return settlements.effects
        }
        return own.followed(by: others)
    }

    package func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError) {
        _ = try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            for message in messages {
                try shard.removeMessage(message.number)
                // Its members may have been retried since.
                if case .partEnded = message.content, let part = try shard.part(of: message.receiver),
                    part.state == .ended
                {
                    try shard.remove(part)
                }
            }
        }
    }

    private static let shardsWithMessages = PostgreSQLStatement(
        "shards-with-messages",
        """
        SELECT w.shard FROM unnest($1::int8[]::int2[]) w(shard)
        JOIN LATERAL (SELECT 1 FROM outbox o WHERE o.shard = w.shard LIMIT 1) o ON true
        """)

    package func shardsWithMessages(_ shards: [Int]) -> [Int] {
        let found = try? read { transaction throws(StoreError) in
            try transaction.read(Self.shardsWithMessages, shards).rows { row in row[0] as Int }
        }
        return found ?? shards
    }
}
