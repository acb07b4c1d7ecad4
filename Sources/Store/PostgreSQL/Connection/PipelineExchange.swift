internal import CPostgreSQL

/// One pipeline on its way: the statements that were sent, and the answers so far.
struct PipelineExchange: ~Copyable {
    /// An answer that is due: of the preparation of a statement, or of the statement. The number is that of the item.
    private enum Answer {
        case preparation(Int)
        case result(Int)
    }

    enum Step {
        case more
        case done
        /// The connection is lost, with libpq's reason.
        case lost(String)
    }

    private let pipeline: PostgreSQLPipeline
    private let server: String
    private let redaction: PasswordRedaction
    private var answers: [Answer] = []
    /// Of the next answer; at the end of ``answers`` only the end of the pipeline is due.
    private var position = 0
    private(set) var results = PostgreSQLResults()
    /// The first error of a statement.
    private(set) var failure: PostgreSQLError?
    /// The statements that the server has prepared, by name.
    private(set) var prepared: [String: PreparedStatement] = [:]
    private(set) var isInTransaction: Bool
    /// Whether the end of the pipeline commits its statements.
    private let isTransactionOfItsOwn: Bool
    /// Whether the server may have a part of it.
    private(set) var isSent = false

    init(
        _ pipeline: PostgreSQLPipeline, to server: String, redaction: PasswordRedaction, isInTransaction: Bool
    ) {
        self.pipeline = pipeline
        self.server = server
        self.redaction = redaction
        self.isInTransaction = isInTransaction
        isTransactionOfItsOwn = !isInTransaction && pipeline.items.allSatisfy { $0.statement.role == .work }
    }

    // MARK: Sending

    /// Hands the pipeline to libpq, which sends a part of it.
    /// - Parameter known: the statements that the connection has prepared before.
    /// - Returns: false where the connection is lost.
    mutating func send(on connection: OpaquePointer, known: [String: PreparedStatement]) -> Bool {
        isSent = true
        // A null address would be NULL instead of an empty value.
        let isHandedOver = pipeline.bytes.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
                empty[0] = 0
                let values = pipeline.values.map { value -> UnsafePointer<CChar>? in
                    guard value.length >= 0 else { return nil }
                    return base.map { $0 + value.offset } ?? UnsafePointer(empty.baseAddress)
                }
                return send(on: connection, known: known, values)
            }
        }
        return isHandedOver && cpostgresql_pipeline_sync(connection) == 1
    }

    private mutating func send(
        on connection: OpaquePointer, known: [String: PreparedStatement], _ values: [UnsafePointer<CChar>?]
    ) -> Bool {
        let lengths = pipeline.values.map { max($0.length, 0) }
        let formats = [CInt](repeating: 1, count: values.count)
        var sent: Set<String> = []
        for (number, item) in pipeline.items.enumerated() {
            let (statement, parameters) = (item.statement, item.parameters)
            let form = pipeline.prepared(item)
            let count = CInt(parameters.count)
            if !statement.name.isEmpty {
                if let first = known[statement.name] {
                    precondition(first == form, "“\(statement.name)” has another text or other parameters than before")
                } else if sent.insert(statement.name).inserted {
                    guard cpostgresql_send_prepare(connection, statement.name, form.sql, count, form.types) == 1 else {
                        return false
                    }
                    answers.append(.preparation(number))
                }
            }
            let isSent = Self.slices(values, lengths, formats, parameters) { values, lengths, formats in
                statement.name.isEmpty
                    ? cpostgresql_send_query(connection, form.sql, count, form.types, values, lengths, formats)
                    : cpostgresql_send_prepared(connection, statement.name, count, values, lengths, formats)
            }
            guard isSent == 1 else { return false }
            answers.append(.result(number))
        }
        return true
    }

    private static func slices(
        _ values: [UnsafePointer<CChar>?], _ lengths: [Int32], _ formats: [CInt], _ range: Range<Int>,
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<CInt>?) -> CInt
    ) -> CInt {
        values.withUnsafeBufferPointer { values in
            lengths.withUnsafeBufferPointer { lengths in
                formats.withUnsafeBufferPointer { formats in
                    body(
                        values.baseAddress.map { $0 + range.lowerBound },
                        lengths.baseAddress.map { $0 + range.lowerBound },
                        formats.baseAddress.map { $0 + range.lowerBound })
                }
            }
        }
    }

    // MARK: Receiving

    /// Takes the next result of the connection, and owns it.
    mutating func receive(_ result: OpaquePointer) -> Step {
        let status = cpostgresql_status(rawValue: UInt32(cpostgresql_result_status(result)))
        switch status {
        case CPOSTGRESQL_PIPELINE_SYNC:
            cpostgresql_clear(result)
            return .done
        case CPOSTGRESQL_COMMAND_OK, CPOSTGRESQL_TUPLES_OK:
            receive(success: result)
            return .more
        case CPOSTGRESQL_PIPELINE_ABORTED:
            cpostgresql_clear(result)
            position += 1
            return .more
        case CPOSTGRESQL_FATAL_ERROR, CPOSTGRESQL_NONFATAL_ERROR:
            defer { cpostgresql_clear(result) }
            guard let report = ServerReport(result) else {
                return .lost(LibpqHandle.line(String(cString: cpostgresql_result_message(result))))
            }
            return receive(report.redacted(by: redaction))
        default:
            cpostgresql_clear(result)
            return .lost("the server has sent a result of the kind \(status.rawValue), as only COPY has one")
        }
    }

    private mutating func receive(success result: OpaquePointer) {
        guard position < answers.count else { return cpostgresql_clear(result) }
        defer { position += 1 }
        switch answers[position] {
        case .preparation(let number):
            cpostgresql_clear(result)
            prepared[pipeline.items[number].statement.name] = pipeline.prepared(pipeline.items[number])
        case .result(let number):
            switch pipeline.items[number].statement.role {
            case .work: break
            case .begin: isInTransaction = true
            case .rollback: isInTransaction = false
            case .commit:
                isInTransaction = false
                // COMMIT ends a failed transaction without an error.
                if String(cString: cpostgresql_command_tag(result)) != "COMMIT" {
                    let message = "\(server): the transaction had failed before its COMMIT."
                    failure = failure ?? PostgreSQLError(.failed, message)
                }
            }
            results.append(result)
        }
    }

    private mutating func receive(_ report: ServerReport) -> Step {
        if report.closesConnection, isCommitted { return .lost(report.message) }
        let number: Int? =
            switch position < answers.count ? answers[position] : nil {
            case .preparation(let number), .result(let number): number
            case nil: nil
            }
        let statement = number.map { pipeline.items[$0].statement }
        let name = statement.map { $0.name.isEmpty ? "unnamed" : $0.name }
        var error = PostgreSQLError(report, from: server, statement: name)
        // A server that ends a connection may have committed before.
        if report.closesConnection, mayBeCommitted, statement == nil || statement?.role == .commit {
            error = .lost(server, report.message, outcomeUnknown: true)
            error.sqlState = report.sqlState
        }
        // A COMMIT that fails ends the transaction too.
        if position < answers.count, case .result = answers[position], statement?.role == .commit {
            isInTransaction = false
        }
        position += 1
        failure = failure ?? error
        return report.closesConnection ? .lost(report.message) : .more
    }

    /// Whether the statements may be committed where no more answers come. False once a statement has failed: the server
    /// leaves out all behind it.
    var mayBeCommitted: Bool { isSent && failure == nil && (isTransactionOfItsOwn || commits) }

    /// Whether every statement has its answer and the last one has committed them, so that only the end of the pipeline is
    /// missing.
    var isCommitted: Bool {
        failure == nil && position == answers.count && pipeline.items.last?.statement.role == .commit
    }

    private var commits: Bool { pipeline.items.contains { $0.statement.role == .commit } }

    consuming func takeResults() -> PostgreSQLResults { results }
}
