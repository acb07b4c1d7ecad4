internal import Commands

/// The tables of a shard, and the version that a file says it has.
enum Schema {
    /// “Slce”: tells a shard from any other SQLite database (`PRAGMA application_id`).
    static let applicationID: Int32 = 0x536C_6365
    /// `PRAGMA user_version` of what this program writes. A newer file is refused.
    static var version: Int { migrations.count }

    /// Each brings a shard from the version of its position to the next one. Never changed once released: add to them.
    static let migrations: [String] = [
        """
        -- What a shard is of: `store` names the store, `shards` is how many there are, `number` which one this is;
        -- `seq` and `turn` are numbers given to rows that were deleted since, and not given again; up to the transition
        -- `pruned` every command that had ended has been deleted; `probes` counts writes whose only purpose was to start
        -- the WAL over.
        CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;

        -- One row for each command. The number of its submission is its row id, so that the last column of every index
        -- below is the turn. Partial conditions name as few columns as they can, and no list of more than two values:
        -- SQLite builds a table for a longer one at each write, which had doubled the cost of a claim.
        CREATE TABLE command(
            turn INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE,
            type TEXT NOT NULL,
            qos INTEGER NOT NULL,
            status INTEGER NOT NULL,
            destination TEXT NOT NULL,
            idempotent INTEGER NOT NULL,
            claim INTEGER NOT NULL DEFAULT 0,
            cancel_requested INTEGER NOT NULL DEFAULT 0,
            retries INTEGER NOT NULL DEFAULT 0,
            retry_limit INTEGER NOT NULL,
            crashes INTEGER NOT NULL DEFAULT 0,
            suspect INTEGER NOT NULL DEFAULT 0,
            not_before INTEGER NOT NULL DEFAULT 0, -- above 0 only while it holds back
            deadline INTEGER,
            open_deadline INTEGER, -- the deadline while it has something to do
            unique_key TEXT,
            fingerprint BLOB, -- SHA-256 of canonical payload, type, destination
            key_is_free INTEGER NOT NULL DEFAULT 0, -- cancelled and tooManyTimes give their unique key up
            ordering_key TEXT,
            offset INTEGER NOT NULL DEFAULT 0,
            total INTEGER NOT NULL DEFAULT 0,
            seat INTEGER,
            epoch INTEGER,
            last INTEGER NOT NULL, -- seq of its newest transition
            reason TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            dead_at INTEGER -- of tooManyTimes and inDoubt
        ) STRICT;
        CREATE INDEX command_ready ON command(destination, qos) WHERE status IN (0, 3) AND not_before = 0;
        CREATE INDEX command_held_back ON command(not_before) WHERE not_before > 0;
        CREATE INDEX command_in_flight ON command(seat, epoch) WHERE status IN (1, 2);
        CREATE INDEX command_deadline ON command(open_deadline) WHERE open_deadline IS NOT NULL;
        CREATE INDEX command_dead ON command(dead_at) WHERE dead_at IS NOT NULL;
        CREATE UNIQUE INDEX command_unique ON command(type, ifnull(ordering_key, ''), unique_key)
            WHERE unique_key IS NOT NULL AND key_is_free = 0;

        CREATE TABLE payload(turn INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
        CREATE TABLE result(turn INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;

        -- The audit trail. `previous` is the seq of the same command's transition before, 0 for its first.
        CREATE TABLE transition(
            seq INTEGER PRIMARY KEY,
            id BLOB NOT NULL,
            status INTEGER NOT NULL,
            at INTEGER NOT NULL,
            seat INTEGER,
            claim INTEGER NOT NULL,
            reason TEXT,
            previous INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE counts(
            status INTEGER NOT NULL, qos INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(status, qos)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE session(
            seat INTEGER NOT NULL, epoch INTEGER NOT NULL, pid INTEGER NOT NULL, start_time INTEGER NOT NULL,
            boot_id TEXT NOT NULL, PRIMARY KEY(seat, epoch)
        ) STRICT, WITHOUT ROWID;
        -- Of use in shard 0 alone.
        CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE type(name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        """,
        """
        -- What an execution leaves to the next one. Here, for a claim reads this row anyway.
        ALTER TABLE payload ADD COLUMN kept BLOB;
        """,
        """
        -- How long a command holds its unique key: NULL while it is kept, 0 until it has ended, else this
        -- many milliseconds from its submit on. From here on `key_is_free` also says that the key went to a
        -- later submit, or that a command that held it until its end has ended.
        ALTER TABLE command ADD COLUMN unique_for INTEGER;
        -- A fingerprint is of the payload's bytes now, no longer of its sorted JSON. NULL: compare the
        -- payload itself.
        UPDATE command SET fingerprint = NULL WHERE unique_key IS NOT NULL;
        """,
    ]

    /// What a new shard starts with, besides its tables.
    static func contents(shard: Int, of count: Int, store: String, types: Set<String>) -> String {
        var sql = """
            INSERT INTO meta VALUES
            ('store', '\(store)'), ('shards', \(count)), ('number', \(shard)), ('seq', 0), ('turn', 0), ('pruned', 0), ('probes', 0);
            """
        for status in CommandStatus.allCases {
            for qos in QualityOfService.allCases {
                sql += "INSERT INTO counts VALUES (\(status.rawValue), \(qos.rawValue), 0);"
            }
        }
        for type in types.sorted() where CommandDraft.isType(type) { sql += "INSERT INTO type VALUES ('\(type)');" }
        return sql
    }
}
