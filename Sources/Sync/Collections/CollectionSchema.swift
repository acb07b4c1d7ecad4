internal import Commands
internal import GRDB

/// The tables of a collection. Other programs may read the first four.
///
/// * `record`: the rows. `hash` is the start of the SHA-256 of `body`. `rev` is the revision that changed the
///   row last, `base_rev` the one that took it over from the remote; null for a row that was made here.
///   `local` is 1 for a row that was changed here; then `remote` has the record of the remote. A comparison
///   does not read the bodies, so they stand behind the other columns.
/// * `change`: the rows that each revision inserted (i), updated (u) or deleted (d), for the revisions above
///   `oldestRev` in `state`.
/// * `reject`: the records that the last sync left out. `rev` is null while a sync is under way.
/// * `state`: names and values, see ``CollectionState``.
/// * `missing`: rows that the last complete reads, `reads` of them in a row, did not list.
/// * `stage`: the pages of a sync under way. `kind` is that of ``StagedRecord``; `body` is null where the row
///   has the same bytes.
enum CollectionSchema {
    /// `PRAGMA application_id`: “SLCO”.
    static let applicationID: Int32 = 0x534C_434F
    /// `PRAGMA user_version`.
    static let version = 1

    /// A table that collections of earlier versions do not have. A program of such a version ignores it.
    static let makeMissing = """
        CREATE TABLE IF NOT EXISTS missing(key TEXT NOT NULL PRIMARY KEY, reads INTEGER NOT NULL) WITHOUT ROWID;
        """

    static let make = """
        CREATE TABLE record(
            key TEXT NOT NULL PRIMARY KEY,
            hash BLOB NOT NULL,
            version TEXT,
            rev INTEGER NOT NULL,
            base_rev INTEGER,
            local INTEGER NOT NULL DEFAULT 0,
            body TEXT NOT NULL,
            remote TEXT) WITHOUT ROWID;
        CREATE INDEX record_local ON record(key) WHERE local <> 0;
        CREATE TABLE change(
            rev INTEGER NOT NULL,
            key TEXT NOT NULL,
            op TEXT NOT NULL,
            PRIMARY KEY(rev, key)) WITHOUT ROWID;
        CREATE TABLE reject(
            rev INTEGER,
            page INTEGER NOT NULL,
            n INTEGER NOT NULL,
            key TEXT,
            reason TEXT NOT NULL,
            body TEXT);
        CREATE TABLE state(name TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE stage(
            key TEXT NOT NULL PRIMARY KEY,
            page INTEGER NOT NULL,
            n INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            version TEXT,
            hash BLOB,
            body TEXT) WITHOUT ROWID;
        \(makeMissing)
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        """
}

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

/// The values of a row, whatever another program has written there: GRDB's own subscripts trap on a value of
/// another type.
extension Row {
    func text(_ column: Int) -> String? { String.fromDatabaseValue(self[column]) }

    func integer(_ column: Int) -> Int64? { Int64.fromDatabaseValue(self[column]) }

    func flag(_ column: Int) -> Bool { integer(column) ?? 0 != 0 }
}
