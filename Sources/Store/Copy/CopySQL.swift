internal import Commands
internal import Host

/// The statements of a copy on PostgreSQL.
enum CopySQL {
    static let pageTimeout: Duration = .seconds(60)
    /// Counting takes about a second for a million rows.
    static let longTimeout: Duration = .seconds(3600)

    // MARK: Commands

    static let firstCommands = PostgreSQLStatement("copy-first-commands", commands(behind: ""))
    static let nextCommands = PostgreSQLStatement("copy-next-commands", commands(behind: "WHERE id > $1"))

    /// Lengths are known without reading the values, so that a page ends at its bytes before any is read.
    private static func commands(behind condition: String) -> String {
        let size = "octet_length(c.payload) + coalesce(octet_length(k.state), 0) + coalesce(octet_length(r.body), 0)"
        return """
            SELECT * FROM (
                SELECT \(CommandSQL.columns), c.payload, k.state, r.body, l.due, a.turn IS NOT NULL AS again,
                    sum(\(size)) OVER (ORDER BY c.id ROWS UNBOUNDED PRECEDING) - (\(size)) AS before
                FROM (SELECT id FROM command \(condition) ORDER BY id LIMIT \(CopyLimits.maxRows)) w
                \(CommandSQL.row(of: "w.id"))
                LEFT JOIN LATERAL (SELECT state FROM kept WHERE id = w.id LIMIT 1) k ON true
                LEFT JOIN LATERAL (SELECT body FROM result WHERE id = w.id LIMIT 1) r ON true
                LEFT JOIN LATERAL (SELECT due FROM leftover WHERE id = w.id LIMIT 1) l ON true
                LEFT JOIN LATERAL (SELECT turn FROM ready_again WHERE shard = c.shard AND turn = c.turn LIMIT 1) a ON true
            ) p WHERE before < \(CopyLimits.maxBytes) ORDER BY id
            """
    }

    // MARK: Counts

    /// A statement for each kind: a shard, and its rows.
    static func rowCounts(withoutOpenUploads: Bool) -> [(kind: CopiedKind, statement: PostgreSQLStatement)] {
        let byShard = "shard::int8"
        let byID = "get_byte(uuid_send(id), 15)::int8 & $1"
        var counted: [(CopiedKind, String, String)] = [
            (.commands, "command", byShard), (.results, "result", byID), (.checkpoints, "kept", byID),
            (.leftovers, "leftover", byShard),
        ]
        for table in CopiedTable.all + [.inbox] {
            let condition = table.condition(withoutOpenUploads: withoutOpenUploads).map { " WHERE \($0)" } ?? ""
            counted.append((table.kind, table.name + condition, table.hasShard ? byShard : byID))
        }
        // Each has the parameter, which not all need.
        return counted.map { kind, rows, shard in
            (
                kind,
                PostgreSQLStatement(
                    once: "SELECT \(shard), count(*) FROM \(rows) GROUP BY 1 HAVING $1::int8 >= 0")
            )
        }
    }

    /// A whole table is counted fastest without its index.
    static let scanTables = PostgreSQLStatement(once: "SET LOCAL enable_seqscan = on")
    static let useIndices = PostgreSQLStatement(once: "SET LOCAL enable_seqscan = off")
}

extension PostgreSQLTransaction {
    func rowCounts(
        of kinds: [CopiedKind] = CopiedKind.allCases, shardCount: Int, withoutOpenUploads: Bool = false
    ) throws(StoreError) -> CopyRowCounts {
        var counts: CopyRowCounts = [:]
        try write(CopySQL.scanTables)
        for (kind, statement) in CopySQL.rowCounts(withoutOpenUploads: withoutOpenUploads) where kinds.contains(kind) {
            let rows = try read(statement, shardCount - 1).rows { row in (row[0] as Int, row[1] as Int) }
            for (shard, count) in rows { counts[kind, default: [:]][shard] = count }
        }
        try write(CopySQL.useIndices)
        return counts
    }

    /// - Parameter statement: selects a status, a quality of service and a number.
    func counts(_ statement: PostgreSQLStatement) throws(StoreError) -> CommandCounts {
        let cells = try read(statement).rows { row throws(StoreError) in
            (try row.status(0), try row.qos(1), row[2] as Int)
        }
        var counts = CommandCounts()
        for (status, qos, count) in cells where count != 0 { counts[status, qos] += count }
        return counts
    }
}

extension CopiedTable {
    private func quoted(_ names: [String]) -> String { names.map { "\"\($0)\"" }.joined(separator: ", ") }

    /// The columns, behind that of the shard.
    private var namesInPostgreSQL: String { quoted((hasShard ? ["shard"] : []) + columns.map(\.name)) }

    /// The rows with the columns that both engines have: PostgreSQL has the newest holder of a key in a table of its own.
    private var rowsInPostgreSQL: String {
        guard kind == .lanes else { return name }
        return "(SELECT shard, key, max, open, \(PostgreSQLShard.newestHolder) AS holder FROM lane l) lane"
    }

    /// The rows behind a position. A page of a table with large values ends at their bytes.
    func select(isFirst: Bool, withoutOpenUploads: Bool) -> PostgreSQLStatement {
        let key = (idColumn == nil ? ["shard"] : []) + key
        let keys = quoted(key)
        let values = (1...key.count).map { "$\($0)" }.joined(separator: ", ")
        let conditions = [
            isFirst ? nil : "(\(keys)) > (\(values))", condition(withoutOpenUploads: withoutOpenUploads),
        ].compactMap { $0 }
        let condition = conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
        let page = """
            SELECT \(namesInPostgreSQL) FROM \(rowsInPostgreSQL)\(condition) ORDER BY \(keys) LIMIT \(CopyLimits.maxRows)
            """
        let sizes = columns.filter(\.isLarge).map { "coalesce(octet_length(\"\($0.name)\"), 0)" }
        let size = sizes.isEmpty ? "0" : sizes.joined(separator: " + ")
        return PostgreSQLStatement(
            "copy-\(isFirst ? "first" : "next")-\(withoutOpenUploads ? "closed-" : "")\(name)",
            """
            SELECT \(namesInPostgreSQL) FROM (
                SELECT *, sum(\(size)) OVER (ORDER BY \(keys) ROWS UNBOUNDED PRECEDING) - (\(size)) AS size_before
                FROM (\(page)) p) p
            WHERE size_before < \(CopyLimits.maxBytes) ORDER BY \(keys)
            """)
    }

    var insertInPostgreSQL: PostgreSQLStatement {
        let types = (hasShard ? ["int8"] : []) + columns.map(\.kind.typeInPostgreSQL)
        let arrays = types.enumerated().map { "$\($0.offset + 1)::\($0.element)[]" }.joined(separator: ", ")
        guard kind != .lanes else { return Self.insertLanes(arrays) }
        return PostgreSQLStatement(
            "copy-to-\(name)", "INSERT INTO \(name)(\(namesInPostgreSQL)) SELECT * FROM unnest(\(arrays))")
    }
}

extension CopiedTable {
    /// No order is known of the commands that wait, so that the first one is sought from the beginning.
    private static func insertLanes(_ arrays: String) -> PostgreSQLStatement {
        PostgreSQLStatement(
            "copy-to-lane",
            """
            WITH copied AS (SELECT * FROM unnest(\(arrays)) c(shard, key, max, open, holder)),
                holders AS (
                    INSERT INTO lane_holder(shard, key, turn) SELECT shard, key, holder FROM copied WHERE holder IS NOT NULL)
            INSERT INTO lane(shard, key, max, open, is_ordered) SELECT shard, key, max, open, false FROM copied
            """)
    }
}

extension CopiedColumn.Kind {
    fileprivate var typeInPostgreSQL: String {
        switch self {
        case .integer: "int8"
        case .boolean: "bool"
        case .text, .reason: "text"
        case .bytes: "bytea"
        case .id: "uuid"
        }
    }
}

extension CopyValue {
    /// A part of a key, which is not NULL.
    var parameter: any PostgreSQLValue {
        switch self {
        case .null: Int64?.none
        case .integer(let value): value
        case .text(let value): value
        case .bytes(let value): value
        case .id(let value): value
        }
    }
}

extension PostgreSQLRow {
    func copied(_ kind: CopiedColumn.Kind, _ column: Int) -> CopyValue {
        if isNull(column) { return .null }
        switch kind {
        case .integer: return .integer(self[column])
        case .boolean: return .integer((self[column] as Bool) ? 1 : 0)
        case .text, .reason: return .text(self[column])
        case .bytes: return .bytes(self[column])
        case .id: return .id(self[column])
        }
    }
}
