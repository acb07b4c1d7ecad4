internal import Commands
internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The store on a PostgreSQL server, in a schema of its own, shared by any number of processes.
///
/// A commit is one transaction over the shards of its changes, which locks them in ascending order. It reads the rows that it
/// needs, ``StoredCommand`` and ``Settlements`` decide in this process, and it writes the difference. The numbers of a shard
/// are given under its lock, so that they have no holes.
package final class PostgreSQLStore: CommandStore {
    package let shardCount: Int
    package let clock: any StoreClock
    let identity: PostgreSQLSchema.Identity
    let clockTrust: ClockTrust
    let knownTypes = Mutex<Set<String>>([])
    let inboxMarks = Mutex(InboxMarks())
    let readyMarks = Mutex(ReadyMarks())
    let dueMarks = TimeMarks()
    let deadlineMarks = TimeMarks()
    let pool: PostgreSQLPool
    /// The host of this process; nil before ``bind(to:begins:)``.
    let own = Mutex<PostgreSQLHost?>(nil)

    /// How often a transaction that the server has ended for the sake of another one is repeated.
    private static let maxConflicts = 8

    /// Opens the store of a URL.
    /// - Parameters:
    ///   - url: `postgres://user@host1,host2/database?…`.
    ///   - schema: of its tables; nil: that of the parameter `schema` of the URL, else `sluice`.
    ///   - clock: for tests; nil: that of the server.
    /// - Throws: `.unreachable` after 10 s without an answer; `.missing` where there is no store; `.foreign` for one that a
    ///   newer program has made; `.corrupt` for one that a copy has left unfinished.
    package convenience init(
        url: String, schema: String? = nil, clock: (any StoreClock)? = nil
    ) throws(StoreError) {
        try self.init(url: url, schema: schema, clock: clock, allowsUnfinishedCopy: false)
    }

    /// - Parameter allowsUnfinishedCopy: for the copy that fills the store.
    init(
        url: String, schema: String?, clock: (any StoreClock)? = nil, allowsUnfinishedCopy: Bool
    ) throws(StoreError) {
        let (location, _, name) = try Self.location(url, schema)
        let serverClock = clock == nil ? PostgreSQLClock() : nil
        let ownClock: any StoreClock = clock ?? serverClock ?? PostgreSQLClock()
        let pool = PostgreSQLPool(location, named: name, clock: serverClock)
        identity = try Self.repeated(on: pool, timeout: WriteTimeout.foreground, outcomeIsKnown: true) {
            (connection, deadline) throws(PostgreSQLError) in
            try PostgreSQLSchema.check(
                on: &connection, allowsUnfinishedCopy: allowsUnfinishedCopy, deadline: deadline)
        }
        shardCount = identity.shardCount
        self.pool = pool
        self.clock = ownClock
        clockTrust = ClockTrust(ownClock)
    }

    /// Makes the tables of a new store.
    /// - Parameters: as of ``PostgreSQLSchema/create(_:on:shardCount:types:deadline:)``.
    package static func create(
        url: String, schema: String? = nil, shardCount: Int = 64, types: Set<String> = CommandType.builtIn
    ) throws(StoreError) {
        let (location, schema, name) = try Self.location(url, schema)
        let pool = PostgreSQLPool(location, named: name, clock: nil)
        try repeated(on: pool, timeout: .seconds(60), outcomeIsKnown: false) {
            (connection, deadline) throws(PostgreSQLError) in
            try PostgreSQLSchema.create(
                schema, on: &connection, shardCount: shardCount, types: types, deadline: deadline)
        }
    }

    /// Removes a store with all that it has: for tests and measurements.
    package static func remove(url: String, schema: String? = nil) throws(StoreError) {
        let (location, schema, name) = try Self.location(url, schema)
        let pool = PostgreSQLPool(location, named: name, clock: nil)
        try repeated(on: pool, timeout: .seconds(60), outcomeIsKnown: true) {
            (connection, deadline) throws(PostgreSQLError) in
            let statement = PostgreSQLStatement(once: "DROP SCHEMA IF EXISTS \(schema) CASCADE")
            _ = try connection.execute(statement, deadline: deadline)
        }
    }

    /// A URL without its password, for messages.
    /// - Throws: `.invalid` for a text that is not the URL of a store.
    package static func name(ofStoreAt url: String) throws(StoreError) -> String { try location(url, nil).name }

    /// - Throws: as ``name(ofStoreAt:)``.
    package static func schema(ofStoreAt url: String) throws(StoreError) -> String { try location(url, nil).schema }

    /// SQL for the owner of a store: the rights of another role, and the settings of its sessions.
    package static func grants(url: String, to role: String) throws(StoreError) -> String {
        try PostgreSQLSchema.grants(schema(ofStoreAt: url), to: role)
    }

    /// SQL for the owner of a store: the right of another role to submit by SQL.
    package static func producerGrants(url: String, to role: String) throws(StoreError) -> String {
        try PostgreSQLSchema.producerGrants(schema(ofStoreAt: url), to: role)
    }

    /// Whether a URL has a password.
    package static func hasPassword(_ url: String) -> Bool {
        (try? PostgreSQLLocation(url)).map { !$0.secrets.isEmpty } ?? false
    }

    /// The location with the settings of a session, for a role that does not have them (``PostgreSQLSchema/grants(_:to:)``).
    private static func location(
        _ url: String, _ schema: String?
    ) throws(StoreError) -> (PostgreSQLLocation, schema: String, name: String) {
        var location = try PostgreSQLLocation(url)
        let name = location.description
        let schema = schema ?? location["schema"] ?? "sluice"
        guard PostgreSQLSchema.isName(schema) else { throw PostgreSQLSchema.noName(schema) }
        location.parameters.removeAll { $0.name == "schema" }
        // A server on another system refuses to check connections while a statement runs.
        let keepalives = PostgreSQLSchema.connectionSettings.filter { $0.name.hasPrefix("tcp_") }
        let settings = PostgreSQLSchema.sessionSettings + keepalives
        let own = (settings + [("search_path", schema)]).map { "-c \($0.0)=\($0.1)" }
        // Those of the URL come last and count.
        let options = own + [location["options"]].compactMap { $0 }
        location.parameters.removeAll { $0.name == "options" }
        location.parameters.append(.init(name: "options", value: options.joined(separator: " ")))
        return (location, schema, name)
    }

    /// All shards share a commit: PostgreSQL syncs one log.
    package func commitGroup(of shard: Int) -> CommitGroup { CommitGroup(0, shards: 0..<shardCount) }

    package var isClockHeld: Bool {
        clockTrust.isHeld { () throws(StoreError) in
            try setting(SettingKey.clockHold).flatMap { ClockHold(setting: $0) }
        }
    }

    package func storeID() throws(StoreError) -> String? { identity.store }

    // MARK: Calls

    /// Runs `body`, which only reads. Each of its reads sees what was committed before it.
    func read<Value>(
        timeout: Duration = WriteTimeout.foreground, _ body: (PostgreSQLTransaction) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try Self.repeated(on: pool, timeout: timeout, outcomeIsKnown: true) {
            (connection, deadline) throws(PostgreSQLError) in
            try withUnsafeMutablePointer(to: &connection) { pointer throws(PostgreSQLError) in
                try Self.call(PostgreSQLTransaction(pointer, deadline: deadline), body)
            }
        }
    }

    private static let snapshot = PostgreSQLStatement(
        "snapshot", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    /// Runs `body`, whose reads are of one moment.
    func snapshot<Value>(
        shard: Int, _ body: (PostgreSQLShard) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try check(shard)
        return try transaction(timeout: WriteTimeout.foreground, outcomeIsKnown: true) {
            transaction throws(StoreError) in
            try transaction.write(Self.snapshot)
            return try body(
                PostgreSQLShard(shard, of: shardCount, transaction, newest: 0, clockTrust: clockTrust))
        }
    }

    /// Runs `body` in one transaction that holds the locks of shards, durable when this returns.
    /// - Parameters:
    ///   - preload: is read in the round trip of the locks.
    ///   - timeout: how long to wait for other transactions and for the server.
    ///   - body: is called again where the server has ended the transaction for the sake of another one.
    /// - Throws: `unknown` where the answer to the commit never came.
    func change<Value>(
        _ shards: some Collection<Int>, loading preload: PostgreSQLChange.Preload = .init(),
        timeout: Duration = WriteTimeout.foreground, _ body: (PostgreSQLChange) throws(StoreError) -> Value
    ) throws(StoreError) -> (Value, Effects) {
        clockTrust.look()
        for shard in shards { try check(shard) }
        let numbers = Set(shards).sorted()
        var readyAgain: [PostgreSQLShard.ReadyTurn] = []
        // Also where it is not known whether they were committed.
        defer {
            readyMarks.withLock { marks in for ready in readyAgain { marks.lower(ready.shard, ready.key, ready.turn) } }
        }
        return try transaction(timeout: timeout, outcomeIsKnown: false) { transaction throws(StoreError) in
            let change = try PostgreSQLChange(numbers, transaction, loading: preload, store: self)
            let value = try body(change)
            let effects = try change.finish()
            readyAgain = change.readyAgain
            return (value, effects)
        }
    }

    /// ``change(_:timeout:_:)`` of one shard.
    func change<Value>(
        shard: Int, timeout: Duration = WriteTimeout.foreground, _ body: (PostgreSQLShard) throws(StoreError) -> Value
    ) throws(StoreError) -> (Value, Effects) {
        try change([shard], timeout: timeout) { change throws(StoreError) in try body(change.shard(shard)) }
    }

    func check(_ shard: Int) throws(StoreError) {
        guard (0..<shardCount).contains(shard) else {
            throw StoreError(.invalid, "There is no shard \(shard); the store has \(shardCount).")
        }
    }

    /// - Throws: `invalid` for a group of another store.
    func check(_ group: CommitGroup) throws(StoreError) {
        guard group == commitGroup(of: 0) else {
            throw StoreError(.invalid, "The writes of the shards \(group) are not a commit group of this store.")
        }
    }

    /// Runs `body` in one transaction, and again where the server has ended it for the sake of another one.
    /// - Parameter outcomeIsKnown: `body` changes nothing, so that it is repeated whatever became of its commit.
    func transaction<Value>(
        timeout: Duration, outcomeIsKnown: Bool, _ body: (PostgreSQLTransaction) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try Self.repeated(on: pool, timeout: timeout, outcomeIsKnown: outcomeIsKnown) {
            (connection, deadline) throws(PostgreSQLError) in
            let start = MonotonicTime.now
            let value = try connection.transaction(deadline: deadline) { connection throws(PostgreSQLError) in
                try withUnsafeMutablePointer(to: &connection) { pointer throws(PostgreSQLError) in
                    let transaction = PostgreSQLTransaction(pointer, deadline: deadline)
                    let value = try Self.call(transaction, body)
                    try transaction.commit()
                    return value
                }
            }
            if !outcomeIsKnown { pool.statistics.withLock { $0.committed(since: start) } }
            return value
        }
    }

    /// Runs `body` once, in one transaction of any length that holds the locks of all shards, and of the inbox: no other
    /// transaction changes the store, and calls of the function `submit` wait for the end. Each read sees what was committed before it.
    /// - Parameter body: sets ``PostgreSQLTransaction/deadline`` before its calls.
    /// - Throws: `busy` where another transaction holds a lock for longer than 10 s.
    func exclusively<Value>(
        _ body: (PostgreSQLTransaction) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(PostgreSQLError) {
            return try pool.withConnection(deadline: .now + WriteTimeout.foreground) {
                connection throws(PostgreSQLError) in
                try connection.transaction(deadline: .now + WriteTimeout.foreground) {
                    connection throws(PostgreSQLError) in
                    try withUnsafeMutablePointer(to: &connection) { pointer throws(PostgreSQLError) in
                        let transaction = PostgreSQLTransaction(pointer, deadline: .now + .seconds(20))
                        let value = try Self.call(transaction) { transaction throws(StoreError) in
                            try transaction.write(PostgreSQLChange.unlimited)
                            _ = try transaction.read(PostgreSQLChange.lock, Array(0..<shardCount))
                            _ = try transaction.read(PostgreSQLChange.lockInbox)
                            return try body(transaction)
                        }
                        transaction.deadline = .now + .seconds(60)
                        try transaction.commit()
                        return value
                    }
                }
            }
        } catch {
            let locks = [PostgreSQLChange.lock.name, PostgreSQLChange.lockInbox.name]
            guard error.code == .busy, let statement = error.statement, locks.contains(statement) else {
                throw error.storeError
            }
            throw StoreError(
                .busy,
                "The store \(pool.name) is in use: another transaction has held a lock of it for 10 s; stop the processes that work "
                    + "on it, programs that submit by SQL, and a copy that runs, then try again.")
        }
    }

    /// The error of a statement is thrown as the server has reported it, since that says how to go on.
    private static func call<Value>(
        _ transaction: PostgreSQLTransaction, _ body: (PostgreSQLTransaction) throws(StoreError) -> Value
    ) throws(PostgreSQLError) -> Value {
        do throws(StoreError) {
            return try body(transaction)
        } catch {
            throw transaction.failure ?? PostgreSQLError(error)
        }
    }

    /// Runs `body` with a connection, and again where another transaction was preferred, or where the server was lost.
    /// - Parameter outcomeIsKnown: `body` changes nothing, so that it is repeated whatever became of its commit.
    @discardableResult
    private static func repeated<Value>(
        on pool: PostgreSQLPool, timeout: Duration, outcomeIsKnown: Bool,
        _ body: (inout PostgreSQLConnection, _ deadline: MonotonicTime) throws(PostgreSQLError) -> Value
    ) throws(StoreError) -> Value {
        // A timeout of 0 asks for one attempt, which also has to connect.
        let deadline = MonotonicTime.now + max(timeout, .milliseconds(100))
        var conflicts = 0
        // As the server has reported it last. A repetition without time for a statement would hide it.
        var conflict: PostgreSQLError?
        while true {
            do throws(PostgreSQLError) {
                return try pool.withConnection(deadline: deadline) { connection throws(PostgreSQLError) in
                    try body(&connection, deadline)
                }
            } catch {
                if error.isOutcomeUnknown, !outcomeIsKnown {
                    throw StoreError.unknownOutcome(pool.name, error.reason ?? error.description.withoutStop)
                }
                guard MonotonicTime.now < deadline else {
                    let isOwn = error.recovery == .repeatTransaction && error.sqlState == nil
                    throw pool.late(isOwn ? conflict ?? error : error, after: timeout)
                }
                switch error.recovery {
                case .none: throw error.storeError
                case .repeatTransaction:
                    conflicts += 1
                    if error.sqlState != nil { conflict = error }
                    guard conflicts < maxConflicts else { throw error.storeError }
                    pool.statistics.withLock { $0.repeats += 1 }
                    usleep(.random(in: 1000...10_000))
                case .reconnect:
                    pool.closeIdle()
                    usleep(50_000)
                    // A further attempt would only say that it is late.
                    guard MonotonicTime.now < deadline else { throw pool.late(error, after: timeout) }
                }
            }
        }
    }
}

extension PostgreSQLPool {
    /// The error of a call whose time is over.
    fileprivate func late(_ error: PostgreSQLError, after timeout: Duration) -> StoreError {
        guard error.recovery == .reconnect else { return error.storeError }
        return .unreachable(name, error.reason ?? error.description.withoutStop, after: timeout)
    }
}

extension String {
    /// For a sentence that goes on.
    var withoutStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
