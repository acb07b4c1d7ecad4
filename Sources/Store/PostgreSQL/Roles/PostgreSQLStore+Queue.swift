package import Commands
internal import Host
internal import Synchronization

extension PostgreSQLStore {
    // MARK: Ready commands

    private static let readyColumns =
        "id, type, turn, created_at, suspect, \"offset\", total, destination, qos, rate_limit"
    private static let ready = PostgreSQLStatement(
        "ready",
        """
        SELECT \(readyColumns) FROM ready
        WHERE shard = $1 AND rate_limit IS NULL AND destination = $2 AND qos = $3 AND turn > $4 ORDER BY turn LIMIT $5
        """)
    private static let readyLimited = PostgreSQLStatement(
        "ready-limited",
        """
        SELECT \(readyColumns) FROM ready WHERE shard = $1 AND rate_limit IS NOT NULL AND rate_limit = $6
        AND destination = $2 AND qos = $3 AND turn > $4 ORDER BY turn LIMIT $5
        """)
    private static let readyByID = PostgreSQLStatement(
        "ready-by-id",
        """
        SELECT r.* FROM unnest($1::uuid[]) WITH ORDINALITY w(id, position)
        JOIN LATERAL (SELECT \(readyColumns) FROM ready WHERE id = w.id LIMIT 1) r ON true ORDER BY w.position
        """)

    package func ready(
        shard: Int, key: ReadyKey, afterTurn: Int64, limit: Int
    ) throws(StoreError) -> [ReadyCommand] {
        try check(shard)
        var found: Result<[ReadyCommand], StoreError> = .success([])
        ready([ReadyRead(shard: shard, key: key, afterTurn: afterTurn, limit: limit)]) { _, result in found = result }
        return try found.get()
    }

    package func ready(_ reads: [ReadyRead], each: (ReadyRead, Result<[ReadyCommand], StoreError>) -> Void) {
        let marks = readyMarks.withLock { $0 }
        let found = Result { () throws(StoreError) -> [[ReadyCommand]] in
            try self.read { transaction throws(StoreError) in
                try transaction.pipeline { pipeline in
                    for read in reads {
                        let (shard, destination, qos) = (read.shard, read.key.destination.text, read.key.qos.rawValue)
                        let limit = max(read.limit, 0)
                        let after = read.afterTurn == 0 ? marks.start(of: read.key, in: shard) : read.afterTurn
                        if let name = read.key.limit {
                            pipeline.append(
                                Self.readyLimited, shard, destination, qos, after, limit, name)
                        } else {
                            pipeline.append(Self.ready, shard, destination, qos, after, limit)
                        }
                    }
                } read: { (results, first) throws(StoreError) -> [[ReadyCommand]] in
                    var found: [[ReadyCommand]] = []
                    for index in reads.indices {
                        found.append(
                            try results.take(first + index).rows { row throws(StoreError) in try ReadyCommand(row) })
                    }
                    return found
                }
            }
        }
        for (index, read) in reads.enumerated() { each(read, found.map { $0[index] }) }
    }

    package func ready(shard: Int, ids: [CommandID]) throws(StoreError) -> [ReadyCommand] {
        try check(shard)
        return try ready(ids: ids)
    }

    package func ready(ids: [CommandID], each: ([CommandID], Result<[ReadyCommand], StoreError>) -> Void) {
        let found = Result { () throws(StoreError) in try ready(ids: ids) }
        for (shard, ids) in Dictionary(grouping: ids, by: { $0.shard(of: shardCount) }) {
            each(ids, found.map { $0.filter { $0.id.shard(of: shardCount) == shard } })
        }
    }

    private func ready(ids: [CommandID]) throws(StoreError) -> [ReadyCommand] {
        try read { transaction throws(StoreError) in
            try transaction.read(Self.readyByID, ids).rows { row throws(StoreError) in try ReadyCommand(row) }
        }
    }

    // MARK: Keys

    private static let readyCounts = PostgreSQLStatement(
        "ready-counts",
        "SELECT rate_limit, count(*) FROM ready WHERE shard = $1 AND rate_limit IS NOT NULL GROUP BY rate_limit")

    package func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> {
        try check(shard)
        var ranges = ReadyRanges()
        ranges.add(shard)
        return Set((try keys(ranges)[shard] ?? [:]).keys)
    }

    package func limitedKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> {
        try readyKeys(shard: shard).filter { $0.limit != nil }
    }

    /// The keys of several shards, in one round trip; shards without any are left out. Rows that have gone are not stepped
    /// over.
    /// - Parameter newest: the number of the newest transition of each shard, read before.
    func readyKeys(_ newest: [Int: Int64]) throws(StoreError) -> [Int: Set<ReadyKey>] {
        if newest.isEmpty { return [:] }
        let (now, marks) = (MonotonicTime.now, readyMarks.withLock { $0 })
        var ranges = ReadyRanges()
        let looks = newest.keys.map { marks.begin($0, &ranges, now: now) }
        let found = try keys(ranges)
        readyMarks.withLock { marks in
            for look in looks {
                marks.end(look, found: found[look.shard] ?? [:], newest: newest[look.shard] ?? 0, now: now)
            }
        }
        return found.mapValues { Set($0.keys) }
    }

    /// The keys with the turns of their first commands.
    private func keys(_ ranges: ReadyRanges) throws(StoreError) -> [Int: [ReadyKey: Int64]] {
        try read { transaction throws(StoreError) in
            var count = 0
            return try transaction.pipeline { pipeline in
                count = ranges.append(to: &pipeline)
            } read: { (results, first) throws(StoreError) in
                var keys: [Int: [ReadyKey: Int64]] = [:]
                for index in 0..<count {
                    let found = try results.take(first + index).rows { row throws(StoreError) in
                        let destination = Destination(unchecked: row[2] as String)
                        let key = ReadyKey(destination: destination, qos: try row.qos(3), limit: row[1] as String?)
                        return (shard: row[0] as Int, key: key, turn: row[4] as Int64)
                    }
                    for entry in found { keys[entry.shard, default: [:]][entry.key] = entry.turn }
                }
                return keys
            }
        }
    }

    package func readyCounts(shard: Int) throws(StoreError) -> [String: Int] {
        try check(shard)
        let counts = try read { transaction throws(StoreError) in
            try transaction.read(Self.readyCounts, shard).rows { row in (row[0] as String, row[1] as Int) }
        }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    // MARK: Out of turn

    private static let hasReadyAgain = PostgreSQLStatement(
        "has-ready-again", "SELECT 1 FROM ready_again WHERE shard = $1 LIMIT 1")
    private static let readyAgain = PostgreSQLStatement(
        "ready-again", "SELECT turn, id FROM ready_again WHERE shard = $1 ORDER BY turn LIMIT $2")
    private static let dropReadyAgain = PostgreSQLStatement(
        "drop-ready-again", "DELETE FROM ready_again WHERE shard = $1 AND turn <= $2")

    package func hasReadyAgain(shard: Int) throws(StoreError) -> Bool {
        try check(shard)
        return try read { transaction throws(StoreError) in
            try transaction.read(Self.hasReadyAgain, shard).count > 0
        }
    }

    package func takeReadyAgain(shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand] {
        guard try hasReadyAgain(shard: shard) else { return [] }
        do throws(StoreError) {
            let taken = try takeListed(shard, limit: limit)
            readyMarks.withLock { marks in
                for command in taken { marks.lower(shard, ReadyKey(command), command.turn) }
            }
            return taken
        } catch {
            readyMarks.withLock { $0.forget(shard) }
            throw error
        }
    }

    private func takeListed(_ shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand] {
        try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            let transaction = shard.transaction
            let listed = try transaction.read(Self.readyAgain, shard.number, max(limit, 0)).rows { row in
                (turn: row[0] as Int64, id: row[1] as CommandID)
            }
            guard let last = listed.last?.turn else { return [] }
            try transaction.write(Self.dropReadyAgain, shard.number, last)
            return try transaction.read(Self.readyByID, listed.map(\.id)).rows { row throws(StoreError) in
                try ReadyCommand(row)
            }
        }.0
    }
}

extension ReadyCommand {
    /// Reads id, type, turn, created_at, suspect, offset, total, destination, qos, rate_limit.
    fileprivate init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        self.init(
            id: row[0], type: row[1], qos: try row.qos(8), destination: Destination(unchecked: row[7] as String),
            turn: row[2], createdAt: row[3])
        limit = row[9] as String?
        let suspicion: Int = row[4]
        suspect = suspicion > 0
        isSoleSuspect = suspicion == Schema.soleSuspect
        remaining = ReadyCommand.remaining(from: row[5] as Int64, of: row[6] as Int64)
    }
}
