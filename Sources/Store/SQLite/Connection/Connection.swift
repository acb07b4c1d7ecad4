internal import CLinux
internal import Commands
internal import GRDB
internal import GRDBSQLite
internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A connection of this process to one shard, with its prepared statements and the changes of the running
/// transaction.
///
/// `@unchecked Sendable`: it lives inside a mutex of its ``Shard``, and is used only while that mutex is
/// held.
final class Connection: @unchecked Sendable {
    let shard: Int
    /// The version of the shard when it was opened (``Schema``).
    private(set) var version = Schema.version
    /// Another process has migrated the shard since: this connection must be replaced.
    private(set) var isOutdated = false
    private let queue: DatabaseQueue
    let database: OpaquePointer
    private var statements = StatementCache()
    private let wal = WALSize()
    private let busyTimeout = BusyTimeout()
    var changes = TransactionChanges()
    /// Of the last transaction, on other commands than those that its body has changed.
    private(set) var effects = Effects()
    /// Rows as their claims on this connection left them, so that a plain success need not read the row.
    var cachedClaims: [CommandID: CachedClaim] = [:]
    /// Types read from the shard so far. Types are only ever added, so each of them is still known.
    var knownTypes: Set<String> = []
    /// `meta.id` of the file when it was opened; nil where it has an older version.
    var fileID: String?
    /// The locks of the processes that use the store; nil for a file that no other process uses.
    var run: RunDirectory?
    /// Of the store; nil for a file that no other process uses.
    var clockTrust: ClockTrust?
    /// Programs that do not know of relations are kept from the shard.
    var isForRelations = false
    /// When the file was copied, where it is a backup. Then it can only be read.
    var backupTime: Timestamp?
    /// The last destination read: rows that follow each other mostly share it.
    var lastDestination = Destination.none

    /// The purpose of a connection.
    enum Purpose {
        /// The file is a shard in use, or a backup, which this leaves unchanged.
        case use
        /// The file is empty and becomes a shard.
        case creation
        /// The file is a copy of a shard that no other process uses, and may be changed although it is a backup.
        case copy
    }

    struct CachedClaim {
        var turn: Int64
        var claim: Int
        var qos: QualityOfService
        var retries: Int
        var newestSeq: Int64
        var seat: Int
        /// Of a member of a batch, which is related to no other command.
        var batch: CommandID?
    }

    /// More than the largest window of a worker (2048).
    static let maxCachedClaims = 4096

    /// Opens an existing file.
    init(shard: Int, path: String, vfs: String?, purpose: Purpose = .use) throws(StoreError) {
        self.shard = shard
        _ = Self.preparation
        do {
            queue = try DatabaseQueue(
                path: Self.uri(path, vfs: vfs),
                configuration: Self.configuration(shard, path, purpose, busyTimeout: busyTimeout))
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

    /// Finalizes the statements first: a connection that has statements left stays open as a zombie.
    deinit {
        statements = StatementCache()
    }

    // MARK: Opening

    /// Configures SQLite, once, before the first connection of the process.
    private static let preparation: CInt = clinux_sqlite_configure()

    /// A URI with `mode=rw`, which never makes a missing file. A path that begins with `//` needs an empty
    /// authority before it.
    private static func uri(_ path: String, vfs: String?) -> String {
        let start = path.utf8.first == .slash ? "file://" : "file:"
        return start + path.percentEncodedPath + "?mode=rw" + (vfs.map { "&vfs=\($0)" } ?? "")
    }

    /// The settings of every connection of this program.
    private static func configuration(
        _ shard: Int, _ path: String, _ purpose: Purpose, busyTimeout: BusyTimeout
    ) -> Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .callback { tries in busyTimeout.retriesAfterPause(tries) }
        configuration.prepareDatabase { db in
            guard let handle = db.sqliteConnection, clinux_sqlite_keep_wal(UnsafeMutableRawPointer(handle)) == SQLITE_OK
            else { throw StoreError(.failed, "SQLite would checkpoint on closing") }
            // Before this changes anything: the file may be the database of another program.
            let application = try Int32.fetchOne(db, sql: "PRAGMA application_id")
            guard purpose == .creation || application == Schema.applicationID else { throw foreign(shard, path) }
            if purpose == .use, try Int.fetchOne(db, sql: "SELECT 1 FROM meta WHERE key = 'backup'") != nil {
                return try db.execute(
                    sql: """
                        PRAGMA query_only = ON;
                        PRAGMA mmap_size = 0;
                        PRAGMA temp_store = MEMORY;
                        PRAGMA trusted_schema = OFF;
                        """)
            }
            // SQLite 3.7.0 to 3.51.2 can damage a database when two checkpoints race (the WAL-reset bug), so none
            // happens automatically.
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
                    PRAGMA journal_size_limit = \(WALSize.truncatedSize);
                    """)
        }
        return configuration
    }

    // MARK: Statements

    func statement(_ query: Query) throws(StoreError) -> Statement {
        try statements.statement(query, version: version, on: database)
    }

    /// A statement with its parameters, from 1 on.
    func statement<each Value: StatementParameter>(
        _ query: Query, _ values: repeat each Value
    ) throws(StoreError) -> Statement {
        let statement = try statement(query)
        statement.bind(repeat each values)
        return statement
    }

    /// The statement of a text that depends on a filter, with its parameters, from 1 on.
    func statement<each Value: StatementParameter>(
        sql: String, _ values: repeat each Value
    ) throws(StoreError) -> Statement {
        let statement = try statements.statement(sql, version: version, on: database)
        statement.bind(repeat each values)
        return statement
    }

    /// An insert of `rows` rows.
    func statement(_ insert: Query.Insert, rows: Int) throws(StoreError) -> Statement {
        try statements.statement(insert, rows: rows, version: version, on: database)
    }

    /// The number of rows that the last statement inserted, updated or deleted.
    var changedRows: Int32 { sqlite3_changes(database) }

    /// Bytes of WAL after the last commit of this connection.
    var walBytes: Int64 { wal.bytes }

    // MARK: Access

    /// Runs `body` on the connection's queue.
    /// - Parameter timeout: how long to wait for the write lock that another connection holds.
    /// - Throws: `busy` after `timeout`.
    func use<Value>(
        timeout: Duration = WriteTimeout.foreground, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try queue.writeWithoutTransaction { _ in
            busyTimeout.milliseconds.store(timeout.milliseconds, ordering: .relaxed)
            return Result { () throws(StoreError) in try body() }
        }.get()
    }

    /// Runs `body` in one transaction, durable when this returns. Where `body` throws, nothing is written.
    func write<Value>(
        timeout: Duration = WriteTimeout.foreground, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try use(timeout: timeout) { () throws(StoreError) in try transaction(body) }
    }

    /// As ``write(timeout:_:)``, within ``use(timeout:_:)``.
    func transaction<Value>(_ body: (Connection) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try statement(.begin).run()
        do throws(StoreError) {
            try refuseReplacedFile()
            let newest = try statement(.newestSeq)
            changes.begin(after: try newest.first { $0.int64(0) } ?? 0)
            if newest.takeWasPreparedAgain() { try requireVersion() }
            let value = try body(self)
            try settle()
            try writeChanges()
            try statement(.commit).run()
            return value
        } catch {
            cachedClaims.removeAll()
            rollback()
            throw error
        }
    }

    /// Writes the effects on other commands.
    private func settle() throws(StoreError) {
        effects = Effects()
        guard let now = changes.relatedAt else { return }
        var settlements = Settlements(self, shard: shard, now: now)
        try settlements.run()
        effects = settlements.effects
    }

    /// Goes on with effects that earlier transactions have left.
    func settlePostponed(now: Timestamp, limit: Int) throws(StoreError) -> Effects {
        var settlements = Settlements(self, shard: shard, now: now, limit: limit)
        try settlements.runPostponed()
        return settlements.effects
    }

    /// Uses the statements for a shard of this version from now on.
    func use(version: Int) throws(StoreError) {
        self.version = version
        for substitute in Schema.substitutes where version < substitute.version { try execute(substitute.sql) }
    }

    /// - Throws: where the shard was migrated since this connection opened it; ``isOutdated`` is true then.
    private func requireVersion() throws(StoreError) {
        guard try storedVersion() != version else { return }
        isOutdated = true
        throw StoreError(.busy, "Shard \(shard) was migrated; try again.", shard: shard)
    }

    func rollback() {
        // Some errors of SQLite end the transaction themselves.
        if sqlite3_get_autocommit(database) == 0 { try? statement(.rollback).run() }
    }

    /// Runs SQL that is not worth a prepared statement.
    func execute(_ sql: String) throws(StoreError) {
        let code = sqlite3_exec(database, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw StoreError(sqlite: code, on: database) }
    }

    // MARK: Changes of the transaction

    /// Writes the transitions that the transaction recorded, and adds its changes to the counts.
    private func writeChanges() throws(StoreError) {
        let entries = changes.entries
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
        changes.removeEntries()
        for (cell, change) in changes.countChanges.enumerated() where change != 0 {
            try statement(.addToCount, cell / 5, cell % 5, change).run()
        }
    }
}
