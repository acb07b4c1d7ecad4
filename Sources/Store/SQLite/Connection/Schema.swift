internal import Commands

/// The tables of a shard, by version.
///
/// A shard states two numbers. The row `version` of `meta` is the version of its tables; a shard without the row has
/// the version in `PRAGMA user_version`. `PRAGMA user_version` is the minimum version that a program must know to use
/// the shard: a migration that only adds leaves it as it is, so that the release before can still use the store. It
/// is not a row of `meta`, because release 0.1.0 reads it there.
enum Schema {
    /// In the column `suspect`: the command runs as the only suspect of its worker. 1 is any other suspect.
    static let soleSuspect = 2
    /// `PRAGMA application_id` of a shard: “Slce”.
    static let applicationID: Int32 = 0x536C_6365
    /// The version of release 0.1.0, the oldest that this program can use.
    static let oldest = 2
    /// The version of the shards that this program makes, and the newest that it knows.
    static var version: Int { oldest + migrations.count }
    /// The lowest version that a program must know to use a shard of ``version``.
    static let minReader = 2
    /// The first version with dependencies and rate limits. A shard with one needs a program that knows this version.
    static let firstWithRelations = 3
    /// Columns of `command` that a shard of an earlier version lacks. They read as NULL there.
    static let addedColumns: [(version: Int, name: String)] = [
        (3, "unique_for"), (3, "relations"), (3, "batch_id"), (3, "rate_limit"),
    ]
    /// Those that every insert writes. The others have a default.
    static let insertedColumns: [(version: Int, name: String)] = [(3, "unique_for")]
    /// Temporary tables of a connection to a shard of an earlier version, in the place of tables that it lacks. Their
    /// rows end with the connection.
    static let substitutes: [(version: Int, sql: String)] = [
        (3, "CREATE TEMP TABLE leftover(turn INTEGER PRIMARY KEY, due INTEGER NOT NULL) STRICT"),
        (3, "CREATE TEMP TABLE ready_again(turn INTEGER PRIMARY KEY) STRICT"),
    ]

    /// The tables of version ``oldest``.
    static let base = """
        -- The identity of a shard: `store` is the id of the store, `shards` their number, `number` that of this shard.
        -- `seq` and `turn` are the greatest numbers of deleted rows, which are not given again. Every command that ended up
        -- to the transition `pruned` is deleted. `probes` counts the writes that only try to start the WAL over. Since the
        -- last version `id` names this file, and a backup has its time in `backup` until it is restored.
        CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;

        -- One row for each command. The turn is the row id, so it is the last column of every index below. The conditions
        -- of partial indices name few columns, and no list of more than two values: SQLite builds a table for a longer
        -- list at each write, which doubled the cost of a claim.
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
            fingerprint BLOB, -- 1 and the digest of a draft (33 bytes); of release 0.1.0 another form (32)
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

        -- `kept` is the checkpoint of an execution. It is in this table because a claim reads the row anyway.
        CREATE TABLE payload(turn INTEGER PRIMARY KEY, body BLOB NOT NULL, kept BLOB) STRICT;
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
        -- Only shard 0 has settings.
        CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE type(name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        """

    /// The migration at index n brings a shard from version ``oldest`` + n to the next. A released migration is never
    /// changed; add new ones. (The comments outside of the statements are not stored in the database.)
    static let migrations: [String] = [
        """
        INSERT INTO meta VALUES ('version', 3);
        -- How long a command holds its unique key: NULL as long as the command is kept, 0 until it has ended, else for
        -- this many milliseconds from its submit on. Since this version `key_is_free` is also 1 where the key went to a
        -- later submit, or where a command that held it until its end has ended.
        ALTER TABLE command ADD COLUMN unique_for INTEGER;

        -- The commands that ended without success, or by a person's word, and have a checkpoint. The remains that it names
        -- may be removed from `due` on.
        CREATE TABLE leftover(turn INTEGER PRIMARY KEY, due INTEGER NOT NULL) STRICT;
        CREATE INDEX leftover_due ON leftover(due);
        -- A dead letter has a day from this migration on: no earlier version has said that its remains go.
        INSERT INTO leftover(turn, due)
            SELECT c.turn, iif(c.status = 10, unixepoch() * 1000 + 86400000, c.updated_at)
            FROM command c CROSS JOIN payload p ON p.turn = c.turn WHERE c.status IN (5, 10) AND length(p.kept) > 0;

        -- The commands that became ready after later ones, until the coordinator has read them: it reads the others in the
        -- order of their turns, and may have read that far already.
        CREATE TABLE ready_again(turn INTEGER PRIMARY KEY) STRICT;

        -- How the command is related to others (`CommandRelations`); 0 for most.
        ALTER TABLE command ADD COLUMN relations INTEGER NOT NULL DEFAULT 0;

        -- The batch of which it is a member.
        ALTER TABLE command ADD COLUMN batch_id BLOB;
        CREATE INDEX command_batch ON command(batch_id) WHERE batch_id IS NOT NULL;

        -- The rate limit of a command. `not_before` is -1, and not 0, where a command with one is not held back: the
        -- commands of a limit stand in an index of their own, so that they hide no others.
        ALTER TABLE command ADD COLUMN rate_limit TEXT;
        CREATE INDEX command_limited ON command(rate_limit, destination, qos) WHERE status IN (0, 3) AND not_before < 0;

        -- A command that waits for others, or is a part of a flow. `flow` and `cause` are turns. A flow has a row too, with
        -- the number of its nodes that have not ended in `pending`.
        CREATE TABLE node(
            turn INTEGER PRIMARY KEY, flow INTEGER, name TEXT, pending INTEGER NOT NULL, flags INTEGER NOT NULL,
            cause INTEGER
        ) STRICT;
        CREATE INDEX node_of_flow ON node(flow, turn) WHERE flow IS NOT NULL;
        -- The flows that have not ended.
        CREATE INDEX node_open_flow ON node(turn) WHERE flags & 16 AND pending > 0;
        -- `parent` and `child` are turns.
        CREATE TABLE dependency(
            parent INTEGER NOT NULL, child INTEGER NOT NULL, condition INTEGER NOT NULL, state INTEGER NOT NULL,
            PRIMARY KEY(parent, child)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX dependency_child ON dependency(child);
        -- Of flows and batches.
        CREATE TABLE flow(
            turn INTEGER PRIMARY KEY, nodes INTEGER NOT NULL, failed INTEGER NOT NULL, first_failed INTEGER,
            stops_on_failure INTEGER NOT NULL
        ) STRICT;
        -- Ordering keys that commands hold or wait for, and those that wait. `max` is the number that may hold it at once,
        -- `open` of those that do, `holder` the turn of the newest.
        CREATE TABLE lane(
            key TEXT PRIMARY KEY, max INTEGER NOT NULL, open INTEGER NOT NULL, holder INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE waiter(key TEXT NOT NULL, turn INTEGER NOT NULL, PRIMARY KEY(key, turn)) STRICT, WITHOUT ROWID;
        -- Schedules, each in the shard of the commands that it submits. `definition` and `action` are JSON; all times up to
        -- `since` are decided.
        CREATE TABLE schedule(
            name TEXT PRIMARY KEY, definition TEXT NOT NULL, action TEXT NOT NULL, since INTEGER NOT NULL, next INTEGER,
            last INTEGER, last_id BLOB, fired INTEGER NOT NULL, skipped INTEGER NOT NULL, paused INTEGER NOT NULL, reason TEXT,
            configured INTEGER NOT NULL DEFAULT 0 -- its text is that of sluice.yaml
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX schedule_next ON schedule(next) WHERE next IS NOT NULL;
        -- Commands that wait for one of another shard, commands for which one of another shard waits, and what is to be told
        -- to other shards (`ShardMessage`). `child` of the first and `parent` of the second are turns.
        CREATE TABLE remote_dependency(
            child INTEGER NOT NULL, parent BLOB NOT NULL, condition INTEGER NOT NULL, state INTEGER NOT NULL, status INTEGER,
            result BLOB, PRIMARY KEY(child, parent)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE remote_dependant(
            number INTEGER PRIMARY KEY, parent INTEGER NOT NULL, child BLOB NOT NULL, wants_result INTEGER NOT NULL,
            UNIQUE(child, parent)
        ) STRICT;
        CREATE INDEX remote_dependant_parent ON remote_dependant(parent);
        -- A number is not given twice: a message that was carried over is removed by its number.
        CREATE TABLE outbox(
            number INTEGER PRIMARY KEY AUTOINCREMENT, receiver BLOB NOT NULL, sender BLOB NOT NULL, kind INTEGER NOT NULL,
            first INTEGER, second INTEGER, reason TEXT, result BLOB
        ) STRICT;
        -- The members of batches in this shard. `state` has the lowest quality of service of the members too.
        CREATE TABLE batch_part(
            number INTEGER PRIMARY KEY, batch BLOB NOT NULL UNIQUE, members INTEGER NOT NULL, open INTEGER NOT NULL,
            failed INTEGER NOT NULL, state INTEGER NOT NULL
        ) STRICT;
        -- Effects on other commands that are still to be written (`CascadeRow`).
        CREATE TABLE cascade(
            turn INTEGER NOT NULL, step INTEGER NOT NULL, after INTEGER NOT NULL, PRIMARY KEY(turn, step)
        ) STRICT, WITHOUT ROWID;

        -- Uploads that clients send to the door, each in the shard of the command that it becomes (`Upload`). `facts` is JSON.
        CREATE TABLE upload(
            id BLOB PRIMARY KEY, state INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER, facts TEXT NOT NULL,
            created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, due INTEGER, command BLOB, storage INTEGER NOT NULL,
            reason TEXT, idempotency_key TEXT, fingerprint BLOB
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX upload_due ON upload(due) WHERE due IS NOT NULL;
        CREATE INDEX upload_open ON upload(id) WHERE state = 0;
        CREATE UNIQUE INDEX upload_key ON upload(idempotency_key) WHERE idempotency_key IS NOT NULL;
        -- The bytes of small ones.
        CREATE TABLE upload_body(number INTEGER PRIMARY KEY, upload BLOB NOT NULL UNIQUE, body BLOB NOT NULL) STRICT;

        -- For lists, in the order of the ids. It has the statuses that few commands of a healthy store have, so that a submit,
        -- a claim and a success do not touch it.
        CREATE INDEX command_by_status ON command(status, id) WHERE status > 2 AND status <> 4;
        -- Of requests with an Idempotency-Key (`RequestKey`).
        CREATE INDEX command_by_request ON command(unique_key)
            WHERE unique_key >= 'idempotency:' AND unique_key < 'idempotency;';
        """ + fileID
    ]

    /// The first version whose users record the pages that they checkpoint, see ``PageChanges``.
    static let firstWithPageChanges = 3

    /// Of the last migration. `id` is drawn for each file of a shard; a file that replaces it has another.
    private static let fileID = """

        INSERT OR REPLACE INTO meta(key, value) VALUES ('id', lower(hex(randomblob(16))));
        """

    /// The SQL that fills the tables of a new shard.
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

/// Versions of the store's tables (``Schema``).
package enum StoreVersion {
    /// The newest that this program knows.
    package static let newest = Schema.version
}
