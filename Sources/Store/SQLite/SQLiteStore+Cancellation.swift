package import Commands

extension SQLiteStore {
    package func cancel(_ id: CommandID, reason: String, now: Timestamp) throws(StoreError) -> CancelOutcome {
        try change(id) { row, connection throws(StoreError) in
            switch row.cancel(reason: reason, now: now, &connection.changes) {
            case .cancelled(let transition): (.cancelled(self.event(row, transition)), true)
            case .requested: (.requested(row.claimed), true)
            case .ended: (.ended(row.command.status), false)
            }
        }
    }

    package func cancel(
        _ ids: [CommandID], shard: Int, reason: String, now: Timestamp
    ) throws(StoreError) -> [CancelOutcome] {
        try self.shard(shard).write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            var outcomes: [CancelOutcome] = []
            for id in ids {
                guard var row = try connection.find(id) else { continue }
                switch row.cancel(reason: reason, now: now, &connection.changes) {
                case .cancelled(let transition): outcomes.append(.cancelled(self.event(row, transition)))
                case .requested: outcomes.append(.requested(row.claimed))
                case .ended:
                    outcomes.append(.ended(row.command.status))
                    continue
                }
                try connection.save(row)
            }
            return outcomes
        }
    }

    package func retry(_ id: CommandID, now: Timestamp) throws(StoreError) -> StatusEvent? {
        try change(id) { row, connection throws(StoreError) in
            let hadKey = !row.keyIsFree
            guard let transition = row.retry(now: now, &connection.changes) else { return (nil, false) }
            if !hadKey { try connection.reclaimKey(of: row, at: now) }
            try connection.dropResult(of: row)
            try connection.dropLeftover(of: row.command)
            return (self.event(row, transition), true)
        }
    }

    package func resolve(
        _ id: CommandID, as status: CommandStatus, now: Timestamp
    ) throws(StoreError) -> StatusEvent? {
        try change(id) { row, connection throws(StoreError) in
            guard let transition = row.resolve(as: status, now: now, &connection.changes) else { return (nil, false) }
            if status == .success { try connection.recordLeftover(of: row.command) }
            return (self.event(row, transition), true)
        }
    }

    package func requalify(_ id: CommandID, qos: QualityOfService, now: Timestamp) throws(StoreError) -> Bool {
        try shard(of: id).write { connection throws(StoreError) in
            guard var row = try connection.find(id), row.requalify(qos, now: now, &connection.changes) else {
                return false
            }
            try connection.save(row)
            return true
        }
    }

    /// Changes one command in a transaction of its own.
    /// - Parameter body: returns a value, and whether the row is to be saved.
    private func change<Value: Sendable>(
        _ id: CommandID, _ body: (inout StoredCommand, Connection) throws(StoreError) -> (Value, Bool)
    ) throws(StoreError) -> Value {
        try shard(of: id).write { connection throws(StoreError) in
            guard var row = try connection.find(id) else { throw StoreError.noCommand(id) }
            let (value, isChanged) = try body(&row, connection)
            if isChanged { try connection.save(row) }
            return value
        }
    }

    private func event(_ row: StoredCommand, _ transition: Transition) -> StatusEvent {
        row.event(transition, shard: row.id.shard(of: shardCount))
    }
}

extension Connection {
    /// Takes back the unique key that a command gave up.
    /// - Throws: `.conflict` where another command holds the key.
    fileprivate func reclaimKey(of row: StoredCommand, at now: Timestamp) throws(StoreError) {
        guard let unique = row.unique, let holder = try holder(of: unique, at: now) else { return }
        throw holder.conflict(over: unique.key)
    }

    fileprivate func dropResult(of row: StoredCommand) throws(StoreError) {
        let drop = try statement(.deleteResult)
        drop.bind(row.command.turn, at: 1)
        try drop.run()
    }
}
