package import Commands
package import Host

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

extension SQLiteStore {
    /// Candidates of a shard that are looked at in one transaction.
    private static let maxSlice = 1000
    private static let minSlice = 16
    private static let firstSearchSlice = 128

    package func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    ) throws(StoreError) -> CommandPage {
        let limit = min(max(limit, 0), 1000)
        let sorted = ListPlan.maxSorted / shardCount
        let plans = try mapShards(or: ListPlan?.none) { shard throws(StoreError) in
            try shards[shard].use { connection throws(StoreError) in
                try connection.listPlan(filter, maxSorted: sorted)
            }
        }
        var merge = ListMerge(shards: shardCount, after: after, order: order)
        var sizes = plans.map { plan in
            plan?.isExact ?? true ? max(limit / shardCount * 5 / 4, Self.minSlice) : Self.firstSearchSlice
        }
        var page = CommandPage()
        var reads = 0
        while page.commands.count < limit {
            switch merge.next() {
            case .end: return page
            case .command(let command): page.commands.append(command)
            case .read(let shard, let position):
                // Each shard gets a slice, so that every call goes on.
                if reads >= shardCount, let until, MonotonicTime.now >= until {
                    page.next = merge.frontier ?? after
                    return page
                }
                let size = sizes[shard]
                let slice = try ifUsable { () throws(StoreError) -> ListSlice? in
                    guard let plan = plans[shard] else { return nil }
                    return try shards[shard].use { connection throws(StoreError) in
                        try connection.slice(plan, filter, order, after: position, limit: size)
                    }
                }
                sizes[shard] = min(size * 2, Self.maxSlice)
                page.scanned += slice??.scanned ?? 0
                merge.add(slice ?? nil, shard: shard)
                reads += 1
            }
        }
        page.next = page.commands.last?.id ?? after
        return page
    }

    /// How SQLite finds the commands of a filter in each shard, in the words of `EXPLAIN QUERY PLAN`: for tests.
    package func explainList(_ filter: CommandFilter, order: CommandOrder) throws(StoreError) -> [[String]] {
        try mapShards(or: []) { shard throws(StoreError) in
            try shards[shard].use { connection throws(StoreError) in
                let plan = try connection.listPlan(filter, maxSorted: ListPlan.maxSorted / shardCount)
                return plan.ranges.isEmpty ? [] : try connection.explain(plan, order)
            }
        }
    }
}
