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

    package func timeline(
        _ id: CommandID, before bound: Int64?, limit: Int
    ) throws(StoreError) -> [Transition] {
        try shard(of: id).use { connection throws(StoreError) in
            try connection.timeline(id, before: bound, limit: limit)
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

extension Connection {
    /// The transitions of a command, the oldest first.
    /// - Parameters:
    ///   - bound: the number of the transition before which they end; nil: the newest is among them.
    ///   - limit: the most that are read.
    func timeline(_ id: CommandID, before bound: Int64? = nil, limit: Int = .max) throws(StoreError) -> [Transition] {
        let statement = try statement(.transition)
        /// The transition with this number, and the number of the one before it; nil where it was pruned, or where it is
        /// of another command.
        func read(_ seq: Int64) throws(StoreError) -> (transition: Transition, previous: Int64)? {
            defer { statement.reset() }
            statement.bind(seq, at: 1)
            guard try statement.step() else { return nil }
            let previous = statement.int64(7)
            guard previous < seq else { throw StoreError(.corrupt, "transition \(seq) follows \(previous)") }
            let transition = try Transition(statement)
            return transition.id == id ? (transition, previous) : nil
        }
        var seq: Int64
        if let bound { seq = try read(bound)?.previous ?? 0 } else { seq = try find(id)?.newestSeq ?? 0 }
        var timeline: [Transition] = []
        while seq > 0, timeline.count < limit, let (transition, previous) = try read(seq) {
            timeline.append(transition)
            seq = previous
        }
        return timeline.reversed()
    }
}
