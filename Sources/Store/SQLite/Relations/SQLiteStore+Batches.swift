package import Commands

extension SQLiteStore {
    package func open(_ batch: BatchDraft, allowUnknownTypes: Bool) throws(StoreError) -> CommandID {
        let now = clock.now()
        let limits = LimitCheck(batch.callbacks.map(\.draft), in: self)
        if let problem = batch.problem ?? batch.callbacks.lazy.compactMap({ limits.problem(of: $0.draft) }).first {
            throw problem
        }
        var random = BufferedRandom()
        let ids = router.newIDs(1 + batch.callbacks.count, among: usable, now: now, using: &random)
        let home = ids[0].shard(of: shardCount)
        let count = shardCount
        // The batch comes last, so that it has all its parts from the beginning. A part without a batch has no members.
        for shard in shards where shard.number != home {
            try shard.write { connection throws(StoreError) in try connection.openPart(of: ids[0]) }.get()
        }
        return try shards[home].write { connection throws(StoreError) -> Result<CommandID, StoreError> in
            if case .failure(let problem) = try connection.openPart(of: ids[0]) { return .failure(problem) }
            for draft in batch.callbacks.map(\.draft) where !allowUnknownTypes {
                guard try connection.isKnown(draft.type) else {
                    return .failure(.unknownType(draft.type, known: connection.knownTypes))
                }
            }
            let turn = try connection.newTurn()
            try connection.insert(BatchLayout(batch, ids: ids, turn: turn, shardCount: count, now: now))
            return .success(ids[0])
        }.get()
    }

    package func seal(_ batch: CommandID) throws(StoreError) {
        guard let command = try command(batch), command.type == CommandType.batch else {
            throw StoreError.noBatch(batch)
        }
        for shard in shards {
            let number = shard.number
            try shard.write { connection throws(StoreError) in
                var rows = connection
                try BatchPart.seal(batch, shard: number, &rows)
            }
        }
    }

    package func batch(_ id: CommandID) throws(StoreError) -> BatchState? {
        let home = shard(of: id)
        let count = shardCount
        let read = try home.use { connection throws(StoreError) -> BatchReading? in
            guard connection.version >= 3 else { return nil }
            try connection.execute("BEGIN")
            defer { connection.rollback() }
            guard let row = try connection.find(id) else { return nil }
            var rows = connection
            return try BatchReading(row, shardCount: count, &rows)
        }
        guard var reading = read else { return nil }
        for shard in shards where reading.isOpen(shard: shard.number) {
            let part = try ifUsable { () throws(StoreError) in
                try shard.use { connection throws(StoreError) in try connection.part(of: id) }
            }
            reading.add(part ?? nil)
        }
        return reading.state
    }

    // MARK: Messages

    package func outbox(shard: Int, after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        try self.shard(shard).use { connection throws(StoreError) in
            guard connection.version >= 3 else { return [] }
            return try connection.outbox(after: number, limit: limit)
        }
    }

    package func receive(_ messages: [ShardMessage], shard: Int) throws(StoreError) -> Effects {
        try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            if let problem = try connection.prepareForRelations() { throw problem }
            var settlements = Settlements(connection, shard: connection.shard, now: clock.now())
            try settlements.receive(messages)
            return settlements.effects
        }
    }

    package func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError) {
        try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            for message in messages {
                try connection.removeMessage(message.number)
                // Its members may have been retried since.
                if case .partEnded = message.content, let part = try connection.part(of: message.receiver),
                    part.state == .ended
                {
                    try connection.remove(part)
                }
            }
        }
    }
}

extension StoreError {
    static func noBatch(_ id: CommandID) -> StoreError {
        StoreError(.notFound, "There is no batch \(id).", id: id)
    }

    /// Refuses a member.
    static func cannotJoin(_ batch: CommandID, _ part: BatchPart?) -> StoreError {
        switch part?.state {
        case nil:
            StoreError(
                .conflict, "Batch \(batch) takes no members: it has ended, or there is no such batch.", id: batch)
        case .cancelled: StoreError(.conflict, "Batch \(batch) is cancelled, and takes no more members.", id: batch)
        case .open, .sealed, .ended:
            StoreError(.conflict, "Batch \(batch) is sealed, and takes no more members; open another.", id: batch)
        }
    }
}

extension Connection {
    fileprivate func openPart(of batch: CommandID) throws(StoreError) -> Result<Void, StoreError> {
        if let problem = try prepareForRelations() { return .failure(problem) }
        if try part(of: batch) == nil { try save(BatchPart(batch: batch)) }
        return .success(())
    }

    fileprivate func insert(_ layout: BatchLayout) throws(StoreError) {
        for var member in layout.members {
            member.row.recordCreation(&changes)
            var rows = [(member.row, payload: member.payload)]
            try insert(&rows, areRelated: true)
            try insert(member.node)
            for dependency in member.dependencies { try insert(dependency) }
        }
        try insert(layout.counts)
        for part in layout.parts { try save(part) }
    }
}
