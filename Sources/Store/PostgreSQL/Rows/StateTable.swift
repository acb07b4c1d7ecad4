internal import Commands

/// The four tables of states, one of which has the row of a command.
enum StateTable: String, CaseIterable {
    /// Commands that may run now.
    case ready
    /// Commands that wait for a time, for other commands, or for a person.
    case parked
    case running
    case ended

    init(_ row: StoredCommand) {
        switch row.command.status {
        case .new, .error: self = row.command.notBefore == .zero ? .ready : .parked
        case .blocked, .inDoubt: self = .parked
        case .queued, .sent: self = .running
        case .success, .cancelled, .tooManyTimes: self = .ended
        }
    }
}

/// The statements that read and write the rows of commands. Every look-up is by a primary key.
enum CommandSQL {
    /// The columns that ``StateTable`` changes.
    private static let state = [
        "qos", "status", "claim", "cancel_requested", "retries", "crashes", "suspect", "not_before", "deadline",
        "open_deadline", "key_is_free", "\"offset\"", "total", "seat", "epoch", "last", "reason", "updated_at",
        "dead_at",
        "relations",
    ]
    /// The columns of a table of states with their types, in the order of ``StateRows``: those that differ between rows, and
    /// those that are often equal.
    private static let differing = [
        ("id", "uuid"), ("shard", "int8"), ("turn", "int8"), ("created_at", "int8"), ("last", "int8"),
    ]
    private static let shared = [
        ("type", "text"), ("destination", "text"), ("rate_limit", "text"), ("qos", "int8"), ("status", "int8"),
        ("claim", "int8"), ("cancel_requested", "bool"), ("retries", "int8"), ("crashes", "int8"), ("suspect", "int8"),
        ("not_before", "int8"), ("deadline", "int8"), ("open_deadline", "int8"), ("key_is_free", "bool"),
        ("\"offset\"", "int8"), ("total", "int8"), ("seat", "int8"), ("epoch", "int8"), ("reason", "text"),
        ("updated_at", "int8"), ("dead_at", "int8"), ("relations", "int8"),
    ]
    private static let differingOfCommand = [
        ("id", "uuid"), ("shard", "int8"), ("turn", "int8"), ("unique_key", "text"), ("fingerprint", "bytea"),
        ("payload", "bytea"),
    ]
    private static let sharedOfCommand = [
        ("type", "text"), ("destination", "text"), ("rate_limit", "text"), ("created_at", "int8"),
        ("idempotent", "bool"), ("retry_limit", "int8"), ("unique_for", "int8"), ("ordering_key", "text"),
        ("batch", "uuid"),
    ]

    /// Columns as arrays, which are the first parameters.
    private static func arrays(_ columns: [(name: String, type: String)]) -> String {
        let arrays = columns.enumerated().map { "$\($0.offset + 1)::\($0.element.type)[]" }.joined(separator: ", ")
        return "unnest(\(arrays)) w(\(columns.map(\.name).joined(separator: ", ")))"
    }

    /// Of `c` and `s`, for ``StoredCommand/init(_:)``.
    static let columns =
        ([
            "c.id", "c.turn", "c.type", "c.destination", "c.created_at", "c.idempotent", "c.retry_limit",
            "c.unique_key",
            "c.unique_for", "c.fingerprint", "c.ordering_key", "c.batch", "c.rate_limit",
        ] + state.map { "s.\($0)" }).joined(separator: ", ")
    /// The number of ``columns``.
    static let columnCount = 33

    /// The row of a command as `c`, and its state as `s`.
    /// - Parameters:
    ///   - id: an expression.
    ///   - order: of the tables: the look-up ends at the first that has the row.
    static func row(of id: String, in order: [StateTable] = StateTable.allCases) -> String {
        let names = state.joined(separator: ", ")
        let tables = order.map { "SELECT \(names) FROM \($0.rawValue) WHERE id = \(id)" }
        return """
            JOIN LATERAL (SELECT * FROM command WHERE id = \(id) LIMIT 1) c ON true
            JOIN LATERAL (\(tables.joined(separator: " UNION ALL ")) LIMIT 1) s ON true
            """
    }

    static let byID = PostgreSQLStatement(
        "command-by-id", "SELECT \(columns) FROM unnest($1::uuid[]) w(id) \(row(of: "w.id"))")
    /// For commands that a worker has claimed.
    static let byClaimedID = PostgreSQLStatement(
        "claimed-by-id",
        """
        SELECT \(columns) FROM unnest($1::uuid[]) w(id) \(row(of: "w.id", in: [.running, .ended, .parked, .ready]))
        """)
    static let byTurn = PostgreSQLStatement(
        "command-by-turn",
        """
        SELECT \(columns) FROM (SELECT id FROM related WHERE shard = $1 AND turn = $2 LIMIT 1) w \(row(of: "w.id"))
        """)

    // MARK: Writes

    /// `ended` has no columns of the queue.
    private static func has(_ column: String, _ table: StateTable) -> Bool {
        table != .ended || !["type", "destination", "rate_limit", "created_at"].contains(column)
    }

    private static func insert(
        _ name: String, into table: String, _ columns: [(name: String, type: String)],
        where isIncluded: (String) -> Bool = { _ in true }
    ) -> PostgreSQLStatement {
        let names = columns.map(\.name).filter(isIncluded).joined(separator: ", ")
        return PostgreSQLStatement(name, "INSERT INTO \(table)(\(names)) SELECT \(names) FROM \(arrays(columns))")
    }

    /// - Parameter shared: columns that are one parameter each.
    private static func insertEqual(
        _ name: String, into table: String, _ differing: [(name: String, type: String)],
        _ shared: [(name: String, type: String)], where isIncluded: (String) -> Bool = { _ in true }
    ) -> PostgreSQLStatement {
        let arrays = differing.map(\.name).map { (name: $0, value: "w.\($0)") }
        let once = shared.enumerated().map { index, column in
            (name: column.name, value: "$\(differing.count + index + 1)::\(column.type)")
        }
        let columns = (arrays + once).filter { isIncluded($0.name) }
        return PostgreSQLStatement(
            name,
            """
            INSERT INTO \(table)(\(columns.map(\.name).joined(separator: ", ")))
            SELECT \(columns.map(\.value).joined(separator: ", ")) FROM \(self.arrays(differing))
            """)
    }

    static let insert: [StateTable: PostgreSQLStatement] = byTable { table in
        insert("insert-\(table.rawValue)", into: table.rawValue, differing + shared) { has($0, table) }
    }
    /// For rows that are equal in the shared columns.
    static let insertEqual: [StateTable: PostgreSQLStatement] = byTable { table in
        insertEqual("insert-equal-\(table.rawValue)", into: table.rawValue, differing, shared) { has($0, table) }
    }
    static let update: [StateTable: PostgreSQLStatement] = byTable { table in
        let changes = state.map { "\($0) = w.\($0)" }.joined(separator: ", ")
        return PostgreSQLStatement(
            "update-\(table.rawValue)",
            """
            UPDATE \(table.rawValue) r SET \(changes) FROM \(arrays(differing + shared))
            WHERE r.id = w.id AND r.id = ANY($1::uuid[])
            """)
    }
    static let delete: [StateTable: PostgreSQLStatement] = byTable { table in
        PostgreSQLStatement("delete-\(table.rawValue)", "DELETE FROM \(table.rawValue) WHERE id = ANY($1::uuid[])")
    }

    private static func byTable(
        _ statement: (StateTable) -> PostgreSQLStatement
    ) -> [StateTable: PostgreSQLStatement] {
        Dictionary(uniqueKeysWithValues: StateTable.allCases.map { ($0, statement($0)) })
    }

    static let insertCommands = insert("insert-commands", into: "command", differingOfCommand + sharedOfCommand)
    static let insertEqualCommands = insertEqual(
        "insert-equal-commands", into: "command", differingOfCommand, sharedOfCommand)
}

extension StoredCommand {
    /// Reads ``CommandSQL/columns``, from the first column on.
    init(_ row: borrowing PostgreSQLRow) throws(StoreError) {
        command = Command(
            id: row[0], type: row[2], destination: Destination(unchecked: row[3] as String), createdAt: row[4])
        command.turn = row[1]
        command.idempotent = row[5]
        command.retryLimit = row[6]
        command.uniqueKey = row[7] as String?
        command.uniqueFor = UniquePeriod(stored: row[8] as Int64?)
        digest = row[9] as [UInt8]?
        command.orderingKey = row[10] as String?
        command.batch = row[11] as CommandID?
        command.limit = row[12] as String?
        command.qos = try row.qos(13)
        command.status = try row.status(14)
        command.claim = row[15]
        command.cancelRequested = row[16]
        command.retries = row[17]
        command.crashes = row[18]
        let suspect: Int = row[19]
        command.suspect = suspect > 0
        command.isSoleSuspect = suspect == Schema.soleSuspect
        command.notBefore = row[20]
        command.deadline = row[21] as Timestamp?
        openDeadline = row[22] as Timestamp?
        keyIsFree = row[23]
        command.offset = row[24]
        command.total = row[25]
        command.seat = row[26] as Int?
        epoch = row[27] as Int64?
        newestSeq = row[28]
        command.reason = row[29] as String?
        command.updatedAt = row[30]
        deadAt = row[31] as Timestamp?
        relations = CommandRelations(rawValue: row[32])
    }
}

extension PostgreSQLRow {
    func status(_ column: Int) throws(StoreError) -> CommandStatus {
        let number: Int = self[column]
        guard let status = CommandStatus(rawValue: number) else {
            throw StoreError(.corrupt, "a command has the status \(number), which this program does not know")
        }
        return status
    }

    func qos(_ column: Int) throws(StoreError) -> QualityOfService {
        let number: Int = self[column]
        guard let qos = QualityOfService(rawValue: number) else {
            throw StoreError(
                .corrupt, "a command has the quality of service \(number), which this program does not know")
        }
        return qos
    }

    /// A column with the raw value of an enumeration.
    func value<Value: RawRepresentable<Int>>(_ column: Int, _ subject: String) throws(StoreError) -> Value {
        let number: Int = self[column]
        guard let value = Value(rawValue: number) else { throw StoreError(.corrupt, "\(subject) \(number)") }
        return value
    }
}
