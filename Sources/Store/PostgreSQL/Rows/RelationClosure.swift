internal import Commands

/// Reads the rows that the effects of changed commands are likely to need, of all shards of a transaction, in one round trip:
/// their nodes and dependants with the nodes and states of these, their flows, and their ordering keys with the next commands.
///
/// ``Settlements`` finds these rows known. A row beyond them, such as one of a second level, takes a round trip of its own.
struct RelationClosure {
    /// Dependants of a parent, and waiters of a key, that are read.
    static let maxDependants = 256
    private static let maxWaiters = 8

    /// The waiters of a key that are read: those that may get it in one commit, and one to see whether others wait.
    static func waiters(ofKeyWith limit: Int) -> Int { min(limit + 1, maxWaiters) }

    private var turns: [(shard: Int, turn: Int64)] = []
    private var keys: [(shard: Int, key: String)] = []
    private var batches: [(shard: Int, batch: CommandID)] = []
    private var shards: [PostgreSQLShard] = []

    /// - Parameter all: the shards of the transaction.
    init(_ all: [PostgreSQLShard]) {
        for shard in all where shard.changes.relatedAt != nil {
            shards.append(shard)
            for change in shard.changes.related {
                turns.append((shard.number, change.turn))
                if change.hasKey, let key = shard.knownKey(turn: change.turn) { keys.append((shard.number, key)) }
            }
            for batch in shard.changes.members.keys { batches.append((shard.number, batch)) }
        }
    }

    /// Whether no change has effects on other commands.
    var isEmpty: Bool { shards.isEmpty }

    // MARK: Statements

    private static let changed = "unnest($1::int8[]::int2[], $2::int8[]) w(shard, turn)"
    private static let ofKeys = "unnest($3::int8[]::int2[], $4::text[]) k(shard, key)"
    /// The commands that have had a key are not stepped over.
    private static let waitersOf = """
        LEFT JOIN LATERAL (SELECT l.max,
                CASE WHEN l.is_ordered THEN \(PostgreSQLShard.newestHolder) END AS holder FROM lane l
            WHERE l.shard = k.shard AND l.key = k.key LIMIT 1) l
        ON true JOIN LATERAL (SELECT turn FROM waiter x WHERE x.shard = k.shard AND x.key = k.key
        AND x.turn > coalesce(l.holder, 0) ORDER BY turn LIMIT least(coalesce(l.max, 1) + 1, \(maxWaiters))) n ON true
        """
    private static let nextWaiters = "\(ofKeys) \(waitersOf)"
    private static let nextDependants = """
        \(changed) JOIN LATERAL (SELECT parent, child, condition, state FROM dependency x
        WHERE x.shard = w.shard AND x.parent = w.turn ORDER BY child LIMIT \(maxDependants)) d ON true
        """
    private static let nextFlows = """
        \(changed) JOIN LATERAL (SELECT x.flow FROM node x WHERE x.shard = w.shard AND x.turn = w.turn LIMIT 1) n
        ON n.flow IS NOT NULL
        """
    /// The commands that may be changed.
    private static let reached = """
        SELECT w.shard, d.child AS turn FROM \(nextDependants) UNION SELECT w.shard, n.flow FROM \(nextFlows)
        UNION SELECT k.shard, n.turn FROM \(nextWaiters)
        """

    private static let nodes = PostgreSQLStatement(
        "closure-nodes",
        """
        SELECT n.turn, n.flow, n.name, n.pending, n.flags, n.cause, n.shard
        FROM (SELECT w.shard, w.turn FROM \(changed) UNION \(reached)) r
        JOIN LATERAL (SELECT * FROM node x WHERE x.shard = r.shard AND x.turn = r.turn LIMIT 1) n ON true
        """)
    private static let commands = PostgreSQLStatement(
        "closure-commands",
        """
        SELECT \(CommandSQL.columns) FROM (\(reached)) r
        JOIN LATERAL (SELECT id FROM related x WHERE x.shard = r.shard AND x.turn = r.turn LIMIT 1) i ON true
        \(CommandSQL.row(of: "i.id"))
        """)
    private static let dependants = PostgreSQLStatement(
        "closure-dependants",
        "SELECT d.parent, d.child, d.condition, d.state, w.shard FROM \(nextDependants) ORDER BY w.shard, d.parent, d.child"
    )
    private static let flows = PostgreSQLStatement(
        "closure-flows",
        """
        SELECT f.turn, f.nodes, f.failed, f.first_failed, f.stops_on_failure, f.shard
        FROM (SELECT w.shard, n.flow FROM \(nextFlows) UNION SELECT w.shard, w.turn FROM \(changed)) r
        JOIN LATERAL (SELECT * FROM flow x WHERE x.shard = r.shard AND x.turn = r.flow LIMIT 1) f ON true
        """)
    /// Of shards and keys.
    static let lanes = PostgreSQLStatement(
        "closure-lanes",
        """
        SELECT l.key, l.max, l.open, \(PostgreSQLShard.newestHolder), l.is_ordered, l.shard
        FROM unnest($1::int8[]::int2[], $2::text[]) k(shard, key)
        JOIN LATERAL (SELECT * FROM lane x WHERE x.shard = k.shard AND x.key = k.key LIMIT 1) l ON true
        """)
    /// Of shards and keys.
    static let waiters = PostgreSQLStatement(
        "closure-waiters",
        """
        SELECT k.key, n.turn, k.shard FROM unnest($1::int8[]::int2[], $2::text[]) k(shard, key)
        \(waitersOf)
        """)
    private static let parts = PostgreSQLStatement(
        "closure-parts",
        """
        SELECT p.number, p.batch, p.members, p.open, p.failed, p.state, p.shard
        FROM unnest($1::int8[]::int2[], $2::uuid[]) b(shard, batch)
        JOIN LATERAL (SELECT * FROM batch_part x WHERE x.shard = b.shard AND x.batch = b.batch LIMIT 1) p ON true
        """)
    private static let cascades = PostgreSQLStatement(
        "closure-cascades",
        """
        SELECT w.number FROM unnest($1::int8[]::int2[]) w(number)
        JOIN LATERAL (SELECT 1 FROM cascade x WHERE x.shard = w.number LIMIT 1) c ON true
        """)

    // MARK: Reading

    func load(_ transaction: PostgreSQLTransaction, shardCount: Int) throws(StoreError) {
        if isEmpty { return }
        let byNumber = Dictionary(uniqueKeysWithValues: shards.map { ($0.number, $0) })
        let (turnShards, turns) = (self.turns.map(\.shard), self.turns.map(\.turn))
        let (keyShards, keys) = (self.keys.map(\.shard), self.keys.map(\.key))
        try transaction.pipeline {
            $0.append(Self.nodes, turnShards, turns, keyShards, keys)
            $0.append(Self.commands, turnShards, turns, keyShards, keys)
            $0.append(Self.dependants, turnShards, turns)
            $0.append(Self.flows, turnShards, turns)
            $0.append(Self.lanes, keyShards, keys)
            $0.append(Self.waiters, keyShards, keys)
            $0.append(Self.parts, batches.map(\.shard), batches.map(\.batch))
            $0.append(Self.cascades, shards.map(\.number))
        } read: { (results, first) throws(StoreError) in
            for (shard, turn) in self.turns { byNumber[shard]?.knowNothing(of: turn) }
            for (shard, key) in self.keys { byNumber[shard]?.knowNothing(ofKey: key) }
            for node in results.take(first).rows({ row in (row: NodeRow(row), shard: row[6] as Int) }) {
                byNumber[node.shard]?.know(node.row)
            }
            let commands = try results.take(first + 1).rows { row throws(StoreError) in try StoredCommand(row) }
            for row in commands { byNumber[row.id.shard(of: shardCount)]?.know([], [row]) }
            let dependants = try results.take(first + 2).rows { row throws(StoreError) in
                (row: try DependencyRow(row), shard: row[4] as Int)
            }
            for dependant in dependants { byNumber[dependant.shard]?.know(dependant.row) }
            for flow in results.take(first + 3).rows({ row in (row: FlowRow(row), shard: row[5] as Int) }) {
                byNumber[flow.shard]?.know(flow.row)
            }
            Self.know(lanes: results.take(first + 4), waiters: results.take(first + 5), byNumber)
            let parts = try results.take(first + 6).rows { row throws(StoreError) in
                (row: try BatchPart(row), shard: row[6] as Int)
            }
            for (shard, batch) in batches { byNumber[shard]?.parts[batch] = .some(nil) }
            for part in parts { byNumber[part.shard]?.parts[part.row.batch] = part.row }
            let left = Set(results.take(first + 7).rows { row in row[0] as Int })
            for shard in shards { shard.hasNoCascade = !left.contains(shard.number) }
        }
    }

    /// Takes in the results of ``lanes`` and ``waiters``.
    static func know(
        lanes: consuming PostgreSQLResult, waiters: consuming PostgreSQLResult, _ shards: [Int: PostgreSQLShard]
    ) {
        let lanes = lanes.rows { row in (row: LaneRow(row), isOrdered: row[4] as Bool, shard: row[5] as Int) }
        for lane in lanes { shards[lane.shard]?.know(lane.row, isOrdered: lane.isOrdered) }
        let waiters = waiters.rows { row in (key: row[0] as String, turn: row[1] as Int64, shard: row[2] as Int) }
        for waiter in waiters { shards[waiter.shard]?.knowWaiter(waiter.key, waiter.turn) }
    }
}

/// Reads what the submit of commands with ordering keys asks for, of all shards of a transaction, in one round trip: the keys,
/// their first waiters, and the commands that are raised where a new one is more urgent.
struct SubmitClosure {
    private var keys: [(shard: Int, key: String)] = []
    private var shards: [Int: PostgreSQLShard] = [:]

    mutating func add(_ drafts: some Sequence<CommandDraft>, to shard: PostgreSQLShard) {
        let new = Set(drafts.compactMap(\.orderingKey)).filter { shard.knownTails[$0] == nil }
        if new.isEmpty { return }
        shards[shard.number] = shard
        keys += new.map { (shard.number, $0) }
    }

    private static let ofKeys = "unnest($1::int8[]::int2[], $2::text[]) k(shard, key)"
    private static let newest = PostgreSQLStatement(
        "submit-newest",
        """
        SELECT k.key, k.shard, (SELECT turn FROM waiter x WHERE x.shard = k.shard AND x.key = k.key ORDER BY turn DESC LIMIT 1)
        FROM \(ofKeys)
        """)
    /// The newest waiters, and the newest commands that have a key.
    private static let commands = PostgreSQLStatement(
        "submit-commands",
        """
        SELECT \(CommandSQL.columns) FROM \(ofKeys) JOIN LATERAL (
            (SELECT turn FROM waiter x WHERE x.shard = k.shard AND x.key = k.key ORDER BY turn DESC LIMIT 1)
            UNION ALL
            (SELECT turn FROM lane_holder x WHERE x.shard = k.shard AND x.key = k.key ORDER BY turn DESC LIMIT 1)) n ON true
        JOIN LATERAL (SELECT id FROM related x WHERE x.shard = k.shard AND x.turn = n.turn LIMIT 1) i ON true
        \(CommandSQL.row(of: "i.id"))
        """)

    func load(_ transaction: PostgreSQLTransaction, shardCount: Int) throws(StoreError) {
        if keys.isEmpty { return }
        let (numbers, keys) = (self.keys.map(\.shard), self.keys.map(\.key))
        try transaction.pipeline {
            for statement in [RelationClosure.lanes, RelationClosure.waiters, Self.newest, Self.commands] {
                $0.append(statement, numbers, keys)
            }
        } read: { (results, first) throws(StoreError) in
            for (shard, key) in self.keys { shards[shard]?.knowNothing(ofKey: key) }
            RelationClosure.know(lanes: results.take(first), waiters: results.take(first + 1), shards)
            let newest = results.take(first + 2).rows { row in
                (key: row[0] as String, shard: row[1] as Int, turn: row[2] as Int64?)
            }
            for row in newest { shards[row.shard]?.knownTails[row.key] = KnownTail(last: row.turn) }
            let commands = try results.take(first + 3).rows { row throws(StoreError) in try StoredCommand(row) }
            for row in commands { shards[row.id.shard(of: shardCount)]?.know([], [row]) }
        }
    }
}
