package import Commands

extension PostgreSQLStore {
    private static let payload = PostgreSQLStatement("read-payload", "SELECT payload FROM command WHERE id = $1")
    private static let result = PostgreSQLStatement("read-result", "SELECT body FROM result WHERE id = $1")
    private static let deltas = PostgreSQLStatement(
        "counts",
        """
        SELECT status, qos, sum(n)::int8, sum(deltas)::int8 FROM (
            SELECT status, qos, n, 0 AS deltas FROM count
            UNION ALL SELECT status, qos, n, 1 FROM count_delta) c
        GROUP BY status, qos
        """)
    /// Rows that another process folds are left to it.
    private static let fold = PostgreSQLStatement(
        "fold-counts",
        """
        WITH taken AS (
            DELETE FROM count_delta WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM count_delta LIMIT 10000 FOR UPDATE SKIP LOCKED))
            RETURNING shard, status, qos, n)
        INSERT INTO count AS c SELECT shard, status, qos, sum(n)::int8 FROM taken GROUP BY shard, status, qos
        ORDER BY shard, status, qos
        ON CONFLICT (shard, status, qos) DO UPDATE SET n = c.n + excluded.n
        """)
    /// Rows of `count_delta` beyond which a reader folds them.
    private static let maxDeltas = 2000

    package func command(_ id: CommandID) throws(StoreError) -> Command? {
        try read { transaction throws(StoreError) in
            try transaction.read(CommandSQL.byID, [id]).first { row throws(StoreError) in
                try StoredCommand(row).command
            }
        }
    }

    package func payload(_ id: CommandID) throws(StoreError) -> [UInt8]? { try body(Self.payload, id) }
    package func result(_ id: CommandID) throws(StoreError) -> [UInt8]? { try body(Self.result, id) }

    func body(_ statement: PostgreSQLStatement, _ id: CommandID) throws(StoreError) -> [UInt8]? {
        try read { transaction throws(StoreError) in
            try transaction.read(statement, id).first { row in row[0] as [UInt8] }
        }
    }

    package func timeline(_ id: CommandID, before bound: Int64?, limit: Int) throws(StoreError) -> [Transition] {
        try read { transaction throws(StoreError) in
            try transaction.timeline(id, shard: id.shard(of: shardCount), before: bound, limit: limit)
        }
    }

    package func counts() throws(StoreError) -> CommandCounts {
        let (counts, deltas) = try read { transaction throws(StoreError) in
            var counts = CommandCounts()
            var deltas = 0
            _ = try transaction.read(Self.deltas).rows { row throws(StoreError) in
                counts[try row.status(0), try row.qos(1)] += row[2] as Int
                deltas += row[3] as Int
            }
            return (counts, deltas)
        }
        if deltas > Self.maxDeltas {
            // A deadlock or a lost commit leaves the rows to the next reader.
            _ = try? change([Int]()) { change throws(StoreError) in try change.transaction.write(Self.fold) }
        }
        return counts
    }
}

extension PostgreSQLTransaction {
    private static let columns = "seq, id, status, at, seat, claim, reason, previous"
    /// Follows `previous` from the newest transition, or from the one before a bound.
    private static let timeline = PostgreSQLStatement(
        "timeline",
        """
        WITH RECURSIVE t AS (
            (SELECT \(columns) FROM transition WHERE shard = $1 AND id = $2 AND seq = CASE WHEN $3::int8 IS NULL
                THEN (SELECT s.last FROM (SELECT $2 AS id) w \(CommandSQL.row(of: "w.id")))
                ELSE (SELECT p.previous FROM transition p WHERE p.shard = $1 AND p.seq = $3 AND p.id = $2) END)
            UNION ALL
            SELECT n.* FROM t JOIN LATERAL (
                SELECT \(columns) FROM transition x WHERE x.shard = $1 AND x.seq = t.previous AND x.id = $2 LIMIT 1) n ON true)
        SELECT \(columns) FROM t LIMIT $4
        """)

    /// The newest transitions of a command, the oldest first.
    func timeline(
        _ id: CommandID, shard: Int, before bound: Int64?, limit: Int
    ) throws(StoreError) -> [Transition] {
        try read(Self.timeline, shard, id, bound, limit).rows { row throws(StoreError) in try Transition(row) }
            .reversed()
    }
}

extension Transition {
    /// Reads seq, id, status, at, seat, claim, reason.
    init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        self.init(
            seq: row[0], id: row[1], status: try row.status(2), at: row[3], claim: row[5], reason: row[6] as String?)
        seat = row[4] as Int?
    }
}
