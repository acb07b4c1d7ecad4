internal import Commands
internal import GRDB

/// The names in the table `state`.
enum CollectionState: String, CaseIterable {
    /// The revision: a number that grows with each sync, or local write, that changes rows.
    case rev
    /// The command that was merged last, and its result, which an execution gives that finds its command
    /// merged. It is deleted when a person begins the command again.
    case command, result
    /// ``SyncPayload/fingerprint``, to which the token and the validators belong.
    case payload
    case token, etag, lastModified
    /// Unix milliseconds: when the last full read, and the last sync, were merged.
    case lastFull, syncedAt
    /// A reader at an older revision reads all rows; for the others `change` has every change.
    case oldestRev
    /// The URL without its query, and the pointers to key and version, for local writes.
    case url, key, version
    /// The virtual columns as they were made (``CollectionColumns``).
    case columns
    /// ``ReadPrint/text`` of the last complete read, and the time of the last sync that kept the table `missing`,
    /// as in ``syncedAt``: a sync of an older program does not.
    case print, missingAt
    /// ``SyncCheckpoint`` and ``StagedCounts`` of a sync under way.
    case checkpoint, counts

    static func text(_ name: CollectionState, _ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT value FROM state WHERE name = ?", arguments: [name.rawValue])
    }

    static func number(_ name: CollectionState, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT value FROM state WHERE name = ?", arguments: [name.rawValue])
    }

    /// - Parameter value: nil deletes the row.
    static func set(_ name: CollectionState, _ value: (any DatabaseValueConvertible)?, _ db: Database) throws {
        guard let value else {
            try db.execute(sql: "DELETE FROM state WHERE name = ?", arguments: [name.rawValue])
            return
        }
        try db.execute(
            sql: "INSERT INTO state(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            arguments: [name.rawValue, value])
    }
}
