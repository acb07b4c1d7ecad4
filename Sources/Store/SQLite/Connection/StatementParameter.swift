internal import Commands
internal import GRDBSQLite

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
