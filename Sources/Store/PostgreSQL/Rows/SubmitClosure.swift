internal import Commands

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
