internal import CLinux
internal import Commands
internal import GRDB
internal import Glibc

/// A collection that this process writes to: one SQLite file (``CollectionSchema``). The caller holds its
/// ``CollectionLock``. Every call blocks.
///
/// * Readers see whole revisions: one transaction makes a revision, and WAL lets them read meanwhile.
/// * The files `-wal` and `-shm` stay when the last connection closes, so that a reader without the
///   permission to write can open the file.
/// * Checkpoints happen only while this connection holds the write lock, as for the shards: SQLite 3.7.0 to
///   3.51.2 can damage a file when two connections checkpoint and write at once.
final class CollectionStore: Sendable {
    let path: String
    let queue: DatabaseQueue

    /// Bytes of WAL from which it is copied between two pages.
    static let maxStagedWAL = 32 << 20
    /// Bytes of WAL that may stay behind a merge.
    static let maxMergedWAL = 4 << 20

    /// Opens the collection, and makes the tables of an empty file.
    /// - Throws: ``CollectionError``
    init(_ directory: CollectionDirectory, _ name: String) throws {
        path = directory.file(name)
        do {
            try directory.make(name)
            queue = try DatabaseQueue(path: path, configuration: Self.configuration())
            let path = path
            try queue.writeWithoutTransaction { db in try Self.prepare(db, path) }
        } catch {
            throw CollectionError(error, directory.file(name))
        }
    }

    private static func configuration() -> Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(10)
        // The pages of a sync are staged by several calls within one transaction.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            guard let handle = db.sqliteConnection, clinux_sqlite_keep_wal(UnsafeMutableRawPointer(handle)) == 0 else {
                throw CollectionError(.system, "SQLite would checkpoint on closing")
            }
            try db.execute(
                sql: """
                    PRAGMA wal_autocheckpoint = 0;
                    PRAGMA mmap_size = 0;
                    PRAGMA secure_delete = OFF;
                    PRAGMA cache_size = -8000;
                    PRAGMA journal_size_limit = \(maxStagedWAL);
                    """)
        }
        return configuration
    }

    private static func prepare(_ db: Database, _ path: String) throws {
        let isEmpty = try isWithoutTables(db)
        try requireOwn(db, path, isEmpty: isEmpty)
        // Counts only for a file without tables. Records of 400 bytes are merged a seventh faster than with pages of 4 KiB.
        if isEmpty { try db.execute(sql: "PRAGMA page_size = 8192") }
        try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        guard isEmpty else {
            if try !db.tableExists("missing") { try db.execute(sql: CollectionSchema.makeMissing) }
            return
        }
        try db.inTransaction(.immediate) {
            try db.execute(sql: CollectionSchema.make)
            return .commit
        }
    }

    /// Whether the file belongs to no program: a process made it, and ended before it made the tables.
    static func isWithoutTables(_ db: Database) throws -> Bool {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") == 0
            && (Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0) == 0
    }

    /// - Parameter isEmpty: the file has no tables yet.
    static func requireOwn(_ db: Database, _ path: String, isEmpty: Bool = false) throws {
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        guard application == CollectionSchema.applicationID || isEmpty && application == 0 else {
            throw CollectionError(
                .foreign, "\(path) is not a collection; move it away, or choose another name for the collection")
        }
        guard try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0 <= CollectionSchema.version else {
            throw CollectionError(.foreign, "\(path) was written by a newer version of Sluice; use that version")
        }
    }

    /// Runs `body` with the connection.
    /// - Throws: ``CollectionError``; a ``CommandFailure`` of `body`.
    func use<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try queue.writeWithoutTransaction { db in try body(db) }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CollectionError(error, path)
        }
    }

    /// Runs `body` in one transaction, which is on disk when this returns.
    func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try use { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            var result: Value?
            try db.inTransaction(.immediate) {
                result = try body(db)
                return .commit
            }
            guard let result else { throw CollectionError(.system, "a transaction on \(path) had no end") }
            return result
        }
    }

    // MARK: State

    /// The state after the last merge.
    func state() throws -> SyncState {
        try use { db in
            var state = SyncState()
            state.rev = try CollectionState.number(.rev, db) ?? 0
            if try CollectionState.text(.result, db) != nil {
                state.command = try CollectionState.text(.command, db).flatMap { CommandID($0) }
            }
            state.fingerprint = try CollectionState.text(.payload, db) ?? ""
            state.token = try CollectionState.text(.token, db)
            state.validators = ListValidators(
                etag: try CollectionState.text(.etag, db), lastModified: try CollectionState.text(.lastModified, db),
                pages: 1, read: .full)
            state.lastFull = try CollectionState.number(.lastFull, db).map { Timestamp(milliseconds: $0) }
            state.hasLocalRows =
                try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM record WHERE local <> 0)") ?? false
            return state
        }
    }

    /// Whether the virtual columns are these.
    func hasColumns(_ columns: [CollectionColumn]) throws -> Bool {
        try use { db in try CollectionColumns.text(columns) == CollectionState.text(.columns, db) ?? "" }
    }

    func checkpoint() throws -> SyncCheckpoint? {
        try use { db in try CollectionState.text(.checkpoint, db).flatMap { SyncCheckpoint(Array($0.utf8)) } }
    }

    /// The result of the command that was merged last.
    func result() throws -> [UInt8]? {
        try use { db in try CollectionState.text(.result, db).map { Array($0.utf8) } }
    }

    /// Drops the result and the staged pages of earlier executions of a command, so that the next one reads
    /// the list. The rows that it has merged stay.
    func forgetRuns(of command: CommandID) throws {
        if try checkpoint()?.command == command { try dropStage() }
        guard try state().command == command else { return }
        try write { db in try CollectionState.set(.result, nil, db) }
    }

    // MARK: WAL

    /// Copies the WAL into the file where it has more than `limit` bytes. A failure is ignored: the next call
    /// tries again, and no byte is lost.
    func copyWAL(above limit: Int) {
        var status = stat()
        guard stat("\(path)-wal", &status) == 0, Int(status.st_size) > limit else { return }
        try? use { db in
            // The write lock keeps other connections from starting the WAL over meanwhile.
            try db.inTransaction(.immediate) {
                var configuration = Self.configuration()
                configuration.busyMode = .immediateError
                let second = try DatabaseQueue(path: path, configuration: configuration)
                try second.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)") }
                try second.close()
                return .rollback
            }
        }
    }
}
