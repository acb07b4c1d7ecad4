package import Commands

extension SQLiteStore {
    package func waitingQueues(
        of destinations: [Destination], shard: Int
    ) throws(StoreError) -> [WaitingQueue.Name: WaitingQueue] {
        try self.shard(shard).use { connection throws(StoreError) in
            let limits = try connection.waitingLimits(limit: WaitingQueue.maxLimits)
            let names = WaitingQueue.names(limits, destinations)
            var queues: [WaitingQueue.Name: WaitingQueue] = [:]
            var room = WaitingQueue.maxCountedInAll
            for name in names {
                guard let queue = try connection.queue(name, limit: min(max(room, 1), WaitingQueue.maxCounted)) else {
                    continue
                }
                room -= queue.count
                queues[name] = queue
            }
            return queues
        }
    }
}

extension Connection {
    /// The rate limits that have ready commands, in the order of their names. Costs one index seek for each.
    fileprivate func waitingLimits(limit: Int) throws(StoreError) -> [String] {
        guard version >= Schema.firstWithRelations else { return [] }
        let statement = try statement(
            sql: """
                SELECT rate_limit FROM command INDEXED BY command_limited
                WHERE status IN (0, 3) AND not_before < 0 AND rate_limit > ?1 ORDER BY rate_limit LIMIT 1
                """)
        var names: [String] = []
        while names.count < limit {
            statement.bind(names.last ?? "", at: 1)
            defer { statement.reset() }
            guard try statement.step() else { break }
            names.append(statement.text(0))
        }
        return names
    }

    /// Reads entries of an index, and the row of the first command.
    /// - Parameter limit: of the commands that are counted.
    /// - Returns: nil for an empty queue.
    fileprivate func queue(_ name: WaitingQueue.Name, limit: Int) throws(StoreError) -> WaitingQueue? {
        // The conditions are those of the indices, word for word, and the order is that of their columns.
        let (entries, order) =
            switch name {
            case .destination:
                ("command_ready WHERE status IN (0, 3) AND not_before = 0 AND destination = ?1", "qos")
            case .limit:
                ("command_limited WHERE status IN (0, 3) AND not_before < 0 AND rate_limit = ?1", "destination, qos")
            case .notBefore: ("command_held_back WHERE not_before > 0", "not_before")
            }
        let turn = try read("SELECT turn FROM command INDEXED BY \(entries) ORDER BY \(order), turn LIMIT ?2", name, 1)
        guard let turn, let first = try command(turn: turn)?.command else { return nil }
        // One more than the limit shows that there are more.
        let some = "SELECT 1 FROM command INDEXED BY \(entries) LIMIT ?2"
        let count = Int(try read("SELECT count(*) FROM (\(some))", name, limit + 1) ?? 0)
        return WaitingQueue(count: max(min(count, limit), 1), isComplete: count <= limit, first: first)
    }

    private func read(_ sql: String, _ name: WaitingQueue.Name, _ limit: Int) throws(StoreError) -> Int64? {
        let statement = try statement(sql: sql)
        defer { statement.reset() }
        switch name {
        case .destination(let destination): statement.bind(destination.text, at: 1)
        case .limit(let rate): statement.bind(rate, at: 1)
        case .notBefore: break
        }
        statement.bind(limit, at: 2)
        return try statement.step() ? statement.int64(0) : nil
    }
}
