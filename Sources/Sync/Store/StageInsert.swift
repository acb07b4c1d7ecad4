internal import GRDB
internal import GRDBSQLite

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
