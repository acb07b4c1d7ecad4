internal import Commands
internal import Host

extension CopiedTable {
    /// The rows that are copied, as a condition; nil for all.
    func condition(withoutOpenUploads: Bool) -> String? {
        kind == .uploads && withoutOpenUploads ? "state <> \(UploadState.open.rawValue)" : nil
    }

    private func nameInSQLite(_ column: String) -> String { "\"\(namesInSQLite[column] ?? column)\"" }

    private var namesInSQLiteOfColumns: String { columns.map { nameInSQLite($0.name) }.joined(separator: ", ") }

    fileprivate func select(isFirst: Bool, withoutOpenUploads: Bool) -> String {
        let keys = key.map(nameInSQLite).joined(separator: ", ")
        let values = (1...key.count).map { "?\($0)" }.joined(separator: ", ")
        let conditions = [
            isFirst ? nil : "(\(keys)) > (\(values))", condition(withoutOpenUploads: withoutOpenUploads),
        ].compactMap { $0 }
        let condition = conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
        return "SELECT \(namesInSQLiteOfColumns) FROM \(name)\(condition) ORDER BY \(keys) LIMIT \(CopyLimits.maxRows)"
    }

    fileprivate var insertInSQLite: String {
        let values = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
        return "INSERT INTO \(name)(\(namesInSQLiteOfColumns)) VALUES (\(values))"
    }
}

/// The rows of a shard, as a copy reads and writes them.
extension Connection {
    /// Checks that the file is shard `number` of a store that can be copied.
    func checkCopied(_ number: Int, _ options: ShardOptions) throws(StoreError) {
        try checkIdentity(number: number, options)
        if let time = backupTime { throw StoreError.backup(in: options.directory, of: time, shard: number) }
        guard version == Schema.version else {
            throw StoreError(
                .foreign,
                "\(options.directory.shard(number)) has version \(version), and a copy needs version \(Schema.version); start "
                    + "“sluice up” on \(options.directory.path) and stop it once, which migrates it, then copy again.",
                shard: number)
        }
    }

    func rowCounts(withoutOpenUploads: Bool) throws(StoreError) -> [CopiedKind: Int] {
        var counts: [CopiedKind: Int] = [
            .commands: Int(try integer("SELECT count(*) FROM command")),
            .results: Int(try integer("SELECT count(*) FROM result")),
            .checkpoints: Int(try integer("SELECT count(*) FROM payload WHERE kept IS NOT NULL")),
            .leftovers: Int(try integer("SELECT count(*) FROM leftover")),
        ]
        for table in CopiedTable.all {
            let condition = table.condition(withoutOpenUploads: withoutOpenUploads).map { " WHERE \($0)" } ?? ""
            counts[table.kind] = Int(try integer("SELECT count(*) FROM \(table.name)\(condition)"))
        }
        return counts
    }

    // MARK: Tables

    func copiedRows(
        of table: CopiedTable, after last: [CopyValue], withoutOpenUploads: Bool
    ) throws(StoreError) -> CopyPage {
        let statement = try statement(
            sql: table.select(isFirst: last.isEmpty, withoutOpenUploads: withoutOpenUploads))
        for (index, value) in last.enumerated() { statement.bind(value, at: Int32(index + 1)) }
        defer { statement.reset() }
        var page = CopyPage()
        var bytes = 0
        while bytes < CopyLimits.maxBytes, try statement.step() {
            var row = CopiedRow(shard: shard, values: [])
            for (index, column) in table.columns.enumerated() {
                row.values.append(try statement.copied(column.kind, Int32(index)))
            }
            page.last = table.keyColumns.map { row.values[$0] }
            bytes += row.size
            page.rows.append(row)
        }
        return page
    }

    func insert(_ row: CopiedRow, into table: CopiedTable) throws(StoreError) {
        let statement = try statement(sql: table.insertInSQLite)
        for (index, value) in row.values.enumerated() { statement.bind(value, at: Int32(index + 1)) }
        try statement.run()
    }

    // MARK: Commands

    private static func selectCommands(isFirst: Bool) -> String {
        """
        SELECT \(Query.columns), p.body, p.kept, r.body, l.due, a.turn
        FROM command c CROSS JOIN payload p ON p.turn = c.turn LEFT JOIN result r ON r.turn = c.turn
        LEFT JOIN leftover l ON l.turn = c.turn LEFT JOIN ready_again a ON a.turn = c.turn
        \(isFirst ? "" : "WHERE c.turn > ?1") ORDER BY c.turn LIMIT \(CopyLimits.maxRows)
        """
    }

    func copiedCommands(after last: [CopyValue]) throws(StoreError) -> CopyPage {
        let statement = try statement(sql: Self.selectCommands(isFirst: last.isEmpty))
        if let turn = last.first { statement.bind(turn, at: 1) }
        defer { statement.reset() }
        var page = CopyPage()
        var bytes = 0
        let next = Query.columnCount
        while bytes < CopyLimits.maxBytes, try statement.step() {
            let command = CopiedCommand(
                row: try StoredCommand(statement, self), payload: statement.bytes(next),
                checkpoint: statement.optionalBytes(next + 1), result: statement.optionalBytes(next + 2),
                leftoverDue: statement.optionalTime(next + 3), isReadyAgain: !statement.isNull(next + 4))
            page.last = [.integer(command.row.command.turn)]
            bytes += command.size
            page.commands.append(command)
        }
        return page
    }

    private static let insertCommand =
        "INSERT INTO command(\(Query.columns.replacing("c.", with: ""))) VALUES ("
        + (1...Query.columnCount).map { "?\($0)" }.joined(separator: ", ") + ")"

    func insert(_ copied: CopiedCommand) throws(StoreError) {
        let (row, command) = (copied.row, copied.row.command)
        let statement = try statement(sql: Self.insertCommand)
        statement.bind(command.turn, command.id, command.type, command.qos, command.status)
        statement.bind(command.destination.text, at: 6)
        statement.bind(command.idempotent, at: 7)
        statement.bind(command.claim, at: 8)
        statement.bind(command.cancelRequested, at: 9)
        statement.bind(command.retries, at: 10)
        statement.bind(command.retryLimit, at: 11)
        statement.bind(command.crashes, at: 12)
        statement.bind(command.isSoleSuspect ? Schema.soleSuspect : command.suspect ? 1 : 0, at: 13)
        statement.bind(row.storedNotBefore, at: 14)
        statement.bind(command.deadline, at: 15)
        statement.bind(row.openDeadline, at: 16)
        statement.bind(command.uniqueKey, at: 17)
        statement.bind(row.digest.map { Self.digestMark + $0 }, at: 18)
        statement.bind(row.keyIsFree, at: 19)
        statement.bind(command.orderingKey, at: 20)
        statement.bind(command.offset, at: 21)
        statement.bind(command.total, at: 22)
        statement.bind(command.seat, at: 23)
        statement.bind(row.epoch, at: 24)
        statement.bind(row.newestSeq, at: 25)
        statement.bind(command.reason, at: 26)
        statement.bind(command.createdAt, at: 27)
        statement.bind(command.updatedAt, at: 28)
        statement.bind(row.deadAt, at: 29)
        statement.bind(command.uniqueFor.stored, at: 30)
        statement.bind(row.relations.rawValue, at: 31)
        statement.bind(command.batch, at: 32)
        statement.bind(command.limit, at: 33)
        try statement.run()
        let payload = try self.statement(sql: "INSERT INTO payload(turn, body, kept) VALUES (?1, ?2, ?3)")
        payload.bind(command.turn, copied.payload, copied.checkpoint)
        try payload.run()
        if let result = copied.result { try self.statement(.setResult, command.turn, result).run() }
        if let due = copied.leftoverDue {
            try self.statement(sql: "INSERT INTO leftover(turn, due) VALUES (?1, ?2)", command.turn, due).run()
        }
        if copied.isReadyAgain { try self.statement(.recordReadyAgain, command.turn).run() }
    }
}

extension CopyValue: StatementParameter {
    func bind(to statement: Statement, at index: Int32) {
        switch self {
        case .null: Int64?.none.bind(to: statement, at: index)
        case .integer(let value): value.bind(to: statement, at: index)
        case .text(let value): value.bind(to: statement, at: index)
        case .bytes(let value): value.bind(to: statement, at: index)
        case .id(let value): value.bind(to: statement, at: index)
        }
    }
}

extension Statement {
    fileprivate func copied(_ kind: CopiedColumn.Kind, _ column: Int32) throws(StoreError) -> CopyValue {
        if isNull(column) { return .null }
        switch kind {
        case .integer, .boolean: return .integer(int64(column))
        case .text, .reason: return .text(text(column))
        case .bytes: return .bytes(bytes(column))
        case .id: return .id(try id(column))
        }
    }
}
