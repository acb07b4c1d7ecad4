internal import Commands
internal import Host

/// The store of a schema that is copied, in one transaction that holds the locks of all shards.
final class PostgreSQLCopySource: CopySource {
    let name: String
    let store: String
    let shardCount: Int
    let directory: DataDirectory?
    private let generation: Int64
    private let transaction: PostgreSQLTransaction

    /// Opens the store and runs `body` while nothing changes it.
    /// - Throws: `.busy` where another transaction holds a lock for longer than 10 s.
    static func open<Value>(
        _ url: String, _ schema: String?, name: String, _ body: (PostgreSQLCopySource) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let store = try PostgreSQLStore(url: url, schema: schema)
        return try store.exclusively { transaction throws(StoreError) in
            try store.refuseProcesses()
            let directory = try store.readHost().flatMap { store.localDirectory(of: $0.host) }
            return try body(PostgreSQLCopySource(store, name: name, in: directory, transaction))
        }
    }

    private init(
        _ store: PostgreSQLStore, name: String, in directory: DataDirectory?, _ transaction: PostgreSQLTransaction
    ) {
        self.name = name
        self.directory = directory
        self.store = store.identity.store
        shardCount = store.shardCount
        generation = store.identity.generation
        self.transaction = transaction
    }

    /// The order of a table is that of its primary key, so most parts have all shards.
    var parts: [CopyPart] { [CopyPart()] + (CopiedTable.all + [.inbox]).map { CopyPart(table: $0) } }

    /// For statements whose time grows with the store.
    private func allowLong() { transaction.deadline = .now + CopySQL.longTimeout }

    // MARK: Facts

    private static let claims = PostgreSQLStatement(
        once: "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM running)")
    private static let openUploads = PostgreSQLStatement(
        once: "SELECT id, count(*) OVER () FROM upload WHERE state = 0 ORDER BY id LIMIT 3")
    private static let spooledUploads = PostgreSQLStatement(
        once: "SELECT count(*) FROM upload \(CopiedTable.isSpooled)")
    private static let olderThanSpool = PostgreSQLStatement(
        once: "SELECT 1 FROM meta WHERE key = 'older_than_spool'")
    private static let inboxCount = PostgreSQLStatement(once: "SELECT count(*) FROM inbox")
    private static let floors = PostgreSQLStatement(
        once: """
            SELECT s.number, coalesce((SELECT p.seq FROM pruned p WHERE p.shard = s.number), 0)
            FROM shard s ORDER BY s.number
            """)
    private static let message = PostgreSQLStatement(
        once: "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM message_number")
    private static let settings = PostgreSQLStatement(once: "SELECT key, value FROM setting ORDER BY key")
    private static let types = PostgreSQLStatement(once: "SELECT name FROM type")
    private static let counts = PostgreSQLStatement(
        once: """
            SELECT status, qos, sum(n)::int8 FROM (
                SELECT status, qos, n FROM count UNION ALL SELECT status, qos, n FROM count_delta) c
            GROUP BY status, qos
            """)

    func claims() throws(StoreError) -> (sessions: Int, claimed: Int) {
        allowLong()
        return try transaction.read(Self.claims).first { row in
            (sessions: row[0] as Int, claimed: row[1] as Int)
        } ?? (0, 0)
    }

    func openUploads() throws(StoreError) -> (count: Int, first: [CommandID]) {
        allowLong()
        let rows = try transaction.read(Self.openUploads).rows { row in (row[0] as CommandID, row[1] as Int) }
        return (rows.first?.1 ?? 0, rows.map(\.0))
    }

    func spooledUploads() throws(StoreError) -> Int {
        allowLong()
        return try transaction.read(Self.spooledUploads).first { row in row[0] as Int } ?? 0
    }

    func isOlderThanSpool() throws(StoreError) -> Bool { try transaction.read(Self.olderThanSpool).count > 0 }

    func inboxCount() throws(StoreError) -> Int {
        allowLong()
        return try transaction.read(Self.inboxCount).first { row in row[0] as Int } ?? 0
    }

    func facts() throws(StoreError) -> CopyFacts {
        allowLong()
        var facts = CopyFacts()
        // A turn is not above the number of the command's first transition.
        facts.floors = try transaction.read(Self.floors).rows { row in
            CopyFacts.Floor(seq: row[1], turn: row[1])
        }
        facts.message = try transaction.read(Self.message).first { row in row[0] as Int64 } ?? 0
        facts.settings = try transaction.read(Self.settings).rows { row in
            (key: row[0] as String, value: row[1] as String)
        }.filter { CopyFacts.isCopied(setting: $0.key) }
        facts.types = Set(try transaction.read(Self.types).rows { row in row[0] as String })
        facts.generation = generation
        return facts
    }

    func counts() throws(StoreError) -> CommandCounts {
        allowLong()
        return try transaction.counts(Self.counts)
    }

    func rowCounts(withoutOpenUploads: Bool) throws(StoreError) -> CopyRowCounts {
        allowLong()
        return try transaction.rowCounts(shardCount: shardCount, withoutOpenUploads: withoutOpenUploads)
    }

    // MARK: Pages

    func page(_ part: CopyPart, after last: [CopyValue], withoutOpenUploads: Bool) throws(StoreError) -> CopyPage {
        transaction.deadline = .now + CopySQL.pageTimeout
        guard let table = part.table else { return try commands(after: last) }
        let statement = table.select(isFirst: last.isEmpty, withoutOpenUploads: withoutOpenUploads)
        var page = CopyPage()
        let first = table.hasShard ? 1 : 0
        let shardCount = shardCount
        page.rows = try transaction.read(statement, all: last.map(\.parameter)).rows { row in
            var values: [CopyValue] = []
            for (index, column) in table.columns.enumerated() {
                values.append(row.copied(column.kind, first + index))
            }
            let id = table.idColumn.flatMap { values[$0].id }
            let shard = id?.shard(of: shardCount) ?? (first > 0 ? row[0] as Int : 0)
            return CopiedRow(shard: shard, values: values)
        }
        if let row = page.rows.last {
            page.last =
                (table.idColumn == nil ? [.integer(Int64(row.shard))] : []) + table.keyColumns.map { row.values[$0] }
        }
        return page
    }

    private func commands(after last: [CopyValue]) throws(StoreError) -> CopyPage {
        let statement = last.isEmpty ? CopySQL.firstCommands : CopySQL.nextCommands
        var page = CopyPage()
        page.commands = try transaction.read(statement, all: last.map(\.parameter)).rows { row throws(StoreError) in
            let next = CommandSQL.columnCount
            return CopiedCommand(
                row: try StoredCommand(row), payload: row[next], checkpoint: row[next + 1] as [UInt8]?,
                result: row[next + 2] as [UInt8]?, leftoverDue: row[next + 3] as Timestamp?,
                isReadyAgain: row[next + 4])
        }
        page.last = page.commands.last.map { [.id($0.row.id)] } ?? []
        return page
    }
}
