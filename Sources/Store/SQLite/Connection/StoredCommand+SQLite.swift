internal import Commands

extension StoredCommand {
    /// Reads ``Query/columns`` of the row on which `row` stands.
    init(_ row: Statement, _ connection: Connection) throws(StoreError) {
        var command = Command(
            id: try row.id(1), type: row.text(2), qos: try row.qos(3), status: try row.status(4),
            destination: connection.destination(row, 5), idempotent: row.bool(6), claim: row.int(7),
            cancelRequested: row.bool(8), retries: row.int(9), retryLimit: row.int(10), crashes: row.int(11),
            suspect: row.bool(12), notBefore: row.time(13), deadline: row.optionalTime(14),
            uniqueKey: row.optionalText(16), orderingKey: row.optionalText(19), turn: row.int64(0),
            offset: row.int64(20), total: row.int64(21), seat: row.optionalInt(22), reason: row.optionalText(25),
            createdAt: row.time(26), updatedAt: row.time(27))
        command.uniqueFor = UniquePeriod(stored: row.optionalInt64(29))
        self.init(
            command: command, epoch: row.optionalInt64(23), fingerprint: row.optionalBytes(17), keyIsFree: row.bool(18),
            openDeadline: row.optionalTime(15), deadAt: row.optionalTime(28), last: row.int64(24))
    }
}

extension UniqueKeyHolder {
    /// Reads id, turn, fingerprint, unique_for, created_at.
    init(_ row: Statement) throws(StoreError) {
        self.init(
            id: try row.id(0), turn: row.int64(1), fingerprint: row.optionalBytes(2),
            period: UniquePeriod(stored: row.optionalInt64(3)), start: row.time(4))
    }
}

extension UniquePeriod {
    /// The column `unique_for`.
    var stored: Int64? {
        switch self {
        case .kept: nil
        case .running: 0
        case .duration(let duration): duration.milliseconds
        }
    }

    init(stored: Int64?) {
        switch stored {
        case nil: self = .kept
        case 0?: self = .running
        case let milliseconds?: self = .duration(.milliseconds(milliseconds))
        }
    }
}

extension ClaimedRow {
    /// Reads the columns of `inFlight` and `cancellationRequests`.
    init(_ row: Statement, _ connection: Connection) throws(StoreError) {
        self.init(
            id: try row.id(0), status: try row.status(1), type: row.text(2), qos: try row.qos(3),
            destination: connection.destination(row, 4), seat: row.int(5), epoch: row.int64(6), claim: row.int(7),
            retries: row.int(8), suspect: row.bool(9), updatedAt: row.time(10))
    }
}

extension Session {
    init(_ row: Statement) {
        self.init(
            seat: row.int(0), epoch: row.int64(1), pid: Int32(truncatingIfNeeded: row.int64(2)),
            startTime: row.int64(3),
            bootID: row.text(4))
    }
}

extension Connection {
    /// A destination; the one of the row before where it is equal, which saves a string.
    func destination(_ row: Statement, _ column: Int32) -> Destination {
        let isLast = row.withBytes(column) { bytes in
            bytes.count == lastDestination.text.utf8.count && bytes.elementsEqual(lastDestination.text.utf8)
        }
        if !isLast { lastDestination = Destination(unchecked: row.text(column)) }
        return lastDestination
    }

    /// Reads one command; nil where there is none.
    func find(_ id: CommandID) throws(StoreError) -> StoredCommand? {
        let statement = try statement(.byID)
        statement.bind(id, at: 1)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return try StoredCommand(statement, self)
    }

    /// Reads all rows of a statement that selects ``Query/columns``.
    func rows(_ statement: Statement) throws(StoreError) -> [StoredCommand] {
        defer { statement.reset() }
        var rows: [StoredCommand] = []
        while try statement.step() { rows.append(try StoredCommand(statement, self)) }
        return rows
    }

    func claimedRows(_ query: Query) throws(StoreError) -> [ClaimedRow] {
        let statement = try statement(query)
        defer { statement.reset() }
        var rows: [ClaimedRow] = []
        while try statement.step() { rows.append(try ClaimedRow(statement, self)) }
        return rows
    }

    /// Writes everything that may change of a row.
    func save(_ row: StoredCommand) throws(StoreError) {
        let command = row.command
        let save = try statement(.save)
        save.bind(command.turn, at: 1)
        save.bind(command.qos, at: 2)
        save.bind(command.status, at: 3)
        save.bind(command.claim, at: 4)
        save.bind(command.cancelRequested, at: 5)
        save.bind(command.retries, at: 6)
        save.bind(command.crashes, at: 7)
        save.bind(command.suspect, at: 8)
        save.bind(command.notBefore, at: 9)
        save.bind(command.deadline, at: 10)
        save.bind(row.openDeadline, at: 11)
        save.bind(row.keyIsFree, at: 12)
        save.bind(command.seat, at: 13)
        save.bind(row.epoch, at: 14)
        save.bind(row.last, at: 15)
        save.bind(command.reason, at: 16)
        save.bind(command.updatedAt, at: 17)
        save.bind(row.deadAt, at: 18)
        try save.run()
    }
}
