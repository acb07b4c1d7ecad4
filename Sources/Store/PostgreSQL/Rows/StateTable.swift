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
    /// The columns that ``StateTable`` changes, in the order of ``StateRows``.
    private static let state = [
        "qos", "status", "claim", "cancel_requested", "retries", "crashes", "suspect", "not_before", "deadline",
        "open_deadline", "key_is_free", "\"offset\"", "total", "seat", "epoch", "last", "reason", "updated_at",
        "dead_at",
        "relations",
    ]
    private static let queue = ["id", "shard", "turn", "type", "destination", "rate_limit", "created_at"]
    /// The types of both.
    private static let types = [
        "uuid", "int8", "int8", "text", "text", "text", "int8", "int8", "int8", "int8", "bool", "int8", "int8", "int8",
        "int8", "int8", "int8", "bool", "int8", "int8", "int8", "int8", "int8", "text", "int8", "int8", "int8",
    ]
    private static let arrays = types.enumerated().map { "$\($0.offset + 1)::\($0.element)[]" }.joined(separator: ", ")

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
    /// - Parameter id: an expression.
    static func row(of id: String) -> String {
        let names = state.joined(separator: ", ")
        let tables = StateTable.allCases.map { "SELECT \(names) FROM \($0.rawValue) WHERE id = \(id)" }
        return """
            JOIN LATERAL (SELECT * FROM command WHERE id = \(id) LIMIT 1) c ON true
            JOIN LATERAL (\(tables.joined(separator: " UNION ALL ")) LIMIT 1) s ON true
            """
    }

    static let byID = PostgreSQLStatement(
        "command-by-id", "SELECT \(columns) FROM unnest($1::uuid[]) w(id) \(row(of: "w.id"))")
    static let byTurn = PostgreSQLStatement(
        "command-by-turn",
        """
        SELECT \(columns) FROM (SELECT id FROM related WHERE shard = $1 AND turn = $2 LIMIT 1) w \(row(of: "w.id"))
        """)

    // MARK: Writes

    /// `ended` has no columns of the queue.
    private static func columns(of table: StateTable) -> [String] {
        (table == .ended ? Array(queue.prefix(3)) : queue) + state
    }

    static let insert: [StateTable: PostgreSQLStatement] = byTable { table in
        let names = columns(of: table).joined(separator: ", ")
        return PostgreSQLStatement(
            "insert-\(table.rawValue)",
            """
            INSERT INTO \(table.rawValue)(\(names)) SELECT \(names) FROM unnest(\(arrays)) w(\((queue + state).joined(separator: ", ")))
            """)
    }
    static let update: [StateTable: PostgreSQLStatement] = byTable { table in
        let changes = state.map { "\($0) = w.\($0)" }.joined(separator: ", ")
        return PostgreSQLStatement(
            "update-\(table.rawValue)",
            """
            UPDATE \(table.rawValue) r SET \(changes) FROM unnest(\(arrays)) w(\((queue + state).joined(separator: ", ")))
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

    static let insertCommands = PostgreSQLStatement(
        "insert-commands",
        """
        INSERT INTO command(id, shard, turn, type, destination, rate_limit, created_at, idempotent, retry_limit, unique_key,
            unique_for, fingerprint, ordering_key, batch, payload)
        SELECT * FROM unnest($1::uuid[], $2::int8[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::bool[],
            $9::int8[], $10::text[], $11::int8[], $12::bytea[], $13::text[], $14::uuid[], $15::bytea[])
        """)
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
