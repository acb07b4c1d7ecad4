internal import Commands
internal import GRDBSQLite

/// A prepared statement, kept for the life of its connection. A statement of GRDB costs 3 µs more for each
/// execution.
///
/// It belongs to one ``Connection`` and is used only while that connection is in use.
final class Statement {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    /// The ids that are bound, a slot for each parameter, so that SQLite need not copy them.
    private let ids: UnsafeMutableBufferPointer<(UInt64, UInt64)>

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

    /// Whether SQLite has prepared the statement again since the last call, because the schema has changed.
    func takeWasPreparedAgain() -> Bool { sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_REPREPARE, 1) > 0 }

    // MARK: Parameters, from 1

    func bind(_ value: Int64, at index: Int32) { sqlite3_bind_int64(handle, index, value) }
    func bind(_ value: Int, at index: Int32) { sqlite3_bind_int64(handle, index, Int64(value)) }
    func bind(_ value: Bool, at index: Int32) { sqlite3_bind_int64(handle, index, value ? 1 : 0) }
    func bind(_ value: Timestamp, at index: Int32) { sqlite3_bind_int64(handle, index, value.milliseconds) }
    func bind(_ value: CommandStatus, at index: Int32) { bind(value.rawValue, at: index) }
    func bind(_ value: QualityOfService, at index: Int32) { bind(value.rawValue, at: index) }

    func bind(_ value: Int64?, at index: Int32) {
        if let value { sqlite3_bind_int64(handle, index, value) } else { sqlite3_bind_null(handle, index) }
    }

    func bind(_ value: Int?, at index: Int32) { bind(value.map { Int64($0) }, at: index) }
    func bind(_ value: Timestamp?, at index: Int32) { bind(value?.milliseconds, at: index) }

    func bind(_ id: CommandID, at index: Int32) {
        ids.initializeElement(at: Int(index), to: (id.high.bigEndian, id.low.bigEndian))
        // No destructor: the memory lasts as long as the statement.
        sqlite3_bind_blob(handle, index, ids.baseAddress.map { $0 + Int(index) }, 16, nil)
    }

    func bind(_ id: CommandID?, at index: Int32) {
        if let id { bind(id, at: index) } else { bind(nil as Int64?, at: index) }
    }

    func bind(_ text: String, at index: Int32) {
        var text = text
        text.withUTF8 { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                // A null pointer would bind NULL instead of the empty text.
                _ = sqlite3_bind_text(handle, index, $0.baseAddress ?? Self.empty, Int32($0.count), Self.transient)
            }
        }
    }

    func bind(_ text: String?, at index: Int32) {
        if let text { bind(text, at: index) } else { sqlite3_bind_null(handle, index) }
    }

    func bind(_ bytes: [UInt8], at index: Int32) {
        bytes.withUnsafeBytes {
            if let start = $0.baseAddress, $0.count > 0 {
                _ = sqlite3_bind_blob(handle, index, start, Int32($0.count), Self.transient)
            } else {
                _ = sqlite3_bind_zeroblob(handle, index, 0)
            }
        }
    }

    func bind(_ bytes: [UInt8]?, at index: Int32) {
        if let bytes { bind(bytes, at: index) } else { sqlite3_bind_null(handle, index) }
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

    func status(_ column: Int32) throws(StoreError) -> CommandStatus {
        guard let status = CommandStatus(rawValue: int(column)) else {
            throw StoreError(.corrupt, "a status is \(int64(column))")
        }
        return status
    }

    func qos(_ column: Int32) throws(StoreError) -> QualityOfService {
        guard let qos = QualityOfService(rawValue: int(column)) else {
            throw StoreError(.corrupt, "a quality of service is \(int64(column))")
        }
        return qos
    }

    /// SQLITE_TRANSIENT: SQLite copies the bytes, which are gone when the call returns.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    /// The empty C string. Never written, never freed.
    nonisolated(unsafe) private static let empty: UnsafePointer<CChar> = {
        let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        byte.initialize(to: 0)
        return UnsafePointer(byte)
    }()
}
