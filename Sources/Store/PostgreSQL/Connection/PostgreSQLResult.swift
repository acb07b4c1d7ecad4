internal import CPostgreSQL

/// The rows of one statement. They live as long as this value.
///
/// `@unchecked Sendable`: nothing changes the rows, and libpq reads them in any thread.
struct PostgreSQLResult: ~Copyable, @unchecked Sendable {
    private let handle: OpaquePointer
    /// The number of rows.
    let count: Int

    init(_ handle: OpaquePointer) {
        self.handle = handle
        count = Int(cpostgresql_row_count(handle))
    }

    deinit { cpostgresql_clear(handle) }

    /// The number of rows that the statement inserted, updated, deleted or selected; 0 for other statements.
    var affectedRows: Int { Int(String(cString: cpostgresql_affected_rows(handle))) ?? 0 }

    /// Reads a row.
    /// - Parameter index: 0 to below ``count``.
    func row<Value, Failure: Error>(
        _ index: Int, _ read: (borrowing PostgreSQLRow) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(index >= 0 && index < count, "There is no row \(index) of \(count)")
        return try read(PostgreSQLRow(handle, CInt(index)))
    }

    /// Reads all rows.
    func rows<Value, Failure: Error>(
        _ read: (borrowing PostgreSQLRow) throws(Failure) -> Value
    ) throws(Failure) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for index in 0..<count { values.append(try read(PostgreSQLRow(handle, CInt(index)))) }
        return values
    }

    /// Reads the first row; nil where there is none.
    func first<Value, Failure: Error>(
        _ read: (borrowing PostgreSQLRow) throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        count == 0 ? nil : try read(PostgreSQLRow(handle, 0))
    }
}

/// One row of a result, in a closure that reads it.
struct PostgreSQLRow: ~Copyable {
    private let handle: OpaquePointer
    private let row: CInt

    fileprivate init(_ handle: OpaquePointer, _ row: CInt) {
        self.handle = handle
        self.row = row
    }

    /// The value of a column, from 0: `let id: CommandID = row[0]`, or `row[1] as Int64?` for one that may be NULL.
    /// - Precondition: the column exists and has this type. The text of the statement decides that, so that a mistake is one
    ///   of the program.
    subscript<Value: PostgreSQLValue>(column: Int) -> Value {
        withBytes(column) { bytes in
            let oid = cpostgresql_column_type(handle, CInt(column))
            guard let type = PostgreSQLType(rawValue: oid), Value.canDecode(type) else {
                preconditionFailure("Column \(column) has the type \(oid), which is not a \(Value.self)")
            }
            guard let value = Value.decode(bytes) else {
                preconditionFailure("Column \(column) is \(bytes == nil ? "NULL" : "malformed"), not a \(Value.self)")
            }
            return value
        }
    }

    func isNull(_ column: Int) -> Bool { withBytes(column) { $0 == nil } }

    /// The bytes of a column, valid during the call; nil for NULL.
    func withBytes<Value>(_ column: Int, _ body: (UnsafeRawBufferPointer?) -> Value) -> Value {
        let index = CInt(column)
        precondition(index >= 0 && index < cpostgresql_column_count(handle), "There is no column \(column)")
        if cpostgresql_value_is_null(handle, row, index) != 0 { return body(nil) }
        return body(
            UnsafeRawBufferPointer(
                start: cpostgresql_value(handle, row, index), count: Int(cpostgresql_value_length(handle, row, index))))
    }
}

/// The results of a pipeline, in the order of its statements.
///
/// `@unchecked Sendable`: as ``PostgreSQLResult``.
struct PostgreSQLResults: ~Copyable, @unchecked Sendable {
    private var handles: [OpaquePointer?] = []

    init() {}

    deinit { for case let handle? in handles { cpostgresql_clear(handle) } }

    /// The number of statements.
    var count: Int { handles.count }

    mutating func append(_ handle: OpaquePointer) { handles.append(handle) }

    /// Removes the first result.
    mutating func removeFirst() { if let handle = handles.removeFirst() { cpostgresql_clear(handle) } }

    /// The result of a statement.
    /// - Parameter index: the position that ``PostgreSQLPipeline/append(_:_:)`` has returned. Each is taken once.
    mutating func take(_ index: Int) -> PostgreSQLResult {
        guard let handle = handles[index] else { preconditionFailure("Result \(index) was taken before") }
        handles[index] = nil
        return PostgreSQLResult(handle)
    }
}
