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
