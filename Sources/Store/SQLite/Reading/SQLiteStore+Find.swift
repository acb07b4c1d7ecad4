package import Commands

extension SQLiteStore {
    /// Ids in one transaction of a search for a part.
    private static let idsPerScan = 50_000

    package func find(_ part: CommandIDPart, limit: Int) throws(StoreError) -> [Command] {
        if let id = part.id { return try command(id).map { [$0] } ?? [] }
        var ids = Set(try idsAtEnds(part, limit: limit))
        if ids.isEmpty {
            let all = Array(0..<shardCount)
            ids = Set(try idsInShards(all, containing: part, atEnd: false, limit: limit))
        }
        var commands: [Command] = []
        for id in ids.sorted(by: >).prefix(limit) {
            if let command = try command(id) { commands.append(command) }
        }
        return commands
    }

    /// A shard that cannot be read may have the command of a key, so it is an error.
    package func commands(ofRequestKeys prefix: String) throws(StoreError) -> [String: CommandID] {
        var found: [String: CommandID] = [:]
        for shard in shards {
            let part = try shard.use { connection throws(StoreError) in try connection.commands(ofRequestKeys: prefix) }
            found.merge(part) { first, _ in first }
        }
        return found
    }

    /// The ids that begin or end with the digits. The last byte of an id names its shard, so only one shard is
    /// searched for an end.
    private func idsAtEnds(_ part: CommandIDPart, limit: Int) throws(StoreError) -> [CommandID] {
        let beginnings = try mapShards(or: []) { shard throws(StoreError) in
            try shards[shard].use { connection throws(StoreError) in
                try connection.ids(from: part.smallest, through: part.greatest, limit: limit)
            }
        }.flatMap { $0 }
        let shard = router.shard(of: part.lastByte)
        return beginnings + (try idsInShards([shard], containing: part, atEnd: true, limit: limit))
    }

    /// Searches the ids themselves, the newest first.
    private func idsInShards(
        _ numbers: [Int], containing part: CommandIDPart, atEnd: Bool, limit: Int
    ) throws(StoreError) -> [CommandID] {
        var ids: [CommandID] = []
        for number in numbers {
            var before: CommandID? = CommandID(high: .max, low: .max)
            while let upper = before, ids.count < limit {
                let found = try ifUsable { () throws(StoreError) in
                    try shards[number].use { connection throws(StoreError) in
                        let lower = try connection.id(before: upper, distance: Self.idsPerScan)
                        let ids = try connection.ids(
                            containing: part, atEnd: atEnd, from: lower, before: upper, limit: limit)
                        return (ids, lower)
                    }
                }
                ids += found?.0 ?? []
                before = found?.1
            }
        }
        return ids
    }
}

extension Connection {
    fileprivate func commands(ofRequestKeys prefix: String) throws(StoreError) -> [String: CommandID] {
        let find = try statement(.byRequestKey, prefix)
        defer { find.reset() }
        var found: [String: CommandID] = [:]
        while try find.step() { found[find.text(1)] = try find.id(0) }
        return found
    }

    fileprivate func ids(from: CommandID, through: CommandID, limit: Int) throws(StoreError) -> [CommandID] {
        try statement(
            sql: "SELECT id FROM command WHERE id >= ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3", from, through, limit
        ).rows { row throws(StoreError) in try row.id(0) }
    }

    /// The id that is `distance` ids before another; nil where there are fewer.
    fileprivate func id(before: CommandID, distance: Int) throws(StoreError) -> CommandID? {
        try statement(
            sql: "SELECT id FROM command WHERE id < ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2", before, distance - 1
        ).first { row throws(StoreError) in try row.id(0) }
    }

    /// Reads the index of the ids only: 0.13 µs for each id at its end, 0.6 µs anywhere.
    fileprivate func ids(
        containing part: CommandIDPart, atEnd: Bool, from lower: CommandID?, before upper: CommandID, limit: Int
    ) throws(StoreError) -> [CommandID] {
        let bytes = part.lastBytes
        let statement = try statement(
            sql: """
                SELECT id FROM command INDEXED BY \(ListPlan.byID) WHERE id >= ?1 AND id < ?2 AND \
                \(atEnd ? "substr(id, -\(bytes.count)) = ?3 AND substr(hex(id), -\(part.digits.utf8.count)) = ?4"
                : "instr(hex(id), ?4) > 0") ORDER BY id DESC LIMIT ?5
                """)
        statement.bind(lower ?? CommandID(high: 0, low: 0), at: 1)
        statement.bind(upper, at: 2)
        if atEnd { statement.bind(bytes, at: 3) }
        statement.bind(part.digits.uppercased(), at: 4)
        statement.bind(limit, at: 5)
        return try statement.rows { row throws(StoreError) in try row.id(0) }
    }
}
