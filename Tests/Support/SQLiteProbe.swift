import GRDBSQLite

/// An SQLite connection of a test to the file of a shard. It never checkpoints.
package final class SQLiteProbe {
    private var handle: OpaquePointer?

    package init(_ path: String, flags: Int32 = SQLITE_OPEN_READWRITE) throws {
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK else { throw Missed("\(path): \(String(cString: sqlite3_errstr(code)))") }
        sqlite3_busy_timeout(handle, 10_000)
        try run("PRAGMA wal_autocheckpoint = 0")
    }

    package convenience init(creating path: String) throws {
        try self.init(path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    }

    deinit { sqlite3_close_v2(handle) }

    package func run(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw problem(sql) }
    }

    /// The first column of every row.
    package func texts(_ sql: String, column: Int32 = 0) throws -> [String] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw problem(sql) }
        defer { sqlite3_finalize(statement) }
        var rows: [String] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: rows.append(sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "")
            case SQLITE_DONE: return rows
            default: throw problem(sql)
            }
        }
    }

    package func text(_ sql: String) throws -> String { try texts(sql).first ?? "" }
    package func number(_ sql: String) throws -> Int { Int(try text(sql)) ?? -1 }
    package func plan(_ sql: String) throws -> String {
        try texts("EXPLAIN QUERY PLAN \(sql)", column: 3).joined(separator: "\n")
    }

    /// The number of instructions of SQLite's virtual machine that a statement needs.
    package func steps(_ sql: String) throws -> Int {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw problem(sql) }
        defer { sqlite3_finalize(statement) }
        while sqlite3_step(statement) == SQLITE_ROW {}
        return Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0))
    }

    private func problem(_ sql: String) -> Missed { Missed("\(sql): \(String(cString: sqlite3_errmsg(handle)))") }
}
