package import Commands
package import Host

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

extension PostgreSQLStore {
    /// Rows of one read.
    private static let maxSlice = 1000

    /// Commands in the order of their ids, from the tables that can have their statuses.
    private static func slice(_ tables: [StateTable], _ order: CommandOrder, hasPayload: Bool) -> PostgreSQLStatement {
        let direction = order == .oldestFirst ? "ASC" : "DESC"
        let candidates = tables.map { table in
            """
            (SELECT * FROM (SELECT id, qos, status, claim, cancel_requested, retries, crashes, suspect, not_before, deadline,
                open_deadline, key_is_free, "offset", total, seat, epoch, last, reason, updated_at, dead_at, relations
            FROM \(table.rawValue) WHERE id > $1 AND id < $2 AND (cardinality($4::int8[]) = 0 OR status = ANY($4))
            ORDER BY id \(direction) LIMIT $3) \(table.rawValue))
            """
        }
        return PostgreSQLStatement(
            "list-\(tables.map(\.rawValue).joined(separator: "-"))-\(direction)\(hasPayload ? "-payload" : "")",
            """
            SELECT \(CommandSQL.columns), \(hasPayload ? "c.payload" : "NULL::bytea") FROM (
                SELECT * FROM (\(candidates.joined(separator: " UNION ALL "))) u ORDER BY id \(direction) LIMIT $3) s
            JOIN LATERAL (SELECT * FROM command WHERE id = s.id LIMIT 1) c ON true ORDER BY s.id \(direction)
            """)
    }

    package func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    ) throws(StoreError) -> CommandPage {
        let limit = min(max(limit, 0), 1000)
        var page = CommandPage()
        let tables = StateTable.tables(of: filter.statuses)
        let statement = Self.slice(tables, order, hasPayload: filter.subject != nil)
        let statuses = filter.statuses.map(\.rawValue).sorted()
        var (lower, upper) = filter.idBounds
        if let after {
            if order == .oldestFirst { lower = max(lower, after) } else { upper = min(upper, after) }
        }
        // A filter that few rows pass is given more at once.
        var size = filter.isSearch ? Self.maxSlice : max(limit, 1)
        while page.commands.count < limit {
            let (from, to, count) = (lower, upper, size)
            let found = try read { transaction throws(StoreError) in
                try transaction.read(statement, from, to, count, statuses).rows { row throws(StoreError) in
                    (try StoredCommand(row).command, row[CommandSQL.columnCount] as [UInt8]?)
                }
            }
            page.scanned += found.count
            for (command, payload) in found where page.commands.count < limit {
                guard filter.admits(command), payload.map({ filter.admits(payload: $0) }) ?? true else { continue }
                page.commands.append(command)
            }
            if page.commands.count == limit { break }
            guard let last = found.last?.0.id, found.count == count else { return page }
            if order == .oldestFirst { lower = last } else { upper = last }
            if let until, MonotonicTime.now >= until {
                page.next = last
                return page
            }
            size = Self.maxSlice
        }
        page.next = page.commands.last?.id ?? after
        return page
    }

    // MARK: Parts of ids

    private static let between = PostgreSQLStatement(
        "ids-between", "SELECT id FROM command WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT $3")
    private static let ending = PostgreSQLStatement(
        "ids-ending",
        """
        SELECT id FROM command WHERE right(replace(id::text, '-', ''), length($1)) = $1 ORDER BY id DESC LIMIT $2
        """)
    private static let containing = PostgreSQLStatement(
        "ids-containing",
        "SELECT id FROM command WHERE position($1 IN replace(id::text, '-', '')) > 0 ORDER BY id DESC LIMIT $2")

    package func find(_ part: CommandIDPart, limit: Int) throws(StoreError) -> [Command] {
        if let id = part.id { return try command(id).map { [$0] } ?? [] }
        return try read { transaction throws(StoreError) in
            func ids(_ result: borrowing PostgreSQLResult) -> [CommandID] { result.rows { row in row[0] as CommandID } }
            var found = Set(ids(try transaction.read(Self.between, part.smallest, part.greatest, limit)))
            found.formUnion(ids(try transaction.read(Self.ending, part.digits, limit)))
            if found.isEmpty { found.formUnion(ids(try transaction.read(Self.containing, part.digits, limit))) }
            let newest = Array(found.sorted(by: >).prefix(limit))
            let commands = try transaction.read(CommandSQL.byID, newest).rows { row throws(StoreError) in
                try StoredCommand(row).command
            }
            return commands.sorted { $0.id > $1.id }
        }
    }

    /// The bounds of the index stand in the statement, word for word.
    private static let requests = PostgreSQLStatement(
        "request-keys",
        """
        SELECT unique_key, id FROM command WHERE unique_key >= 'idempotency:' AND unique_key < 'idempotency;'
        AND unique_key >= $1 AND starts_with(unique_key, $1) ORDER BY turn DESC
        """)

    package func commands(ofRequestKeys prefix: String) throws(StoreError) -> [String: CommandID] {
        let found = try read { transaction throws(StoreError) in
            try transaction.read(Self.requests, prefix).rows { row in (row[0] as String, row[1] as CommandID) }
        }
        return Dictionary(found) { _, last in last }
    }
}

extension StateTable {
    /// The tables that have commands in some statuses; all for none.
    fileprivate static func tables(of statuses: Set<CommandStatus>) -> [StateTable] {
        if statuses.isEmpty { return allCases }
        let needed = Set(
            statuses.flatMap { status -> [StateTable] in
                switch status {
                case .new, .error: [.ready, .parked]
                case .blocked, .inDoubt: [.parked]
                case .queued, .sent: [.running]
                case .success, .cancelled, .tooManyTimes: [.ended]
                }
            })
        return allCases.filter { needed.contains($0) }
    }
}
