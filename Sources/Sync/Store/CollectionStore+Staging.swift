internal import Commands
internal import GRDB
internal import GRDBSQLite

/// Staging: the pages of a read, until they are merged. The records of one page, its counts and the
/// checkpoint behind it are committed together.
extension CollectionStore {
    /// Rows of rejected records that are kept, and the bytes of each.
    static let maxRejectRows = 10_000
    static let maxRejectBody = 4096

    /// Adds elements of a page, in a transaction that stays open until ``commitPage(checkpoint:counts:)``.
    /// - Parameters:
    ///   - page: from 1.
    ///   - rejects: of the page; those above ``maxRejectRows`` are not kept.
    /// - Returns: the keys that were staged before by an item of the list.
    func stage(
        _ batch: StagedBatch, page: Int64, isDelta: Bool, rejects: [(entry: RejectLog.Entry, body: String?)]
    ) throws -> Int {
        try use { db in
            try Self.beginPage(db)
            var duplicates = 0
            try batch.bodies.withUnsafeBytes { bodies in
                let insert = try StageInsert(page: page, bodies: bodies, db)
                defer { insert.end() }
                for record in batch.records where try !insert.run(record) {
                    if try Self.replace(record, isDelta: isDelta, insert, db) { duplicates += 1 }
                }
            }
            guard !rejects.isEmpty else { return duplicates }
            let reject = try db.cachedStatement(sql: "INSERT INTO reject VALUES (NULL, ?, ?, ?, ?, ?)")
            for (entry, body) in rejects {
                try reject.execute(arguments: [entry.page, entry.index, entry.key?.text, entry.reason, body])
            }
            return duplicates
        }
    }

    private static func beginPage(_ db: Database) throws {
        guard !db.isInsideTransaction else { return }
        // A page that a power cut takes is read again.
        try db.execute(sql: "PRAGMA synchronous = NORMAL")
        try db.beginTransaction(.immediate)
    }

    /// Decides between a record and the staged one of the same key.
    /// - Returns: whether it counts as a duplicate.
    private static func replace(
        _ record: StagedRecord, isDelta: Bool, _ insert: StageInsert, _ db: Database
    ) throws -> Bool {
        let number = try Int.fetchOne(
            try db.cachedStatement(sql: "SELECT kind FROM stage WHERE key = ?"), arguments: [record.key])
        guard let staged = number.flatMap({ StagedRecord.Kind(rawValue: $0) }) else { return false }
        let isDuplicate = StagedChange.isDuplicate(record.kind.list, staged.list)
        let replaces =
            record.kind != .rejected
            && (staged == .rejected
                || StagedChange.replaces(record.kind.list, staged.list, isDelta: isDelta))
        if replaces {
            try db.cachedStatement(sql: "DELETE FROM stage WHERE key = ?").execute(arguments: [record.key])
            _ = try insert.run(record)
        }
        return isDuplicate
    }

    /// Commits a page.
    /// - Parameter checkpoint: where a later execution goes on; nil where it begins again.
    func commitPage(checkpoint: SyncCheckpoint?, counts: StagedCounts) throws {
        try use { db in
            try Self.beginPage(db)
            try CollectionState.set(
                .checkpoint, checkpoint.map { String(decoding: $0.bytes, as: UTF8.self) }, db)
            try CollectionState.set(.counts, checkpoint == nil ? nil : counts.text, db)
            try db.commit()
        }
        copyWAL(above: Self.maxStagedWAL)
    }

    /// Drops the part of a page that was staged.
    func rollbackPage() throws {
        try use { db in if db.isInsideTransaction { try db.rollback() } }
    }

    /// Drops all staged pages.
    func dropStage() throws {
        try rollbackPage()
        let hasStage = try use { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM stage) OR EXISTS (SELECT 1 FROM reject WHERE rev IS NULL)
                        OR EXISTS (SELECT 1 FROM state WHERE name IN ('checkpoint', 'counts'))
                    """) ?? false
        }
        guard hasStage else { return }
        try write { db in try Self.clearStage(db) }
        copyWAL(above: Self.maxMergedWAL)
    }

    /// Drops staged pages with which no execution goes on.
    /// - Returns: their records.
    func pruneStage(now: Timestamp) throws -> Int64 {
        if let checkpoint = try checkpoint(), checkpoint.isRecent(at: now) { return 0 }
        let records = try use { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM stage") ?? 0 }
        try dropStage()
        return records
    }

    static func clearStage(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM stage;
                DELETE FROM reject WHERE rev IS NULL;
                DELETE FROM state WHERE name IN ('checkpoint', 'counts');
                """)
    }

    /// The counts of the staged pages, and their first rejects.
    func staged() throws -> (counts: StagedCounts, rejects: [RejectLog.Entry])? {
        try use { db in
            guard let counts = try CollectionState.text(.counts, db).flatMap({ StagedCounts($0) }) else { return nil }
            let rows = try Row.fetchAll(
                db, sql: "SELECT page, n, key, reason FROM reject WHERE rev IS NULL ORDER BY rowid LIMIT ?",
                arguments: [RejectLog.maxEntries])
            let rejects = rows.map { row in
                RejectLog.Entry(
                    page: row.integer(0) ?? 0, index: Int(row.integer(1) ?? 0),
                    key: row.text(2).map { RecordKey(stored: $0) },
                    reason: row.text(3) ?? "")
            }
            return (counts, rejects)
        }
    }
}

extension CollectionStore {
    /// Merges the staged pages in one transaction, which is on disk when this returns.
    func merge(_ plan: MergePlan) throws -> MergeOutcome {
        try rollbackPage()
        let outcome: MergeOutcome
        do {
            outcome = try write { db in
                var merge = try CollectionMerge(plan, db)
                return try merge.run()
            }
        } catch let error as CollectionError where error.problem == .changed {
            // The pages were compared with other rows: the next execution reads them again.
            try dropStage()
            throw error
        }
        copyWAL(above: Self.maxMergedWAL)
        return outcome
    }
}

/// The statement that adds an element to `stage`. It binds the bytes where they stand: GRDB's arguments box
/// each value, and a text of its own for each body costs a copy and a check of its UTF-8, which the scanner
/// has made.
struct StageInsert {
    private static let sql = """
        INSERT INTO stage(key, page, n, kind, version, hash, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6,
            CASE WHEN ?4 = 0 AND EXISTS (SELECT 1 FROM record WHERE key = ?1 AND hash = ?6 AND local = 0)
                THEN NULL ELSE ?7 END)
        ON CONFLICT(key) DO NOTHING
        """

    private let db: Database
    private let handle: OpaquePointer
    private let bodies: UnsafeRawBufferPointer

    /// - Parameters:
    ///   - page: of all elements, from 1.
    ///   - bodies: ``StagedBatch/bodies``, valid until ``end()``.
    init(page: Int64, bodies: UnsafeRawBufferPointer, _ db: Database) throws {
        self.db = db
        self.bodies = bodies
        handle = try db.cachedStatement(sql: Self.sql).sqliteStatement
        sqlite3_reset(handle)
        try check(sqlite3_bind_int64(handle, 2, page))
    }

    /// - Returns: false where an element of the same key is staged; then nothing is written.
    func run(_ record: StagedRecord) throws -> Bool {
        var (key, version) = (record.key, record.version)
        try check(sqlite3_bind_int64(handle, 3, Int64(record.index)))
        try check(sqlite3_bind_int64(handle, 4, Int64(record.kind.rawValue)))
        try check(bind(record.body.map { UnsafeRawBufferPointer(rebasing: bodies[$0]) }, at: 7))
        return try key.withUTF8 { key in
            try check(bind(UnsafeRawBufferPointer(key), at: 1))
            guard version != nil else {
                try check(bind(nil, at: 5))
                return try bindHashAndStep(record)
            }
            return try version?.withUTF8 { version in
                try check(bind(UnsafeRawBufferPointer(version), at: 5))
                return try bindHashAndStep(record)
            } ?? false
        }
    }

    /// Binds a text. No destructor: the memory lasts until the step.
    private func bind(_ text: UnsafeRawBufferPointer?, at index: Int32) -> Int32 {
        guard let text else { return sqlite3_bind_null(handle, index) }
        let start = text.baseAddress?.assumingMemoryBound(to: CChar.self)
        return sqlite3_bind_text(handle, index, start, Int32(text.count), nil)
    }

    private func bindHashAndStep(_ record: StagedRecord) throws -> Bool {
        guard let hash = record.hash else {
            try check(sqlite3_bind_null(handle, 6))
            return try step()
        }
        return try hash.withUnsafeBytes { bytes in
            try check(sqlite3_bind_blob(handle, 6, bytes.baseAddress, Int32(bytes.count), nil))
            return try step()
        }
    }

    private func step() throws -> Bool {
        let code = sqlite3_step(handle)
        // The values are bound anew before the next step: their memory ends here.
        sqlite3_reset(handle)
        guard code == SQLITE_DONE else { throw error(code) }
        return db.changesCount > 0
    }

    /// Lets go of the memory of the last values.
    func end() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    private func check(_ code: Int32) throws { guard code == SQLITE_OK else { throw error(code) } }

    private func error(_ code: Int32) -> DatabaseError {
        DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
    }
}

/// The facts about a complete read that its merge needs.
struct MergePlan: Sendable {
    var payload: SyncPayload
    var command: CommandID
    var read: SyncRead
    var end: PagingEnd
    var everyPageWas200 = true
    var firstPage = ReadFacts.FirstPage.unknown
    var print = ReadPrint()
    /// Of the first read of the command, where this is the second.
    var firstPrint: ReadPrint?
    /// The server's clock minus this host's.
    var clockOffset: Duration
    var validators: ListValidators?
    /// The counts and the token of the read; the merge adds the counts of the rows.
    var result: SyncResult
    /// By this host's clock.
    var now: Timestamp
}

/// The end of a merge.
enum MergeOutcome: Sendable {
    case merged(SyncResult)
    /// Nothing was written: rows are missing, and the first page shows whether the list moved.
    case checkFirstPage
    /// Nothing was written: the list moved, and a second read shows whether missing rows are gone.
    case readAgain
}
