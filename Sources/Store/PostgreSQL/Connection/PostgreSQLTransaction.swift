internal import Commands
internal import Host

/// Statements on one connection within a call: a transaction, or reads outside of one.
///
/// A write is sent with the next read or with the commit, so that it costs no round trip of its own. Not `Sendable`, and not
/// used after the call.
final class PostgreSQLTransaction {
    private let connection: UnsafeMutablePointer<PostgreSQLConnection>
    /// Of the statements that are sent from now on.
    var deadline: MonotonicTime
    private var pending = PostgreSQLPipeline()
    /// The error of a statement, which says how to go on. The roles throw only its ``PostgreSQLError/storeError``.
    private(set) var failure: PostgreSQLError?
    /// The round trips so far that a read has waited for.
    private(set) var reads = 0

    /// Statements beyond which the pending writes are sent.
    private static let maxPending = 2000

    /// - Parameter connection: is valid for as long as this is used.
    init(_ connection: UnsafeMutablePointer<PostgreSQLConnection>, deadline: MonotonicTime) {
        self.connection = connection
        self.deadline = deadline
    }

    /// Adds a statement whose result is not needed.
    func write<each Parameter: PostgreSQLValue>(
        _ statement: PostgreSQLStatement, _ parameters: repeat each Parameter
    ) throws(StoreError) {
        pending.append(statement, repeat each parameters)
        if pending.items.count >= Self.maxPending { _ = try send() }
    }

    /// ``write(_:_:)`` with parameters that a description of a table decides.
    func write(_ statement: PostgreSQLStatement, all parameters: [any PostgreSQLValue]) throws(StoreError) {
        pending.append(statement, all: parameters)
        if pending.items.count >= Self.maxPending { _ = try send() }
    }

    /// ``read(_:_:)`` with parameters that a description of a table decides.
    func read(
        _ statement: PostgreSQLStatement, all parameters: [any PostgreSQLValue]
    ) throws(StoreError) -> PostgreSQLResult {
        let index = pending.append(statement, all: parameters)
        var results = try send()
        return results.take(index)
    }

    /// Runs a statement behind the pending ones.
    func read<each Parameter: PostgreSQLValue>(
        _ statement: PostgreSQLStatement, _ parameters: repeat each Parameter
    ) throws(StoreError) -> PostgreSQLResult {
        let index = pending.append(statement, repeat each parameters)
        reads += 1
        var results = try send()
        return results.take(index)
    }

    /// Runs several statements behind the pending ones, in one round trip.
    /// - Parameters:
    ///   - statements: adds them.
    ///   - read: gets the results, the first of `statements` at the index 0.
    func pipeline<Value>(
        _ statements: (inout PostgreSQLPipeline) -> Void,
        read: (inout PostgreSQLResults, _ first: Int) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let first = pending.items.count
        statements(&pending)
        if pending.items.isEmpty {
            var none = PostgreSQLResults()
            return try read(&none, 0)
        }
        reads += 1
        var results = try send()
        return try read(&results, first)
    }

    private func send() throws(StoreError) -> PostgreSQLResults {
        let pipeline = pending
        pending = PostgreSQLPipeline()
        do throws(PostgreSQLError) {
            return try connection.pointee.pipeline(deadline: deadline) { $0 = pipeline }
        } catch {
            failure = error
            throw error.storeError
        }
    }

    /// Sends the pending statements and commits.
    func commit() throws(PostgreSQLError) {
        let pipeline = pending
        pending = PostgreSQLPipeline()
        _ = try connection.pointee.commit(deadline: deadline) { $0 = pipeline }
    }
}
