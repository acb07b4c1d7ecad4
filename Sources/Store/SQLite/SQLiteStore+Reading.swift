package import Commands

extension SQLiteStore {
    package func command(_ id: CommandID) throws(StoreError) -> Command? {
        try shard(of: id).use { connection throws(StoreError) in try connection.find(id)?.command }
    }

    package func payload(_ id: CommandID) throws(StoreError) -> [UInt8]? {
        try shard(of: id).use { connection throws(StoreError) in try connection.body(.payload, id) }
    }

    package func result(_ id: CommandID) throws(StoreError) -> [UInt8]? {
        try shard(of: id).use { connection throws(StoreError) in try connection.body(.result, id) }
    }

    package func timeline(_ id: CommandID) throws(StoreError) -> [Transition] {
        try shard(of: id).use { connection throws(StoreError) in
            guard let row = try connection.find(id) else { return [] }
            var timeline: [Transition] = []
            var seq = row.newestSeq
            let statement = try connection.statement(.transition)
            defer { statement.reset() }
            while seq > 0 {
                statement.bind(seq, at: 1)
                guard try statement.step() else { break }
                let previous = statement.int64(7)
                timeline.append(try Transition(statement))
                statement.reset()
                guard previous < seq else {
                    throw StoreError(.corrupt, "transition \(seq) follows \(previous)")
                }
                seq = previous
            }
            return timeline.reversed()
        }
    }

    package func list(_ filter: CommandFilter, after: CommandID?, limit: Int) throws(StoreError) -> [Command] {
        let limit = min(max(limit, 0), 1000)
        let found = try mapShards(or: [Command]()) { shard throws(StoreError) in
            try shards[shard].use { connection throws(StoreError) in
                try connection.list(filter, after: after, limit: limit)
            }
        }
        return Array(found.joined().sorted { $0.id < $1.id }.prefix(limit))
    }

    package func counts() throws(StoreError) -> CommandCounts {
        let cells = try mapShards(or: [(CommandStatus, QualityOfService, Int)]()) { shard throws(StoreError) in
            try shards[shard].use { connection throws(StoreError) in
                let statement = try connection.statement(.counts)
                defer { statement.reset() }
                var cells: [(CommandStatus, QualityOfService, Int)] = []
                while try statement.step() {
                    cells.append((try statement.status(0), try statement.qos(1), statement.int(2)))
                }
                return cells
            }
        }
        var counts = CommandCounts()
        for (status, qos, n) in cells.joined() { counts[status, qos] += n }
        return counts
    }
}

extension Transition {
    /// Reads seq, id, status, at, seat, claim, reason: the first columns of `transition` and `events`.
    init(_ row: Statement) throws(StoreError) {
        self.init(
            seq: row.int64(0), id: try row.id(1), status: try row.status(2), at: row.time(3), claim: row.int(5),
            reason: row.optionalText(6))
        seat = row.optionalInt(4)
    }
}

extension Connection {
    func body(_ query: Query, _ id: CommandID) throws(StoreError) -> [UInt8]? {
        let statement = try statement(query)
        statement.bind(id, at: 1)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return statement.bytes(0)
    }

    func list(_ filter: CommandFilter, after: CommandID?, limit: Int) throws(StoreError) -> [Command] {
        var conditions = ["c.id > ?1"]
        var index = ""
        switch filter.status {
        case .queued?, .sent?:
            // These rows are few, however large the store is: a partial index finds them, and SQLite sorts them.
            index = "INDEXED BY command_in_flight"
            conditions += ["c.status IN (1, 2)", "c.status = ?3"]
        case .tooManyTimes?, .inDoubt?:
            index = "INDEXED BY command_dead"
            conditions += ["c.dead_at IS NOT NULL", "c.status = ?3"]
        case .new?, .error?, .success?, .cancelled?, .blocked?: conditions.append("c.status = ?3")
        case nil: break
        }
        if filter.qos != nil { conditions.append("c.qos = ?4") }
        if filter.destination != nil { conditions.append("c.destination = ?5") }
        let statement = try statement(
            sql: """
                SELECT \(Query.columns) FROM command c \(index) WHERE \(conditions.joined(separator: " AND "))
                ORDER BY c.id LIMIT ?2
                """)
        statement.bind(after ?? CommandID(high: 0, low: 0), at: 1)
        statement.bind(limit, at: 2)
        if let status = filter.status { statement.bind(status, at: 3) }
        if let qos = filter.qos { statement.bind(qos, at: 4) }
        if let destination = filter.destination { statement.bind(destination.text, at: 5) }
        return try rows(statement).map(\.command)
    }
}
