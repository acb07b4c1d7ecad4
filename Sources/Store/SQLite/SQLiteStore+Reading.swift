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

    package func counts() throws(StoreError) -> CommandCounts {
        var counts = CommandCounts()
        for shard in try mapShards(
            or: CommandCounts(),
            { shard throws(StoreError) in
                try shards[shard].use { connection throws(StoreError) in try connection.counts() }
            })
        {
            for (status, cells) in shard.cells {
                for (qos, n) in cells { counts[status, qos] += n }
            }
        }
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
        try statement(query, id).first { $0.bytes(0) }
    }
}
