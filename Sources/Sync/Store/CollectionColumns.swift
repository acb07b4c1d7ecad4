internal import Commands
internal import GRDB

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
