/// The tables of a store. All times are milliseconds since 1970; a turn and a number of a transition belong to a shard.
///
/// The row of `command` is written once. Its state moves between `ready`, `parked`, `running` and `ended`: rows that are
/// inserted and deleted leave no dead versions in the large tables, and the state stands in no index but those named here.
extension PostgreSQLSchema {
    /// The columns of a command that change, in each of the four tables of states.
    private static let state = """
        qos int2 NOT NULL, status int2 NOT NULL, claim int4 NOT NULL, cancel_requested bool NOT NULL,
        retries int4 NOT NULL, crashes int4 NOT NULL, suspect int2 NOT NULL, not_before int8 NOT NULL, deadline int8,
        open_deadline int8, key_is_free bool NOT NULL, "offset" int8 NOT NULL, total int8 NOT NULL, seat int4,
        epoch int8, last int8 NOT NULL, reason text COLLATE "C", updated_at int8 NOT NULL, dead_at int8,
        relations int4 NOT NULL
        """

    /// Columns of `command` that a reader of the queue needs, so that it joins nothing.
    private static let queue = """
        id uuid PRIMARY KEY, shard int2 NOT NULL, turn int8 NOT NULL, type text COLLATE "C" NOT NULL,
        destination text COLLATE "C" NOT NULL, rate_limit text COLLATE "C", created_at int8 NOT NULL
        """

    /// Tables whose rows come and go are vacuumed by their number of dead rows, not by a share of the live ones.
    static let busy =
        "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0"

    /// The SQL of version 1, one statement each.
    /// - Parameter schema: that the tables are made in, the first of the search path.
    static func version1(in schema: String) -> [String] { tables + inbox(in: schema) }

    private static let tables: [String] =
        commands + relations + messages + [
            // `store` is the id of the store, `shards` the number of its shards. See ``PostgreSQLSchema/check(_:)``.
            #"CREATE TABLE meta(key text COLLATE "C" PRIMARY KEY, value text NOT NULL)"#,
            #"CREATE TABLE setting(key text COLLATE "C" PRIMARY KEY, value text NOT NULL)"#,
            #"CREATE TABLE type(name text COLLATE "C" PRIMARY KEY)"#,
            // The one data directory whose files belong to the store. See ``PostgreSQLHost``.
            """
            CREATE TABLE host(
                number int2 PRIMARY KEY CHECK (number = 1), id uuid NOT NULL, inode int8 NOT NULL, name text NOT NULL,
                directory text NOT NULL, seen_at int8 NOT NULL)
            """,
            """
            CREATE TABLE session(
                seat int4, epoch int8, pid int4 NOT NULL, start_time int8 NOT NULL, boot_id text NOT NULL, dead bool NOT NULL,
                PRIMARY KEY(seat, epoch))
            """,
            // `definition` and `action` are JSON; all times up to `since` are decided.
            """
            CREATE TABLE schedule(
                shard int2, name text COLLATE "C", definition text NOT NULL, action text NOT NULL, since int8 NOT NULL,
                next int8, last int8, last_id uuid, fired int8 NOT NULL, skipped int8 NOT NULL, paused bool NOT NULL,
                reason text, configured bool NOT NULL, PRIMARY KEY(shard, name))
            """,
            "CREATE INDEX schedule_next ON schedule(shard, next) WHERE next IS NOT NULL",
            // `facts` is JSON. An idempotency key is unique among all shards, and so among all doors.
            """
            CREATE TABLE upload(
                id uuid PRIMARY KEY, shard int2 NOT NULL, state int2 NOT NULL, "offset" int8 NOT NULL, length int8,
                facts text NOT NULL, created_at int8 NOT NULL, updated_at int8 NOT NULL, due int8, command uuid,
                storage int2 NOT NULL, reason text, idempotency_key text COLLATE "C", fingerprint bytea)
            WITH (fillfactor = 50)
            """,
            "CREATE INDEX upload_due ON upload(shard, due) WHERE due IS NOT NULL",
            "CREATE UNIQUE INDEX upload_key ON upload(idempotency_key) WHERE idempotency_key IS NOT NULL",
            // The bytes of small ones.
            "CREATE TABLE upload_body(id uuid PRIMARY KEY, body bytea NOT NULL)",
        ]

    private static let commands: [String] = [
        // The lock of a shard. A row is never updated, so that an open transaction elsewhere leaves no versions of it.
        "CREATE TABLE shard(number int2 PRIMARY KEY) WITH (fillfactor = 10)",
        // The greatest number of a transition that was deleted, which is not given again.
        "CREATE TABLE pruned(shard int2 PRIMARY KEY, seq int8 NOT NULL)",
        """
        CREATE TABLE command(
            \(queue), idempotent bool NOT NULL, retry_limit int4 NOT NULL, unique_key text COLLATE "C", unique_for int8,
            fingerprint bytea, ordering_key text COLLATE "C", batch uuid, payload bytea NOT NULL)
        """,
        "CREATE INDEX command_batch ON command(batch, shard, turn) WHERE batch IS NOT NULL",
        // Of requests with an Idempotency-Key (`RequestKey`).
        """
        CREATE INDEX command_request ON command(unique_key)
        WHERE unique_key >= 'idempotency:' AND unique_key < 'idempotency;'
        """,
        "CREATE TABLE ready(\(queue), \(state)) WITH (\(busy))",
        "CREATE INDEX ready_order ON ready(shard, destination, qos, turn) WHERE rate_limit IS NULL",
        """
        CREATE INDEX ready_limited ON ready(shard, rate_limit, destination, qos, turn) WHERE rate_limit IS NOT NULL
        """,
        // Backoff, a time to start at, blocked, or in doubt.
        "CREATE TABLE parked(\(queue), \(state)) WITH (\(busy))",
        "CREATE INDEX parked_due ON parked(shard, not_before, turn) WHERE not_before > 0",
        "CREATE INDEX parked_dead ON parked(shard, dead_at) WHERE dead_at IS NOT NULL",
        """
        CREATE INDEX parked_flow ON parked(shard, turn)
            WHERE status = 6 AND relations & \(CommandRelations.flow.rawValue) <> 0
        """,
        "CREATE TABLE running(\(queue), \(state)) WITH (fillfactor = 70, \(busy))",
        "CREATE INDEX running_seat ON running(seat, epoch)",
        "CREATE TABLE ended(id uuid PRIMARY KEY, shard int2 NOT NULL, turn int8 NOT NULL, \(state))",
        "CREATE INDEX ended_dead ON ended(shard, dead_at) WHERE dead_at IS NOT NULL",
        "CREATE TABLE result(id uuid PRIMARY KEY, body bytea NOT NULL)",
        // The checkpoint of an execution, for the next one.
        "CREATE TABLE kept(id uuid PRIMARY KEY, state bytea NOT NULL) WITH (fillfactor = 70)",
        // The commands that ended although their checkpoint names something that is to be removed, from `due` on.
        "CREATE TABLE leftover(id uuid PRIMARY KEY, shard int2 NOT NULL, due int8 NOT NULL)",
        "CREATE INDEX leftover_due ON leftover(shard, due)",
        // The commands that became ready out of their turn, until the coordinator has read them.
        "CREATE TABLE ready_again(shard int2, turn int8, id uuid NOT NULL, PRIMARY KEY(shard, turn))",
        // The deadlines that have something to do.
        "CREATE TABLE alarm(shard int2, at int8, id uuid, PRIMARY KEY(shard, at, id))",
        // The unique keys that are held. An ordering key is empty where there is none.
        """
        CREATE TABLE taken(
            type text COLLATE "C", ordering_key text COLLATE "C", unique_key text COLLATE "C", id uuid NOT NULL,
            PRIMARY KEY(type, ordering_key, unique_key))
        """,
        // The audit trail. `previous` is the number of the same command's transition before, 0 for its first.
        """
        CREATE TABLE transition(
            shard int2, seq int8, id uuid NOT NULL, status int2 NOT NULL, at int8 NOT NULL, seat int4,
            claim int4 NOT NULL, reason text COLLATE "C", previous int8 NOT NULL, PRIMARY KEY(shard, seq))
        """,
        // A commit adds its changes of the counts; a reader sums them up, and folds many into `count`.
        "CREATE TABLE count_delta(shard int2 NOT NULL, status int2 NOT NULL, qos int2 NOT NULL, n int8 NOT NULL)",
        "CREATE TABLE count(shard int2, status int2, qos int2, n int8 NOT NULL, PRIMARY KEY(shard, status, qos))",
    ]

    /// Of commands that are related to others (`CommandRelations`), touched only under the lock of their shard.
    private static let relations: [String] = [
        "CREATE TABLE related(shard int2, turn int8, id uuid NOT NULL, PRIMARY KEY(shard, turn))",
        """
        CREATE TABLE node(
            shard int2, turn int8, flow int8, name text, pending int8 NOT NULL, flags int4 NOT NULL, cause int8,
            PRIMARY KEY(shard, turn)) WITH (fillfactor = 60)
        """,
        "CREATE INDEX node_of_flow ON node(shard, flow, turn) WHERE flow IS NOT NULL",
        """
        CREATE TABLE dependency(
            shard int2, parent int8, child int8, condition int2 NOT NULL, state int2 NOT NULL,
            PRIMARY KEY(shard, parent, child)) WITH (fillfactor = 60)
        """,
        "CREATE INDEX dependency_child ON dependency(shard, child, parent)",
        """
        CREATE TABLE flow(
            shard int2, turn int8, nodes int8 NOT NULL, failed int8 NOT NULL, first_failed int8,
            stops_on_failure bool NOT NULL, PRIMARY KEY(shard, turn)) WITH (fillfactor = 60)
        """,
        // Ordering keys that commands hold or wait for: how many may, and how many do. In order, no command that waits has a
        // turn up to the newest holder's, and the next one is sought behind it. The row of a key does not change when it is
        // passed on: a look at it would step over one version for each time.
        """
        CREATE TABLE lane(
            shard int2, key text COLLATE "C", max int4 NOT NULL, open int4 NOT NULL, is_ordered bool NOT NULL,
            PRIMARY KEY(shard, key))
        WITH (fillfactor = 50, \(busy))
        """,
        // The newest holder of each key, found from the greatest turn on.
        """
        CREATE TABLE lane_holder(shard int2, key text COLLATE "C", turn int8, PRIMARY KEY(shard, key, turn)) WITH (\(busy))
        """,
        """
        CREATE TABLE waiter(shard int2, key text COLLATE "C", turn int8, PRIMARY KEY(shard, key, turn)) WITH (\(busy))
        """,
        """
        CREATE TABLE batch_part(
            shard int2, number int8, batch uuid NOT NULL, members int8 NOT NULL, open int8 NOT NULL, failed int8 NOT NULL,
            state int4 NOT NULL, PRIMARY KEY(shard, number), UNIQUE(shard, batch)) WITH (fillfactor = 50)
        """,
        "CREATE TABLE cascade(shard int2, turn int8, step int2, after int8 NOT NULL, PRIMARY KEY(shard, turn, step))",
    ]

    /// Of commands that wait for others in other shards (`ShardMessage`). A number is not given twice.
    private static let messages: [String] = [
        "CREATE SEQUENCE message_number",
        """
        CREATE TABLE remote_dependency(
            shard int2, child int8, parent uuid, condition int2 NOT NULL, state int2 NOT NULL, status int2, result bytea,
            PRIMARY KEY(shard, child, parent))
        """,
        """
        CREATE TABLE remote_dependant(
            shard int2, parent int8, child uuid, number int8 NOT NULL DEFAULT nextval('message_number'),
            wants_result bool NOT NULL, PRIMARY KEY(shard, parent, child))
        """,
        "CREATE INDEX remote_dependant_number ON remote_dependant(shard, parent, number)",
        """
        CREATE TABLE outbox(
            shard int2, number int8 DEFAULT nextval('message_number'), receiver uuid NOT NULL, sender uuid NOT NULL,
            kind int2 NOT NULL, first int8, second int8, reason text, result bytea, PRIMARY KEY(shard, number))
        WITH (\(busy))
        """,
    ]
}
