internal import Commands

extension StoredCommand {
    /// Reads ``Query/columns`` from the current row.
    init(_ row: Statement, _ connection: Connection) throws(StoreError) {
        command = Command(
            id: try row.id(1), type: row.text(2), destination: connection.destination(row, 5), createdAt: row.time(26))
        command.turn = row.int64(0)
        command.qos = try row.qos(3)
        command.status = try row.status(4)
        command.idempotent = row.bool(6)
        command.claim = row.int(7)
        command.cancelRequested = row.bool(8)
        command.retries = row.int(9)
        command.retryLimit = row.int(10)
        command.crashes = row.int(11)
        command.suspect = row.bool(12)
        command.isSoleSuspect = row.int(12) == Schema.soleSuspect
        command.notBefore = max(row.time(13), .zero)
        command.deadline = row.optionalTime(14)
        openDeadline = row.optionalTime(15)
        command.uniqueKey = row.optionalText(16)
        digest = row.digest(17)
        keyIsFree = row.bool(18)
        command.orderingKey = row.optionalText(19)
        command.offset = row.int64(20)
        command.total = row.int64(21)
        command.seat = row.optionalInt(22)
        epoch = row.optionalInt64(23)
        newestSeq = row.int64(24)
        command.reason = row.optionalText(25)
        command.updatedAt = row.time(27)
        deadAt = row.optionalTime(28)
        command.uniqueFor = UniquePeriod(stored: row.optionalInt64(29))
        relations = CommandRelations(rawValue: row.int(30))
        command.batch = row.isNull(31) ? nil : try row.id(31)
        command.limit = row.optionalText(32)
    }

    /// The column `not_before`, see `command_limited` in ``Schema``.
    var storedNotBefore: Int64 {
        command.limit != nil && command.notBefore <= .zero ? -1 : command.notBefore.milliseconds
    }
}

extension UniqueKeyHolder {
    /// Reads id, turn, fingerprint, unique_for, created_at.
    init(_ row: Statement) throws(StoreError) {
        self.init(
            id: try row.id(0), turn: row.int64(1), digest: row.digest(2),
            period: UniquePeriod(stored: row.optionalInt64(3)), submittedAt: row.time(4))
    }
}

extension Connection {
    /// The first byte of a stored digest. The fingerprint of release 0.1.0 is SHA-256 of the sorted JSON, without it.
    static let digestMark: [UInt8] = [1]
}

extension Statement {
    /// The digest in the column `fingerprint`; nil where there is none, or one in the form of release 0.1.0.
    fileprivate func digest(_ column: Int32) -> [UInt8]? {
        optionalBytes(column).flatMap { $0.count == 33 && $0.first == 1 ? Array($0.dropFirst()) : nil }
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

extension ClaimedCommand {
    /// Reads the columns of `inFlight` and `cancellationRequests`.
    init(_ row: Statement, _ connection: Connection) throws(StoreError) {
        id = try row.id(0)
        status = try row.status(1)
        type = row.text(2)
        qos = try row.qos(3)
        destination = connection.destination(row, 4)
        seat = row.int(5)
        epoch = row.int64(6)
        claim = row.int(7)
        retries = row.int(8)
        suspect = row.bool(9)
        updatedAt = row.time(10)
        limit = row.optionalText(11)
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
    /// The destination in a column. An equal one of the row before is returned again, which saves a string.
    func destination(_ row: Statement, _ column: Int32) -> Destination {
        let isLast = row.withBytes(column) { bytes in
            bytes.count == lastDestination.text.utf8.count && bytes.elementsEqual(lastDestination.text.utf8)
        }
        if !isLast { lastDestination = Destination(unchecked: row.text(column)) }
        return lastDestination
    }

    /// The row of a command; nil where there is none.
    func find(_ id: CommandID) throws(StoreError) -> StoredCommand? {
        try statement(.byID, id).first { row throws(StoreError) in try StoredCommand(row, self) }
    }

    /// All rows of a statement that selects ``Query/columns``.
    func rows(_ statement: Statement) throws(StoreError) -> [StoredCommand] {
        try statement.rows { row throws(StoreError) in try StoredCommand(row, self) }
    }

    func claimedRows(_ query: Query) throws(StoreError) -> [ClaimedCommand] {
        try statement(query).rows { row throws(StoreError) in try ClaimedCommand(row, self) }
    }

    /// Writes all columns of a row that can change.
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
        save.bind(command.isSoleSuspect ? Schema.soleSuspect : command.suspect ? 1 : 0, at: 8)
        save.bind(row.storedNotBefore, at: 9)
        save.bind(command.deadline, at: 10)
        save.bind(row.openDeadline, at: 11)
        save.bind(row.keyIsFree, at: 12)
        save.bind(command.seat, at: 13)
        save.bind(row.epoch, at: 14)
        save.bind(row.newestSeq, at: 15)
        save.bind(command.reason, at: 16)
        save.bind(command.updatedAt, at: 17)
        save.bind(row.deadAt, at: 18)
        try save.run()
        if command.status == .cancelled || command.status == .tooManyTimes { try recordLeftover(of: command) }
        if row.isReady { try statement(.recordReadyAgain, command.turn).run() }
    }
}

/// The statements of single commands, with their payloads and results.
extension Query {
    static let byID = Query("SELECT \(columns) FROM command c WHERE c.id = ?1")
    static let byTurn = Query("SELECT \(columns) FROM command c WHERE c.turn = ?1")
    static let save = Query(
        """
        UPDATE command SET qos = ?2, status = ?3, claim = ?4, cancel_requested = ?5, retries = ?6, crashes = ?7,
        suspect = ?8, not_before = ?9, deadline = ?10, open_deadline = ?11, key_is_free = ?12, seat = ?13,
        epoch = ?14, last = ?15, reason = ?16, updated_at = ?17, dead_at = ?18,
        offset = iif(?3 = 4, total, offset) WHERE turn = ?1
        """)
    static let payload = Query("SELECT p.body FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.id = ?1")
    static let result = Query("SELECT r.body FROM command c CROSS JOIN result r ON r.turn = c.turn WHERE c.id = ?1")
    static let setResult = Query("INSERT OR REPLACE INTO result(turn, body) VALUES (?1, ?2)")
    static let deleteResult = Query("DELETE FROM result WHERE turn = ?1")
    static let byUniqueKey = Query(
        """
        SELECT id, turn, fingerprint, unique_for, created_at FROM command
        WHERE type = ?1 AND ifnull(ordering_key, '') = ?2 AND unique_key = ?3
        AND unique_key IS NOT NULL AND key_is_free = 0
        """)
    /// SQLite searches by the first bounds that it reads. No character is above the last one of Unicode.
    static let byRequestKey = Query(
        """
        SELECT id, unique_key FROM command
        WHERE unique_key >= ?1 AND unique_key < ?1 || char(1114111) AND unique_key >= 'idempotency:' AND unique_key < 'idempotency;' ORDER BY turn DESC
        """)
    static let releaseUniqueKey = Query("UPDATE command SET key_is_free = 1 WHERE turn = ?1")
    static let types = Query("SELECT name FROM type")
    static let addType = Query("INSERT OR IGNORE INTO type(name) VALUES (?1)")
}
