package import Commands

extension MemoryStore {
    package func open(_ batch: BatchDraft, allowUnknownTypes: Bool) throws(StoreError) -> CommandID {
        let now = clock.now()
        let limits = LimitCheck(batch.callbacks.map(\.draft), in: self)
        if let problem = batch.problem ?? batch.callbacks.lazy.compactMap({ limits.problem(of: $0.draft) }).first {
            throw problem
        }
        let types = types()
        if !allowUnknownTypes, let unknown = batch.callbacks.first(where: { !types.contains($0.draft.type) }) {
            throw .unknownType(unknown.draft.type, known: types)
        }
        var random = BufferedRandom()
        let ids = router.newIDs(1 + batch.callbacks.count, now: now, using: &random)
        let count = shardCount
        for shard in 0..<count {
            try withShard(shard) { shard in
                shard.save(BatchPart(batch: ids[0]))
                guard shard.number == ids[0].shard(of: count) else { return }
                shard.insert(BatchLayout(batch, ids: ids, turn: shard.turn + 1, shardCount: count, now: now))
            }
        }
        return ids[0]
    }

    package func seal(_ batch: CommandID) throws(StoreError) {
        guard command(batch)?.type == CommandType.batch else { throw StoreError.noBatch(batch) }
        for shard in 0..<shardCount {
            try withShard(shard) { shard throws(StoreError) in
                try BatchPart.seal(batch, shard: shard.number, &shard)
            }
        }
    }

    package func batch(_ id: CommandID) throws(StoreError) -> BatchState? {
        let count = shardCount
        let read = try withShard(id.shard(of: count)) { shard throws(StoreError) -> BatchReading? in
            guard let row = shard.rows[id] else { return nil }
            return try BatchReading(row, shardCount: count, &shard)
        }
        guard var reading = read else { return nil }
        for shard in 0..<count where reading.isOpen(shard: shard) {
            reading.add(try withShard(shard) { $0.part(of: id) })
        }
        return reading.state
    }

    package func outbox(shard: Int, after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        try withShard(shard) { shard in Array(shard.messages.outbox.filter { $0.number > number }.prefix(limit)) }
    }

    package func receive(_ messages: [ShardMessage], shard: Int) throws(StoreError) -> Effects {
        try withShard(shard) { shard in
            shard.receive(messages, now: clock.now())
            return shard.takeEffects()
        }
    }

    package func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError) {
        try withShard(shard) { $0.remove(messages) }
    }
}
