internal import Commands
internal import GRDB
internal import HTTPClient
internal import Operations
internal import Transfers

/// A column of a collection that is computed from the JSON of its records.
struct CollectionColumn: Sendable, Equatable {
    static let maxColumns = 64
    /// The columns of the table itself. SQLite compares names without case.
    static let reserved: Set<String> = [
        "key", "body", "hash", "version", "rev", "base_rev", "local", "remote", "rowid", "oid", "_rowid_",
    ]

    var name: String
    var pointer: JSONPointer

    static func columns(_ reader: inout PayloadReader) throws(PayloadError) -> [CollectionColumn] {
        guard let value = reader.take("columns") else { return [] }
        guard let members = value.members else {
            throw PayloadError(.data, "“columns” must be an object of names and pointers, not \(value.kind)")
        }
        guard members.count <= maxColumns else {
            throw PayloadError(.data, "“columns” has more than \(maxColumns) columns")
        }
        var names = reserved
        var columns: [CollectionColumn] = []
        for member in members {
            guard isName(member.name) else {
                throw PayloadError(
                    .data,
                    "“\(member.name.prefix(80))” in “columns” is not the name of a column; it has 1 to 63 letters, "
                        + "digits and underscores, and no digit first")
            }
            guard names.insert(member.name.lowercased()).inserted else {
                throw PayloadError(.data, "“\(member.name)” in “columns” is the name of another column; choose another")
            }
            guard let text = member.value.string else {
                throw PayloadError(.data, "“\(member.name)” in “columns” must be a pointer, not \(member.value.kind)")
            }
            let pointer = try PayloadReader.pointer(text, "columns")
            guard pointer.tokens.allSatisfy({ !$0.contains { $0 < 0x20 || "\"\\".utf8.contains($0) } }) else {
                throw PayloadError(
                    .data,
                    "“\(member.name)” in “columns” leads to a name with a quote, a backslash or a control character, "
                        + "which SQLite cannot find")
            }
            columns.append(CollectionColumn(name: member.name, pointer: pointer))
        }
        return columns
    }

    /// The expression of the column in SQL. A number in the pointer is an index of an array or a name.
    var expression: String {
        func extract(_ step: ([UInt8]) -> String) -> String {
            let path = "$" + pointer.tokens.map(step).joined()
            return "json_extract(body, '\(path.replacing("'", with: "''"))')"
        }
        func name(_ token: [UInt8]) -> String { ".\"\(String(decoding: token, as: UTF8.self))\"" }
        let byName = extract(name)
        let byIndex = extract { token in JSONPointer.index(token).map { "[\($0)]" } ?? name(token) }
        return byName == byIndex ? byName : "coalesce(\(byIndex), \(byName))"
    }

    private static func isName(_ name: String) -> Bool {
        func isFirst(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "_") || byte.isLetter }
        guard let first = name.utf8.first, isFirst(first), name.utf8.count <= 63 else { return false }
        return name.utf8.allSatisfy { isFirst($0) || $0.isASCIIDigit }
    }
}

/// The virtual columns of `record`, each with an index. Their values are computed from `body`.
enum CollectionColumns {
    /// The names, in the order in which they were made.
    static func names(_ db: Database) throws -> [String] {
        // 2: a virtual column (PRAGMA table_xinfo).
        try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo('record') WHERE hidden = 2")
    }

    /// Makes exactly these columns. One that stays as it is costs nothing.
    static func set(_ columns: [CollectionColumn], _ db: Database) throws {
        let present = try names(db)
        let known = try CollectionState.text(.columns, db) ?? ""
        let wanted = text(columns)
        guard known != wanted || present.count != columns.count else { return }
        for name in present {
            try db.execute(sql: "DROP INDEX IF EXISTS \(index(name)); ALTER TABLE record DROP COLUMN \(quoted(name))")
        }
        for column in columns {
            try db.execute(
                sql: """
                    ALTER TABLE record ADD COLUMN \(quoted(column.name)) AS (\(column.expression)) VIRTUAL;
                    CREATE INDEX \(index(column.name)) ON record(\(quoted(column.name)));
                    """)
        }
        try CollectionState.set(.columns, wanted, db)
    }

    /// The columns as they are stored.
    static func text(_ columns: [CollectionColumn]) -> String {
        columns.map { "\($0.name)=\($0.pointer.text)" }.joined(separator: "\n")
    }

    static func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }

    private static func index(_ name: String) -> String { quoted("column_\(name)") }
}
