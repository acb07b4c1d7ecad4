internal import CPostgreSQL
internal import Commands
internal import Host

/// A connection to a PostgreSQL server. Every call sends a pipeline of prepared statements, takes one round trip and has a
/// deadline; none blocks beyond it. After a lost connection or a passed deadline it is closed, and each call throws.
///
/// `@unchecked Sendable`: it cannot be copied, and each use of it is exclusive, so that one thread at a time is in libpq.
struct PostgreSQLConnection: ~Copyable, @unchecked Sendable {
    /// The state of the transaction that ``transaction(deadline:_:)`` has begun.
    enum TransactionState {
        case none
        /// `BEGIN` goes before the next pipeline.
        case due
        case open
    }

    /// For messages: “PostgreSQL at db1:5432, database “queue”, user “sluice””.
    let server: String
    /// The id of the server's process.
    let backendPID: Int32
    let redaction: PasswordRedaction
    private var handle: LibpqHandle
    private let notices: NoticeReceiver?
    /// The statements that the server has prepared, by name.
    private var prepared: [String: PreparedStatement] = [:]
    private(set) var transactionState = TransactionState.none
    /// The pipelines that were sent.
    private(set) var roundTrips = 0

    /// - Parameter handle: a connection that is established.
    init(_ handle: consuming LibpqHandle, server: String, redaction: PasswordRedaction, notices: NoticeReceiver?) {
        backendPID = handle.pointer.map { cpostgresql_backend_pid($0) } ?? 0
        self.handle = handle
        self.server = server
        self.redaction = redaction
        self.notices = notices
    }

    /// False after the connection was lost or closed. A server that went away since the last call is not noticed.
    var isOpen: Bool { handle.pointer != nil }

    /// Whether the connection is encrypted with TLS.
    var usesTLS: Bool { handle.pointer.map { cpostgresql_uses_tls($0) != 0 } ?? false }

    /// Closes the connection at once, without waiting for the server, which rolls back an open transaction.
    mutating func close() {
        handle.close()
        transactionState = .none
    }

    // MARK: Statements

    /// Runs one statement. Outside of a transaction it is committed when this returns.
    /// - Parameter deadline: of the answer. The connection is closed where it passes, unless it has passed before the call.
    mutating func execute<each Parameter: PostgreSQLValue>(
        _ statement: PostgreSQLStatement, _ parameters: repeat each Parameter, deadline: MonotonicTime
    ) throws(PostgreSQLError) -> PostgreSQLResult {
        var pipeline = PostgreSQLPipeline()
        pipeline.append(statement, repeat each parameters)
        var results = try send(pipeline, deadline: deadline)
        return results.take(0)
    }

    /// Runs statements in one round trip. Outside of a transaction they are one transaction, which is committed when this
    /// returns.
    /// - Parameters:
    ///   - deadline: of the last answer. The connection is closed where it passes.
    ///   - body: adds the statements.
    /// - Throws: the first error. No statement behind it has run.
    mutating func pipeline(
        deadline: MonotonicTime, _ body: (inout PostgreSQLPipeline) -> Void
    ) throws(PostgreSQLError) -> PostgreSQLResults {
        var pipeline = PostgreSQLPipeline()
        body(&pipeline)
        return try send(pipeline, deadline: deadline)
    }

    // MARK: Transactions

    /// Runs a transaction. `BEGIN` travels with its first pipeline, and `COMMIT` with the last one where `body` ends with
    /// ``commit(deadline:_:)``; otherwise `COMMIT` takes a round trip.
    ///
    /// Where `body` throws, the transaction is rolled back.
    /// - Parameters:
    ///   - deadline: of the `COMMIT` that `body` has not sent.
    ///   - body: runs statements on this connection, and none behind ``commit(deadline:_:)``.
    /// - Throws: an error with ``PostgreSQLError/isOutcomeUnknown`` where `COMMIT` was sent and its answer is missing.
    mutating func transaction<Value>(
        deadline: MonotonicTime, _ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Value
    ) throws(PostgreSQLError) -> Value {
        precondition(transactionState == .none, "A transaction begins within another one")
        transactionState = .due
        do throws(PostgreSQLError) {
            let value = try body(&self)
            if transactionState == .open { _ = try commit(deadline: deadline) { _ in } }
            transactionState = .none
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs the last statements of a transaction and commits it, in one round trip.
    mutating func commit(
        deadline: MonotonicTime, _ body: (inout PostgreSQLPipeline) -> Void
    ) throws(PostgreSQLError) -> PostgreSQLResults {
        precondition(transactionState != .none, "There is no transaction to commit")
        return try pipeline(deadline: deadline) { pipeline in
            body(&pipeline)
            pipeline.append(.commit)
        }
    }

    /// A server that is there answers at once: `ROLLBACK` waits for no disk and no lock.
    private static let rollbackTimeout: Duration = .seconds(2)

    /// Frees the locks of the transaction. Where that fails, the connection is closed, which also does.
    private mutating func rollBack() {
        let isBegun = transactionState == .open
        // `send` must not begin it.
        transactionState = isBegun ? .open : .none
        guard isOpen, isBegun else { return }
        do throws(PostgreSQLError) {
            _ = try execute(.rollback, deadline: .now + Self.rollbackTimeout)
        } catch {
            close()
        }
    }

    // MARK: Exchange

    private mutating func send(
        _ pipeline: PostgreSQLPipeline, deadline: MonotonicTime
    ) throws(PostgreSQLError) -> PostgreSQLResults {
        guard let pointer = handle.pointer else { throw .lost(server, "the connection was closed after an error") }
        guard MonotonicTime.now < deadline else {
            let message = "\(server): the time of the call was over before it was sent; try again."
            throw PostgreSQLError(.busy, message, recovery: .repeatTransaction)
        }
        var pipeline = pipeline
        let begins = transactionState == .due
        if begins { pipeline.prepend(.begin) }
        var exchange = PipelineExchange(
            pipeline, to: server, redaction: redaction, isInTransaction: transactionState == .open)
        roundTrips += 1
        let loss = run(&exchange, on: pointer, until: deadline)
        prepared.merge(exchange.prepared) { _, new in new }
        transactionState = exchange.isInTransaction ? .open : .none
        if loss != nil { close() }
        if let loss, !exchange.isCommitted {
            // An error of a statement tells more than the loss of the connection after it.
            var error = exchange.failure ?? .lost(server, redaction.text(loss), outcomeUnknown: exchange.mayBeCommitted)
            error.recovery = .reconnect
            throw error
        }
        if let error = exchange.failure {
            if error.recovery == .reconnect { close() }
            throw error
        }
        var results = exchange.takeResults()
        if begins { results.removeFirst() }
        return results
    }

    /// Sends the pipeline and receives until its end.
    /// - Returns: why the connection can no longer be used; nil where it can.
    private func run(
        _ exchange: inout PipelineExchange, on pointer: OpaquePointer, until deadline: MonotonicTime
    ) -> String? {
        guard exchange.send(on: pointer, known: prepared) else { return handle.message }
        /// Null ends the results of a statement. More in a row are the end of a connection that libpq has given up.
        var ends = 0
        var isLate = false
        while true {
            while cpostgresql_is_busy(pointer) == 0 {
                guard let result = cpostgresql_next_result(pointer) else {
                    ends += 1
                    if ends > 2 { return handle.message }
                    continue
                }
                ends = 0
                switch exchange.receive(result) {
                case .more: continue
                case .done: return nil
                case .lost(let reason): return reason
                }
            }
            // An answer that is there when the deadline passes is read; one that still grows then is not awaited.
            if isLate { return LibpqHandle.lateAnswer }
            isLate = MonotonicTime.now >= deadline
            if let loss = handle.wait(until: deadline) { return loss }
        }
    }
}

extension PostgreSQLConnection {
    /// The lowest version of the server and of libpq: pipelines came with 14.
    static let minVersion = 140_000

    /// Connects to the first server of a location that accepts writes. Tries each address once; the caller repeats.
    ///
    /// The hosts are tried one by one, because libpq moves on to the next one only by its blocking calls
    /// (manual, “PQconnectPoll”: `connect_timeout` is ignored). As in libpq, a refused login ends the search.
    /// - Parameters:
    ///   - deadline: of the whole search. One address takes at most ``PostgreSQLLocation/hostTimeout`` of it.
    ///   - notices: receives the notices and warnings of the server, on the thread that uses the connection, which it leaves
    ///     alone; nil drops them.
    /// - Throws: `.unreachable` where no server is there, with the reason of each; `.permission`, `.missing`, `.invalid`,
    ///   `.unsuitable` as ``PostgreSQLError/Meaning`` says.
    static func open(
        _ location: PostgreSQLLocation, deadline: MonotonicTime,
        notices: (@Sendable (ServerReport) -> Void)? = nil
    ) throws(PostgreSQLError) -> PostgreSQLConnection {
        try loadLibrary()
        for parameter in location.parameters where !isKnown(parameter.name) {
            throw PostgreSQLError(
                .invalid,
                "libpq has no parameter “\(parameter.name.excerpt)”; remove it from the URL of the store \(location).")
        }
        let receiver = notices.map { NoticeReceiver(PasswordRedaction(location.secrets), $0) }
        var reasons: [String] = []
        for (index, host) in targets(of: location) {
            let addresses: [String?]
            switch lookUp(host, in: location, until: end(of: location, deadline)) {
            case .success(let found): addresses = found
            case .failure(let failure):
                reasons.append("\(text(host)): \(failure.reason)")
                continue
            }
            for address in addresses where MonotonicTime.now < deadline {
                let attempt = ConnectionAttempt(location: location, host: host, index: index, address: address)
                switch try attempt.run(until: end(of: location, deadline), notices: receiver) {
                case .connected(let connection): return connection
                case .failed(let reason): reasons.append("\(text(host)): \(reason)")
                }
            }
        }
        if MonotonicTime.now >= deadline { reasons.append("the deadline has passed") }
        throw .lost("The store \(location)", "cannot connect (\(reasons.joined(separator: "; ")))")
    }

    private static func end(of location: PostgreSQLLocation, _ deadline: MonotonicTime) -> MonotonicTime {
        location.hostTimeout.map { min(deadline, .now + $0) } ?? deadline
    }

    /// The hosts with their positions in the URL; one nil where libpq finds the server.
    private static func targets(of location: PostgreSQLLocation) -> [(Int, PostgreSQLLocation.Host?)] {
        location.hosts.isEmpty ? [(0, nil)] : location.hosts.enumerated().map { ($0.offset, $0.element) }
    }

    private static func text(_ host: PostgreSQLLocation.Host?) -> String {
        guard let host else { return "the server of libpq's defaults" }
        let port = host.port.map { ":\($0)" } ?? ""
        return host.name.contains(":") ? "[\(host.name)]\(port)" : "\(host.name)\(port)"
    }

    private static func lookUp(
        _ host: PostgreSQLLocation.Host?, in location: PostgreSQLLocation, until deadline: MonotonicTime
    ) -> Result<[String?], HostLookup.Failure> {
        guard let host, !host.isSocket, location["hostaddr"] == nil else { return .success([nil]) }
        return HostLookup.addresses(of: host.name, until: deadline).map { $0.map { $0 } }
    }

    /// - Parameter version: of the server, as libpq tells it: 150018 is 15.18.
    /// - Throws: `.unsuitable` for a server that is too old.
    static func checkVersion(_ version: Int, of server: String) throws(PostgreSQLError) {
        guard version < minVersion else { return }
        throw PostgreSQLError(
            .unsuitable,
            "\(server): the version is \(version / 10_000).\(version % 10_000), and a store needs PostgreSQL 14 or later."
        )
    }

    // MARK: Library

    private static func isKnown(_ parameter: String) -> Bool { cpostgresql_knows_parameter(parameter) != 0 }

    /// - Throws: `.unsuitable` where libpq is missing or too old.
    static func loadLibrary() throws(PostgreSQLError) {
        var detail: UnsafePointer<CChar>?
        let code = cpostgresql_load(&detail)
        try checkLibrary(code, detail.map { String(cString: $0) } ?? "")
    }

    /// - Parameters:
    ///   - code: of `cpostgresql_load_result`.
    ///   - detail: the text of dlerror(3), or the name of the missing function.
    static func checkLibrary(_ code: CInt, _ detail: String) throws(PostgreSQLError) {
        switch cpostgresql_load_result(rawValue: UInt32(code)) {
        case CPOSTGRESQL_LOADED: return
        case CPOSTGRESQL_FUNCTION_MISSING:
            throw PostgreSQLError(
                .unsuitable,
                "The library libpq.so.5 lacks the function \(detail): it is older than PostgreSQL 14. Install the package "
                    + "libpq5 of version 14 or later.")
        default:
            throw PostgreSQLError(
                .unsuitable,
                "The library libpq.so.5 is missing: install the package libpq5 (Debian, Ubuntu), postgresql-libs (Fedora) or "
                    + "libpq (Alpine) (\(detail)).")
        }
    }
}
