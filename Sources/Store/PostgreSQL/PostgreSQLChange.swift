internal import Commands
internal import Host
internal import Synchronization

/// The changes of one transaction in the shards that it has locked.
final class PostgreSQLChange {
    /// Rows that are read in the round trip of the locks.
    struct Preload {
        /// Commands, with their states.
        var ids: [CommandID] = []
        /// The same for those that a worker has probably claimed.
        var claimed: [CommandID] = []
        /// Commands whose payloads and checkpoints are read too.
        var bodies: [CommandID] = []
        /// A worker whose session is looked up.
        var session: (seat: Int, epoch: Int64)?
    }

    let transaction: PostgreSQLTransaction
    private let store: PostgreSQLStore
    /// By id: of ``Preload/bodies``.
    var bodies: [CommandID: (payload: [UInt8], checkpoint: [UInt8]?)] = [:]
    /// Whether the worker of ``Preload/session`` has one.
    private(set) var hasSession = false
    private var shards: [PostgreSQLShard] = []

    /// A lock that another transaction holds makes the shard busy, before the deadline makes the server look unreachable.
    private static let lockTimeout = PostgreSQLStatement("lock-timeout", "SELECT set_config('lock_timeout', $1, true)")
    /// For a transaction that lasts as long as a copy of the store.
    static let unlimited = PostgreSQLStatement(
        "unlimited",
        """
        SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true),
            set_config('lock_timeout', '10s', true)
        """)
    /// The locks come as a statement of their own: the statements behind it see what their last holders have committed, where
    /// one statement would see what was there before it waited.
    static let lock = PostgreSQLStatement(
        "lock-shards", "SELECT 1 FROM shard WHERE number = ANY($1::int8[]::int2[]) ORDER BY number FOR UPDATE")
    /// Behind the locks of shards, as a coordinator takes them. Waits for the transactions that have submitted by SQL.
    static let lockInbox = PostgreSQLStatement("lock-inbox", "LOCK TABLE inbox IN SHARE ROW EXCLUSIVE MODE")
    /// One row without a number where no shard is locked. The host is read behind the locks too, all of which a move of the
    /// store takes: a host that has lost the store writes nothing, however long it was suspended.
    private static let newest = PostgreSQLStatement(
        "newest",
        """
        SELECT w.number, greatest(
            coalesce((SELECT t.seq FROM transition t WHERE t.shard = w.number ORDER BY t.seq DESC LIMIT 1), 0),
            coalesce((SELECT p.seq FROM pruned p WHERE p.shard = w.number LIMIT 1), 0)),
            (SELECT \(PostgreSQLHost.isOwn(id: "$2", inode: "$3")) FROM host h WHERE h.number = 1)
        FROM (SELECT 1) one LEFT JOIN unnest($1::int8[]::int2[]) w(number) ON true
        """)
    private static let bodies = PostgreSQLStatement(
        "bodies",
        """
        SELECT w.id, c.payload, (SELECT k.state FROM kept k WHERE k.id = w.id LIMIT 1)
        FROM unnest($1::uuid[]) w(id) JOIN LATERAL (SELECT payload FROM command WHERE id = w.id LIMIT 1) c ON true
        """)
    private static let session = PostgreSQLStatement(
        "has-session", "SELECT 1 FROM session WHERE seat = $1 AND epoch = $2 AND NOT dead LIMIT 1")

    /// Locks shards.
    /// - Parameter numbers: ascending, each once: two transactions that lock in one order do not wait for each other.
    init(
        _ numbers: [Int], _ transaction: PostgreSQLTransaction, loading preload: Preload, store: PostgreSQLStore
    ) throws(StoreError) {
        self.transaction = transaction
        self.store = store
        let session = preload.session
        let host = store.own.withLock { $0 }
        var hasHost = true
        let timeout = max((transaction.deadline - .now).milliseconds * 3 / 4, 1)
        var found: [StoredCommand] = []
        // A statement costs about 20 µs also where it looks for nothing.
        let lookUps = [(CommandSQL.byID, preload.ids), (CommandSQL.byClaimedID, preload.claimed)].filter { lookUp in
            !lookUp.1.isEmpty
        }
        try transaction.pipeline {
            $0.append(Self.lockTimeout, "\(timeout)ms")
            $0.append(Self.lock, numbers)
            $0.append(Self.newest, numbers, host?.id, host?.inode)
            for (statement, ids) in lookUps { $0.append(statement, ids) }
            if let session { $0.append(Self.session, session.seat, session.epoch) }
            if !preload.bodies.isEmpty { $0.append(Self.bodies, preload.bodies) }
        } read: { (results, first) throws(StoreError) in
            let newest = results.take(first + 2).rows { row in
                (shard: row[0] as Int?, number: row[1] as Int64, hasHost: row[2] as Bool?)
            }
            hasHost = newest.allSatisfy { $0.hasHost == true }
            shards = newest.compactMap { row in
                row.shard.map { number in
                    PostgreSQLShard(
                        number, of: store.shardCount, transaction, newest: row.number, clockTrust: store.clockTrust)
                }
            }.sorted { $0.number < $1.number }
            var next = first + 3
            for _ in lookUps {
                found += try results.take(next).rows { row throws(StoreError) in try StoredCommand(row) }
                next += 1
            }
            if session != nil {
                hasSession = results.take(next).count > 0
                next += 1
            }
            if preload.bodies.isEmpty { return }
            let read = results.take(next).rows { row in
                (row[0] as CommandID, (payload: row[1] as [UInt8], checkpoint: row[2] as [UInt8]?))
            }
            bodies = Dictionary(read) { first, _ in first }
        }
        if let host, !hasHost { throw try host.loss(transaction, of: store.pool.name) }
        for shard in shards {
            let own = (preload.ids + preload.claimed).filter { $0.shard(of: store.shardCount) == shard.number }
            shard.know(own, found.filter { $0.id.shard(of: store.shardCount) == shard.number })
        }
    }

    /// A locked shard.
    func shard(_ number: Int) throws(StoreError) -> PostgreSQLShard {
        guard let shard = shards.first(where: { $0.number == number }) else {
            throw StoreError(.failed, "The transaction has not locked shard \(number).")
        }
        return shard
    }

    /// The commands that became ready out of their turn.
    var readyAgain: [PostgreSQLShard.ReadyTurn] { shards.flatMap(\.readyAgain) }

    /// Writes what the shards have gathered.
    /// - Returns: the effects on other commands than those that the call has named.
    func finish() throws(StoreError) -> Effects {
        let closure = RelationClosure(shards)
        try closure.load(transaction, shardCount: store.shardCount)
        let reads = transaction.reads
        var effects = Effects()
        for shard in shards { effects.append(try shard.settle()) }
        if !closure.isEmpty {
            let isMiss = transaction.reads > reads
            store.pool.statistics.withLock { statistics in
                statistics.relationLoads += 1
                if isMiss { statistics.relationMisses += 1 }
            }
        }
        var rows = RowChanges()
        for shard in shards { shard.flush(into: &rows, isEnd: true) }
        try rows.write(to: transaction)
        return effects
    }
}
