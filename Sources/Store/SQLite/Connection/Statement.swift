internal import Commands
internal import GRDBSQLite

/// A prepared statement, kept for the life of its connection. A statement of GRDB costs 3 µs more for each
/// execution.
///
/// It belongs to one ``Connection`` and is used only while that connection is in use.
final class Statement {
    let handle: OpaquePointer
    private let database: OpaquePointer
    /// The ids that are bound, a slot for each parameter, so that SQLite need not copy them.
    let ids: UnsafeMutableBufferPointer<(UInt64, UInt64)>

    init(_ sql: String, on database: OpaquePointer) throws(StoreError) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw StoreError(sqlite: code, on: database) }
        self.handle = handle
        self.database = database
        ids = .allocate(capacity: Int(sqlite3_bind_parameter_count(handle)) + 1)
    }

    /// A statement that is used once.
    convenience init(_ sql: String, sharing connection: Connection) throws(StoreError) {
        try self.init(sql, on: connection.database)
    }

    deinit {
        sqlite3_finalize(handle)
        ids.deallocate()
    }

    // MARK: Running

    /// Goes to the next row.
    /// - Returns: false after the last row; then the statement is reset.
    func step() throws(StoreError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE {
            sqlite3_reset(handle)
            return false
        }
        let error = StoreError(sqlite: code, on: database)
        sqlite3_reset(handle)
        throw error
    }

    /// Runs a statement without rows.
    func run() throws(StoreError) { while try step() {} }

    /// Ends a statement of which not all rows were read.
    func reset() { sqlite3_reset(handle) }

    /// Reads all rows.
    func rows<Row>(_ read: (Statement) throws(StoreError) -> Row) throws(StoreError) -> [Row] {
        defer { reset() }
        var rows: [Row] = []
        while try step() { rows.append(try read(self)) }
        return rows
    }

    /// Reads the first row; nil where there is none.
    func first<Row>(_ read: (Statement) throws(StoreError) -> Row) throws(StoreError) -> Row? {
        defer { reset() }
        return try step() ? try read(self) : nil
    }

    func hasRow() throws(StoreError) -> Bool {
        defer { reset() }
        return try step()
    }

    /// Whether SQLite has prepared the statement again since the last call, because the schema has changed.
    func takeWasPreparedAgain() -> Bool { sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 }

    // MARK: Parameters

    /// - Parameter index: from 1.
    func bind(_ value: some StatementParameter, at index: Int32) { value.bind(to: self, at: index) }

    /// Binds the parameters from 1 on. It costs 15 ns more for each value than ``bind(_:at:)``, so that the statements of
    /// each command do without it.
    func bind<each Value: StatementParameter>(_ values: repeat each Value) {
        var index: Int32 = 1
        for value in repeat each values {
            value.bind(to: self, at: index)
            index += 1
        }
    }

    // MARK: Columns, from 0

    func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
    func bool(_ column: Int32) -> Bool { sqlite3_column_int64(handle, column) != 0 }
    func time(_ column: Int32) -> Timestamp { Timestamp(milliseconds: int64(column)) }
    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }
    func optionalInt(_ column: Int32) -> Int? { isNull(column) ? nil : int(column) }
    func optionalTime(_ column: Int32) -> Timestamp? { isNull(column) ? nil : time(column) }

    /// The bytes of a column, valid until the statement moves on.
    func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let start = sqlite3_column_blob(handle, column)
        return body(
            UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))))
    }

    func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { [UInt8]($0) } }
    func text(_ column: Int32) -> String { withBytes(column) { String(decoding: $0, as: UTF8.self) } }
    func optionalID(_ column: Int32) throws(StoreError) -> CommandID? { isNull(column) ? nil : try id(column) }
    func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// The id in a column.
    /// - Throws: `.corrupt` where the column has not 16 bytes.
    func id(_ column: Int32) throws(StoreError) -> CommandID {
        let words = withBytes(column) { bytes -> (UInt64, UInt64)? in
            guard bytes.count == 16 else { return nil }
            return (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        guard let words else { throw StoreError(.corrupt, "an id has not 16 bytes") }
        return CommandID(high: words.0, low: words.1)
    }

    func status(_ column: Int32) throws(StoreError) -> CommandStatus { try value(column, "a status is") }

    func qos(_ column: Int32) throws(StoreError) -> QualityOfService { try value(column, "a quality of service is") }

    /// The value of an enumeration.
    /// - Parameter problem: the start of a sentence that ends with the number.
    /// - Throws: `.corrupt` for a number without a value.
    func value<Value: RawRepresentable<Int>>(_ column: Int32, _ problem: String) throws(StoreError) -> Value {
        guard let value = Value(rawValue: int(column)) else {
            throw StoreError(.corrupt, "\(problem) \(int64(column))")
        }
        return value
    }
}

/// A value that a statement can bind.
protocol StatementParameter {
    /// - Parameter index: from 1.
    func bind(to statement: Statement, at index: Int32)
}

extension Int64: StatementParameter {
    func bind(to statement: Statement, at index: Int32) { sqlite3_bind_int64(statement.handle, index, self) }
}

extension Int: StatementParameter {
    func bind(to statement: Statement, at index: Int32) { Int64(self).bind(to: statement, at: index) }
}

extension Bool: StatementParameter {
    func bind(to statement: Statement, at index: Int32) { Int64(self ? 1 : 0).bind(to: statement, at: index) }
}

extension Timestamp: StatementParameter {
    func bind(to statement: Statement, at index: Int32) { milliseconds.bind(to: statement, at: index) }
}

extension CommandStatus: StatementParameter {
    func bind(to statement: Statement, at index: Int32) { rawValue.bind(to: statement, at: index) }
}

extension QualityOfService: StatementParameter {
    func bind(to statement: Statement, at index: Int32) { rawValue.bind(to: statement, at: index) }
}

extension CommandID: StatementParameter {
    func bind(to statement: Statement, at index: Int32) {
        statement.ids.initializeElement(at: Int(index), to: (high.bigEndian, low.bigEndian))
        // No destructor: the memory lasts as long as the statement.
        sqlite3_bind_blob(statement.handle, index, statement.ids.baseAddress.map { $0 + Int(index) }, 16, nil)
    }
}

extension String: StatementParameter {
    func bind(to statement: Statement, at index: Int32) {
        var text = self
        text.withUTF8 { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                // A null pointer would bind NULL instead of the empty text.
                _ = sqlite3_bind_text(
                    statement.handle, index, $0.baseAddress ?? Statement.empty, Int32($0.count), Statement.transient)
            }
        }
    }
}

extension [UInt8]: StatementParameter {
    func bind(to statement: Statement, at index: Int32) {
        withUnsafeBytes {
            if let start = $0.baseAddress, $0.count > 0 {
                _ = sqlite3_bind_blob(statement.handle, index, start, Int32($0.count), Statement.transient)
            } else {
                _ = sqlite3_bind_zeroblob(statement.handle, index, 0)
            }
        }
    }
}

extension Optional: StatementParameter where Wrapped: StatementParameter {
    func bind(to statement: Statement, at index: Int32) {
        if let self { self.bind(to: statement, at: index) } else { sqlite3_bind_null(statement.handle, index) }
    }
}

extension Statement {
    /// SQLITE_TRANSIENT: SQLite copies the bytes, which are gone when the call returns.
    fileprivate static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    /// The empty C string. Never written, never freed.
    nonisolated(unsafe) fileprivate static let empty: UnsafePointer<CChar> = {
        let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        byte.initialize(to: 0)
        return UnsafePointer(byte)
    }()
}

/// The statements that a connection keeps prepared.
struct StatementCache {
    private struct InsertKey: Hashable {
        var insert: Query.Insert
        var rows: Int
    }

    /// By ``Query/index``.
    private var queries: [Statement?] = []
    private var texts: [String: Statement] = [:]
    private var inserts: [InsertKey: Statement] = [:]

    mutating func statement(
        _ query: Query, version: Int, on database: OpaquePointer
    ) throws(StoreError) -> Statement {
        if query.index < queries.count, let statement = queries[query.index] { return statement }
        let statement = try Statement(query.sql(version: version), on: database)
        while queries.count <= query.index { queries.append(nil) }
        queries[query.index] = statement
        return statement
    }

    mutating func statement(
        _ sql: String, version: Int, on database: OpaquePointer
    ) throws(StoreError) -> Statement {
        if let statement = texts[sql] { return statement }
        let statement = try Statement(Query.adapt(sql, to: version), on: database)
        texts[sql] = statement
        return statement
    }

    mutating func statement(
        _ insert: Query.Insert, rows: Int, version: Int, on database: OpaquePointer
    ) throws(StoreError) -> Statement {
        let key = InsertKey(insert: insert, rows: rows)
        if let statement = inserts[key] { return statement }
        let statement = try Statement(insert.sql(rows: rows, version: version), on: database)
        inserts[key] = statement
        return statement
    }
}
