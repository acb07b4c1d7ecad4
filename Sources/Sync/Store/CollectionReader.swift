package import Commands
internal import GRDB
internal import Glibc
internal import Host

/// Reads a collection, also while a sync writes it. It never writes, and needs no permission to.
package final class CollectionReader {
    /// A row.
    package struct Record: Sendable {
        package var key: String
        /// JSON, byte for byte as it came.
        package var body: String
        package var rev: Int64
        package var isLocal: Bool
        /// The values of ``CollectionReader/columns``.
        package var columns: [JSONValue]
    }

    private let name: String
    private let path: String
    private let queue: DatabaseQueue
    /// The names of the columns of the collection.
    package let columns: [String]

    /// - Throws: ``CollectionError``
    package init(_ directory: CollectionDirectory, _ name: String) throws {
        guard CollectionDirectory.isName(name), directory.exists(name) else {
            let known = (try? directory.names()) ?? []
            throw CollectionError(
                .missing,
                "there is no collection “\(name)”"
                    + (known.isEmpty ? "; “sluice sync” makes one" : "; there are \(known.joined(separator: ", "))"))
        }
        self.name = name
        path = directory.file(name)
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.foreignKeysEnabled = false
            configuration.busyMode = .timeout(10)
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA mmap_size = 0")
            }
            queue = try DatabaseQueue(path: path, configuration: configuration)
            let path = path
            columns = try queue.read { db in
                guard try !CollectionStore.isWithoutTables(db) else {
                    throw CollectionError(.missing, "the collection “\(name)” is empty; “sluice sync” fills it")
                }
                try CollectionStore.requireOwn(db, path)
                return try CollectionColumns.names(db)
            }
        } catch {
            throw CollectionError(error, directory.file(name))
        }
    }

    private func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try queue.read(body)
        } catch let error as DatabaseError {
            throw CollectionError(error, path)
        } catch let error as RowDecodingError {
            throw CollectionError(error, path)
        }
    }

    package func summary() throws -> CollectionSummary {
        try read { db in
            var summary = CollectionSummary(name: name, path: path)
            summary.rev = try CollectionState.number(.rev, db) ?? 0
            summary.oldestRev = try CollectionState.number(.oldestRev, db) ?? 0
            summary.records = try Int64.fetchOne(db, sql: "SELECT count(*) FROM record") ?? 0
            summary.localRecords = try Int64.fetchOne(db, sql: "SELECT count(*) FROM record WHERE local <> 0") ?? 0
            summary.rejects = try Int64.fetchOne(db, sql: "SELECT count(*) FROM reject WHERE rev IS NOT NULL") ?? 0
            summary.syncedAt = try CollectionState.number(.syncedAt, db).map { Timestamp(milliseconds: $0) }
            summary.url = try CollectionState.text(.url, db)
            summary.command = try CollectionState.text(.command, db)
            summary.columns = columns
            summary.staged = try Int64.fetchOne(db, sql: "SELECT count(*) FROM stage") ?? 0
            return summary
        }
    }

    /// Calls `body` with each record of a query, in the order of the keys, all of one revision.
    /// - Returns: the revision.
    @discardableResult
    package func query(_ query: CollectionQuery, _ body: (Record) throws -> Void) throws -> Int64 {
        try read { db in
            let (condition, arguments) = try query.condition(name, columns)
            let shown = columns.map { ", \(CollectionColumns.quoted($0))" }.joined()
            let rows = try Row.fetchCursor(
                db,
                sql: "SELECT key, body, rev, local\(shown) FROM record WHERE \(condition) ORDER BY key LIMIT ?",
                arguments: arguments + [query.limit])
            while let row = try rows.next() {
                try body(
                    Record(
                        key: row.text(0) ?? "", body: row.text(1) ?? "", rev: row.integer(2) ?? 0, isLocal: row.flag(3),
                        columns: columns.indices.map { Self.json(row[4 + $0]) }))
            }
            return try CollectionState.number(.rev, db) ?? 0
        }
    }

    /// The keys that were deleted since a revision.
    /// - Returns: their number; nil where they are not known any more.
    package func deletions(since rev: Int64) throws -> Int64? {
        try read { db in
            guard try CollectionState.number(.oldestRev, db) ?? 0 <= rev else { return nil }
            return try Int64.fetchOne(
                db,
                sql: """
                    SELECT count(DISTINCT key) FROM change
                    WHERE rev > ? AND op = 'd' AND key NOT IN (SELECT key FROM record)
                    """, arguments: [rev])
        }
    }

    /// The records that were changed between two revisions.
    package struct Changes: Sendable {
        /// The later revision.
        package var rev: Int64
        /// As they are at that revision, in the order of their keys.
        package var changed: [Record] = []
        /// Keys.
        package var deleted: [String] = []
    }

    /// The changes since a revision.
    /// - Parameter limit: the maximum number of changes.
    /// - Returns: nil where they are more, are not known any more, or the revision is not one of this
    ///   collection.
    package func changes(since rev: Int64, limit: Int) throws -> Changes? {
        try read { db in
            let current = try CollectionState.number(.rev, db) ?? 0
            guard rev <= current, try CollectionState.number(.oldestRev, db) ?? 0 <= rev else { return nil }
            let count = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM (SELECT 1 FROM change WHERE rev > ? LIMIT ?)",
                arguments: [rev, limit + 1])
            guard count ?? 0 <= limit else { return nil }
            var changes = Changes(rev: current)
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT c.key, r.body, r.rev, r.local FROM (SELECT DISTINCT key FROM change WHERE rev > ?) c
                    LEFT JOIN record r ON r.key = c.key ORDER BY c.key
                    """, arguments: [rev])
            while let row = try rows.next() {
                guard let key = row.text(0) else { continue }
                if let body = row.text(1) {
                    changes.changed.append(
                        Record(key: key, body: body, rev: row.integer(2) ?? 0, isLocal: row.flag(3), columns: []))
                } else {
                    changes.deleted.append(key)
                }
            }
            return changes
        }
    }

    /// Calls `body` with each row of a statement that only reads.
    /// - Returns: the names of its columns.
    /// - Throws: ``CollectionError`` `invalid` for a statement that writes, or is not valid.
    package func select(
        _ sql: String, limit: Int, header: ([String]) throws -> Void, _ body: ([JSONValue]) throws -> Void
    ) throws {
        try read { db in
            let statement = try db.makeStatement(sql: sql)
            guard statement.isReadonly, statement.columnCount > 0 else {
                throw CollectionError(.invalid, "a query must be a SELECT, which changes nothing")
            }
            try header(statement.columnNames)
            let rows = try Row.fetchCursor(statement)
            var count = 0
            while count != limit, let row = try rows.next() {
                count += 1
                try body((0..<row.count).map { Self.json(row[$0]) })
            }
        }
    }

    /// - Returns: the lines of SQLite's integrity check; none where the file is sound.
    package func problems() throws -> [String] {
        try read { db in
            let lines = try String.fetchAll(db, sql: "PRAGMA integrity_check")
            return lines == ["ok"] ? [] : lines
        }
    }

    /// Copies the collection of one moment, while it may be synced, into a file that does not exist.
    ///
    /// A copy that fails leaves no file.
    /// - Throws: ``CollectionError``
    package func copy(to directory: CollectionDirectory) throws {
        let target = directory.file(name)
        guard !directory.exists(name) else {
            throw CollectionError(.system, "\(target) exists; choose another directory for the backup")
        }
        do {
            try directory.make(name)
        } catch {
            throw CollectionError(error, target)
        }
        do {
            // VACUUM INTO accepts an empty file and keeps its mode.
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "VACUUM INTO ?", arguments: [target])
            }
            try syncFile(target)
            try syncFile(directory.path)
        } catch {
            unlink(target)
            throw CollectionError(error, path)
        }
    }

    private static func json(_ value: DatabaseValue) -> JSONValue {
        switch value.storage {
        case .null: .null
        case .int64(let number): .integer(number)
        case .double(let number): .number(number)
        case .string(let text): .string(text)
        case .blob(let bytes): .string(Hexadecimal.text(bytes))
        }
    }
}

/// The state of a collection for people and programs to look at.
package struct CollectionSummary: Sendable {
    package var name: String
    /// Of the SQLite file.
    package var path: String
    package var rev: Int64 = 0
    /// A reader at an older revision reads all rows.
    package var oldestRev: Int64 = 0
    package var records: Int64 = 0
    /// Records that were changed here.
    package var localRecords: Int64 = 0
    /// Records that the last sync left out.
    package var rejects: Int64 = 0
    /// Records of a sync under way.
    package var staged: Int64 = 0
    package var syncedAt: Timestamp?
    /// Without its query.
    package var url: String?
    /// The command that was merged last.
    package var command: String?
    package var columns: [String] = []

    init(name: String, path: String) {
        self.name = name
        self.path = path
    }

    package var json: JSONValue {
        .object([
            .init("name", .string(name)), .init("rev", .integer(rev)), .init("records", .integer(records)),
            .init("local", .integer(localRecords)), .init("rejects", .integer(rejects)),
            .init("staged", .integer(staged)), .init("syncedAt", syncedAt.map { .string("\($0)") } ?? .null),
            .init("url", url.map { .string($0) } ?? .null), .init("command", command.map { .string($0) } ?? .null),
            .init("columns", .array(columns.map { .string($0) })), .init("oldestRev", .integer(oldestRev)),
            .init("path", .string(path)),
        ])
    }
}
