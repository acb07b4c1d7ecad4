package import Commands
internal import GRDB
internal import Host

internal import struct Foundation.Data

/// Changes rows of a collection on this side. They are marked as local until a sync takes the remote record
/// over, or finds the same one there (``MergeRule``).
package struct CollectionWriter {
    package struct Result: Sendable {
        package var rev: Int64 = 0
        package var inserted = 0
        package var updated = 0
        package var unchanged = 0
        package var deleted = 0

        package var json: JSONValue {
            .object([
                .init("rev", .integer(rev)), .init("inserted", .integer(Int64(inserted))),
                .init("updated", .integer(Int64(updated))), .init("unchanged", .integer(Int64(unchanged))),
                .init("deleted", .integer(Int64(deleted))),
            ])
        }
    }

    private let store: CollectionStore
    private let name: String
    private let lock: CollectionLock

    /// - Throws: ``CollectionError``; `busy` while the collection is being synced.
    package init(_ directory: CollectionDirectory, _ name: String) throws {
        guard CollectionDirectory.isName(name) else {
            throw CollectionError(
                .invalid,
                "“\(name.prefix(80))” is not the name of a collection: 1 to 64 of a to z, 0 to 9 and the hyphen")
        }
        guard let lock = try CollectionLock.attempt(directory.lock(name)) else {
            throw CollectionError(.busy, "the collection “\(name)” is being synced; try again when that has ended")
        }
        (self.lock, self.name) = (lock, name)
        store = try CollectionStore(directory, name)
    }

    /// Inserts or replaces records, in one transaction.
    /// - Parameters:
    ///   - lines: JSON, a record a line.
    ///   - key: pointers; nil: as the sync of the collection has them.
    /// - Throws: ``CollectionError`` that names the line of a record that cannot be taken; then none is written.
    package func put(lines: [UInt8], key: [String]?, now: Timestamp = .now) throws -> Result {
        let layout = try layout(key)
        var scanner = RecordScanner(
            ScanPlan(format: .ndjson, items: .root, deletedItems: nil, fields: layout.fields, maxRecord: 64 << 20))
        scanner.feed(lines)
        scanner.finish()
        return try change { db, rev, result in
            while let element = try Self.next(&scanner) {
                guard case .record(let facts) = layout.read(element) else {
                    throw CollectionError(.invalid, "line \(element.index + 1): \(Self.problem(layout.read(element)))")
                }
                var version = RecordVersion.instant(now)
                if case .number(let number, let text)? = facts.version {
                    version = .number(number, text: text)
                } else if try Self.hasNumbers(db) {
                    throw CollectionError(
                        .invalid,
                        "line \(element.index + 1): the versions of this collection are numbers, and the record has "
                            + "none; give it a greater one than the stored record has")
                }
                let body = String(decoding: element.bytes, as: UTF8.self)
                let hash = RecordHash(element.bytes).withUnsafeBytes { Data($0) }
                try Self.put(facts.key.text, body, hash, version.stored, db, rev, &result)
            }
            if try CollectionState.text(.key, db) == nil {
                try CollectionState.set(.key, JSONValue.array(layout.key.map { .string($0.text) }).text, db)
            }
        }
    }

    private static func next(_ scanner: inout RecordScanner) throws(CollectionError) -> ScannedElement? {
        do throws(PageProblem) { return try scanner.next() } catch {
            throw CollectionError(.invalid, error.failure(of: "standard input").reason)
        }
    }

    private static func problem(_ reading: RecordLayout.Reading) -> String {
        switch reading {
        case .record: ""
        case .reject(_, let problem): problem.reason
        case .refusal(let reason): reason
        }
    }

    /// Whether versions of the collection are numbers, with which a time cannot be compared.
    private static func hasNumbers(_ db: Database) throws -> Bool {
        let stored = try String.fetchOne(db, sql: "SELECT version FROM record WHERE version IS NOT NULL LIMIT 1")
        guard case .number? = stored.flatMap({ RecordVersion(stored: $0) }) else { return false }
        return true
    }

    private static func put(
        _ key: String, _ body: String, _ hash: Data, _ version: String, _ db: Database, _ rev: Int64,
        _ result: inout Result
    ) throws {
        let known = try Data.fetchOne(db, sql: "SELECT hash FROM record WHERE key = ?", arguments: [key])
        guard known != hash else {
            result.unchanged += 1
            return
        }
        try db.execute(
            sql: """
                INSERT INTO record(key, body, hash, version, rev, local) VALUES (?, ?, ?, ?, ?, 1)
                ON CONFLICT(key) DO UPDATE SET remote = CASE WHEN local = 0 THEN body ELSE remote END,
                    body = excluded.body, hash = excluded.hash, version = excluded.version, rev = excluded.rev, local = 1
                """, arguments: [key, body, hash, version, rev])
        if known == nil { result.inserted += 1 } else { result.updated += 1 }
        try db.execute(
            sql: "INSERT OR IGNORE INTO change(rev, key, op) VALUES (?, ?, ?)",
            arguments: [rev, key, known == nil ? "i" : "u"])
    }

    /// Deletes records, in one transaction. A full sync brings those back that the remote still has.
    /// - Parameter keys: texts of keys, with or without the prefix `s:` or `n:`.
    package func remove(_ keys: [String]) throws -> Result {
        try change { db, rev, result in
            for key in keys {
                let forms = [key, "s:\(key)", "n:\(key)"]
                for form in forms {
                    try db.execute(sql: "DELETE FROM record WHERE key = ?", arguments: [form])
                    guard db.changesCount > 0 else { continue }
                    result.deleted += 1
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO change(rev, key, op) VALUES (?, ?, 'd')", arguments: [rev, form])
                }
            }
        }
    }

    /// Runs `body` with the revision that it makes, and drops the pages of a sync that was cut off: they were
    /// compared with the rows before.
    private func change(_ body: (Database, Int64, inout Result) throws -> Void) throws -> Result {
        defer { store.copyWAL(above: CollectionStore.maxMergedWAL) }
        return try store.write { db in
            var result = Result()
            let rev = try CollectionState.number(.rev, db) ?? 0
            try body(db, rev + 1, &result)
            let isChanged = result.inserted + result.updated + result.deleted > 0
            result.rev = isChanged ? rev + 1 : rev
            guard isChanged else { return result }
            try CollectionState.set(.rev, result.rev, db)
            try CollectionMerge.pruneChanges(db)
            try CollectionStore.clearStage(db)
            if result.deleted > 0 {
                // A 304 would withhold the records that the remote still has.
                try CollectionState.set(.etag, nil, db)
                try CollectionState.set(.lastModified, nil, db)
            }
            return result
        }
    }

    private func layout(_ key: [String]?) throws -> RecordLayout {
        let stored = try store.use { db in
            (key: try CollectionState.text(.key, db), version: try CollectionState.text(.version, db))
        }
        let known = stored.key.flatMap { try? JSONValue(parsing: $0.utf8) }?.elements?.compactMap(\.string)
        guard let pointers = key ?? known else {
            throw CollectionError(
                .invalid, "the collection “\(name)” was never synced, so the key of a record is not known; give --key")
        }
        if let key, let known, key != known {
            throw CollectionError(
                .invalid, "the key of the collection “\(name)” is \(known.joined(separator: ", ")); leave --key out")
        }
        do {
            return RecordLayout(
                key: try pointers.map { try JSONPointer($0) }, version: try stored.version.map { try JSONPointer($0) },
                deleted: nil)
        } catch {
            throw CollectionError(.invalid, "\(error)")
        }
    }
}
