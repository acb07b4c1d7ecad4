internal import CLinux
internal import Commands
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A process's connection to one shard, with its prepared statements and what a transaction gathers.
///
/// `@unchecked Sendable`: it lives inside the mutex of its ``Shard``, and is used only while that is held.
final class Connection: @unchecked Sendable {
    let shard: Int
    private let queue: DatabaseQueue
    let database: OpaquePointer
    private var statements = [Statement?](repeating: nil, count: Query.allCases.count)
    private var others: [String: Statement] = [:]
    private var inserts: [InsertKey: Statement] = [:]
    private let wal = WALSize()
    private let clock = BusyClock()
    var journal = Journal()
    /// What commands looked like when they were claimed here, so that a plain success needs no look at the row.
    var remembered: [CommandID: Remembered] = [:]
    /// The last destination read: rows that follow each other mostly share it.
    var lastDestination = Destination.none

    private struct InsertKey: Hashable {
        var insert: Query.Insert
        var rows: Int
    }

    struct Remembered {
        var turn: Int64
        var claim: Int
        var qos: QualityOfService
        var retries: Int
        var last: Int64
        var seat: Int
    }

    /// More than the largest window of a worker.
    static let rememberedLimit = 4096

    /// Opens a file that is there.
    /// - Parameter isNew: it is empty, and about to become a shard; any other file must be one.
    init(shard: Int, path: String, vfs: String?, isNew: Bool = false) throws(StoreError) {
        self.shard = shard
        _ = Self.preparation
        do {
            queue = try DatabaseQueue(
                path: Self.uri(path, vfs: vfs),
                configuration: Self.configuration(shard, path, isNew: isNew, clock: clock))
            database = try queue.writeWithoutTransaction { db in
                guard let handle = db.sqliteConnection else { throw StoreError(.failed, "SQLite gave no connection") }
                return handle
            }
        } catch let error as DatabaseError {
            throw StoreError(error)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.failed, "\(error)")
        }
        wal.watch(database)
    }

    /// Statements first: a connection with statements left would stay open as a zombie.
    deinit {
        statements.removeAll()
        others.removeAll()
        inserts.removeAll()
    }

    // MARK: Opening

    /// Before the first connection of the process.
    private static let preparation: CInt = clinux_sqlite_configure()

    /// `mode=rw`: a file that is missing is never made anew. What begins with `//` needs an empty authority before it.
    private static func uri(_ path: String, vfs: String?) -> String {
        var uri = path.utf8.first == UInt8(ascii: "/") ? "file://" : "file:"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                uri.unicodeScalars.append(UnicodeScalar(byte))
            default: uri += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
            }
        }
        return uri + "?mode=rw" + (vfs.map { "&vfs=\($0)" } ?? "")
    }

    /// The same for every connection of this program.
    private static func configuration(
        _ shard: Int, _ path: String, isNew: Bool, clock: BusyClock
    ) -> Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .callback { tries in clock.waits(tries) }
        configuration.prepareDatabase { db in
            guard let handle = db.sqliteConnection, clinux_sqlite_keep_wal(UnsafeMutableRawPointer(handle)) == SQLITE_OK
            else { throw StoreError(.failed, "SQLite would checkpoint on closing") }
            // Before anything is changed in somebody else's database.
            let application = try Int32.fetchOne(db, sql: "PRAGMA application_id")
            guard isNew || application == Schema.applicationID else { throw foreign(shard, path) }
            // Debian's SQLite 3.40 can damage a database where checkpoints race: none happens by itself.
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = FULL;
                    PRAGMA wal_autocheckpoint = 0;
                    PRAGMA mmap_size = 0;
                    PRAGMA secure_delete = OFF;
                    PRAGMA temp_store = MEMORY;
                    PRAGMA trusted_schema = OFF;
                    PRAGMA cache_size = -2000;
                    PRAGMA journal_size_limit = \(WALSize.kept);
                    """)
        }
        return configuration
    }

    // MARK: Statements

    func statement(_ query: Query) throws(StoreError) -> Statement {
        if let statement = statements[query.rawValue] { return statement }
        let statement = try Statement(query.sql, on: database)
        statements[query.rawValue] = statement
        return statement
    }

    /// For the few texts that depend on a number or a filter.
    func statement(sql: String) throws(StoreError) -> Statement {
        if let statement = others[sql] { return statement }
        let statement = try Statement(sql, on: database)
        others[sql] = statement
        return statement
    }

    /// An insert of so many rows.
    func statement(_ insert: Query.Insert, rows: Int) throws(StoreError) -> Statement {
        let key = InsertKey(insert: insert, rows: rows)
        if let statement = inserts[key] { return statement }
        let statement = try Statement(insert.sql(rows: rows), on: database)
        inserts[key] = statement
        return statement
    }

    /// Rows that the last statement inserted, updated or deleted.
    var changes: Int32 { sqlite3_changes(database) }

    /// Bytes of WAL after the last commit of this connection.
    var walBytes: Int64 { wal.bytes }

    // MARK: Access

    /// Runs `body` on the connection's queue.
    /// - Parameter timeout: how long another writer's turn is waited for before it is an error, `busy`.
    func use<Value>(
        timeout: Duration = longTimeout, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try queue.writeWithoutTransaction { _ in
            clock.timeout.store(timeout.milliseconds, ordering: .relaxed)
            return Result { () throws(StoreError) in try body() }
        }.get()
    }

    /// Runs `body` in one transaction, durable when this returns; or in none, when it throws.
    func write<Value>(
        timeout: Duration = longTimeout, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try use(timeout: timeout) { () throws(StoreError) in
            try statement(.begin).run()
            do throws(StoreError) {
                let newest = try statement(.newestSeq)
                journal.begin(after: try newest.step() ? newest.int64(0) : 0)
                newest.reset()
                let value = try body(self)
                try flushJournal()
                try statement(.commit).run()
                return value
            } catch {
                remembered.removeAll()
                rollback()
                throw error
            }
        }
    }

    func rollback() {
        // Some errors have ended the transaction already.
        if sqlite3_get_autocommit(database) == 0 { try? statement(.rollback).run() }
    }

    /// Runs any SQL, for what is done once in a while.
    func execute(_ sql: String) throws(StoreError) {
        let code = sqlite3_exec(database, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw StoreError(sqlite: code, on: database) }
    }

    /// Types found in the shard so far.
    var knownTypes: Set<String> = []

    // MARK: Journal

    private func flushJournal() throws(StoreError) {
        let entries = journal.entries
        var next = 0
        for size in Query.transitionSizes {
            while entries.count - next >= size {
                let statement = try statement(.transitions, rows: size)
                var parameter: Int32 = 1
                for entry in entries[next..<next + size] {
                    let transition = entry.transition
                    statement.bind(transition.seq, at: parameter)
                    statement.bind(transition.id, at: parameter + 1)
                    statement.bind(transition.status, at: parameter + 2)
                    statement.bind(transition.at, at: parameter + 3)
                    statement.bind(transition.seat, at: parameter + 4)
                    statement.bind(transition.claim, at: parameter + 5)
                    statement.bind(transition.reason, at: parameter + 6)
                    statement.bind(entry.previous, at: parameter + 7)
                    parameter += 8
                }
                try statement.run()
                next += size
            }
        }
        journal.clearEntries()
        let add = try statement(.addToCount)
        for (cell, change) in journal.deltas.enumerated() where change != 0 {
            add.bind(cell / 5, at: 1)
            add.bind(cell % 5, at: 2)
            add.bind(change, at: 3)
            try add.run()
        }
    }
}

/// Waits for a lock, asking every millisecond. SQLite's own backoff starves whoever waits longest.
private final class BusyClock: Sendable {
    /// In milliseconds.
    let timeout = Atomic<Int64>(longTimeout.milliseconds)
    private let start = Atomic<Int64>(0)

    func waits(_ tries: Int) -> Bool {
        let timeout = timeout.load(ordering: .relaxed)
        guard timeout > 0 else { return false }
        let now = Int64(clinux_monotonic())
        if tries == 0 { start.store(now, ordering: .relaxed) }
        guard now - start.load(ordering: .relaxed) < timeout * 1_000_000 else { return false }
        usleep(1000)
        return true
    }
}
