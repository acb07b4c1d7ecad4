package import Commands

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
        let found = Result { () throws(StoreError) -> [[ReadyCommand]] in
            try self.read { transaction throws(StoreError) in
                try transaction.pipeline { pipeline in
                    for read in reads {
                        let (shard, destination, qos) = (read.shard, read.key.destination.text, read.key.qos.rawValue)
                        let limit = max(read.limit, 0)
                        if let name = read.key.limit {
                            pipeline.append(
                                Self.readyLimited, shard, destination, qos, read.afterTurn, limit, name)
                        } else {
                            pipeline.append(Self.ready, shard, destination, qos, read.afterTurn, limit)
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

    /// Seeks from one key to the next, in each shard.
    private static let readyKeys = PostgreSQLStatement(
        "ready-keys",
        """
        SELECT w.number, NULL::text, k.destination, k.qos FROM unnest($1::int8[]::int2[]) w(number) CROSS JOIN LATERAL (
            WITH RECURSIVE k AS (
                (SELECT destination, qos FROM ready WHERE shard = w.number AND rate_limit IS NULL
                ORDER BY destination, qos LIMIT 1)
                UNION ALL
                SELECT n.destination, n.qos FROM k JOIN LATERAL (
                    SELECT destination, qos FROM ready r WHERE shard = w.number AND rate_limit IS NULL
                    AND (r.destination, r.qos) > (k.destination, k.qos) ORDER BY destination, qos LIMIT 1) n ON true)
            SELECT destination, qos FROM k) k
        """)
    private static let limitedKeys = PostgreSQLStatement(
        "limited-keys",
        """
        SELECT w.number, k.rate_limit, k.destination, k.qos FROM unnest($1::int8[]::int2[]) w(number) CROSS JOIN LATERAL (
            WITH RECURSIVE k AS (
                (SELECT rate_limit, destination, qos FROM ready WHERE shard = w.number AND rate_limit IS NOT NULL
                ORDER BY rate_limit, destination, qos LIMIT 1)
                UNION ALL
                SELECT n.rate_limit, n.destination, n.qos FROM k JOIN LATERAL (
                    SELECT rate_limit, destination, qos FROM ready r WHERE shard = w.number AND rate_limit IS NOT NULL
                    AND (r.rate_limit, r.destination, r.qos) > (k.rate_limit, k.destination, k.qos)
                    ORDER BY rate_limit, destination, qos LIMIT 1) n ON true)
            SELECT rate_limit, destination, qos FROM k) k
        """)
    private static let readyCounts = PostgreSQLStatement(
        "ready-counts",
        "SELECT rate_limit, count(*) FROM ready WHERE shard = $1 AND rate_limit IS NOT NULL GROUP BY rate_limit")

    package func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> {
        try check(shard)
        return try readyKeys([shard])[shard] ?? []
    }

    package func limitedKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> {
        try check(shard)
        return try keys([shard], [Self.limitedKeys])[shard] ?? []
    }

    /// The keys of several shards, in one round trip; shards without any are left out.
    func readyKeys(_ shards: [Int]) throws(StoreError) -> [Int: Set<ReadyKey>] {
        shards.isEmpty ? [:] : try keys(shards, [Self.readyKeys, Self.limitedKeys])
    }

    private func keys(
        _ shards: [Int], _ statements: [PostgreSQLStatement]
    ) throws(StoreError) -> [Int: Set<ReadyKey>] {
        try read { transaction throws(StoreError) in
            try transaction.pipeline { pipeline in
                for statement in statements { pipeline.append(statement, shards) }
            } read: { (results, first) throws(StoreError) in
                var keys: [Int: Set<ReadyKey>] = [:]
                for index in statements.indices {
                    let found = try results.take(first + index).rows { row throws(StoreError) in
                        let destination = Destination(unchecked: row[2] as String)
                        let key = ReadyKey(destination: destination, qos: try row.qos(3), limit: row[1] as String?)
                        return (shard: row[0] as Int, key: key)
                    }
                    for entry in found { keys[entry.shard, default: []].insert(entry.key) }
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
        return try change(shard: shard, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
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
