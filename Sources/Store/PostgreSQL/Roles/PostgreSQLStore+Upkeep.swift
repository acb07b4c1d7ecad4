package import Commands
internal import Host

extension PostgreSQLStore {
    private static let prefixed = PostgreSQLStatement(
        "settings", "SELECT key, value FROM setting WHERE starts_with(key, $1)")

    /// A write takes the lock of shard 0, so that ``update(_:timeout:_:)`` loses none.
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try untilKnown { _ throws(StoreError) in
            _ = try change([0], timeout: timeout) { change throws(StoreError) in
                for (key, value) in settings { try change.transaction.set(key, value) }
            }
        }
        if settings.contains(where: { $0.key == SettingKey.clockHold }) { clockTrust.readAgain() }
    }

    package func update(_ key: String, timeout: Duration, _ change: (String?) -> String?) throws(StoreError) {
        _ = try self.change([0], timeout: timeout) { shards throws(StoreError) in
            let before = try shards.transaction.setting(key)
            let after = change(before)
            if after != before { try shards.transaction.set(key, after) }
        }
    }

    package func setting(_ key: String) throws(StoreError) -> String? {
        try read { transaction throws(StoreError) in try transaction.setting(key) }
    }

    package func settings(prefix: String) throws(StoreError) -> [String: String] {
        let found = try read { transaction throws(StoreError) in
            try transaction.read(Self.prefixed, prefix).rows { row in (row[0] as String, row[1] as String) }
        }
        return Dictionary(uniqueKeysWithValues: found)
    }
}

extension PostgreSQLTransaction {
    private static let setting = PostgreSQLStatement("setting", "SELECT value FROM setting WHERE key = $1")
    private static let setSetting = PostgreSQLStatement(
        "set-setting",
        "INSERT INTO setting(key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
    private static let removeSetting = PostgreSQLStatement("remove-setting", "DELETE FROM setting WHERE key = $1")

    func setting(_ key: String) throws(StoreError) -> String? {
        try read(Self.setting, key).first { row in row[0] as String }
    }

    /// - Parameter value: nil removes the setting.
    fileprivate func set(_ key: String, _ value: String?) throws(StoreError) {
        if let value { try write(Self.setSetting, key, value) } else { try write(Self.removeSetting, key) }
    }
}

extension PostgreSQLStore {
    private static let dueLeftovers = PostgreSQLStatement(
        "due-leftovers",
        """
        SELECT w.id, c.payload, (SELECT k.state FROM kept k WHERE k.id = w.id LIMIT 1)
        FROM (SELECT id FROM leftover WHERE shard = $1 AND due <= $2 ORDER BY due, id LIMIT $3) w
        JOIN LATERAL (SELECT payload FROM command WHERE id = w.id LIMIT 1) c ON true
        """)
    private static let shardsWithLeftovers = PostgreSQLStatement(
        "shards-with-leftovers",
        """
        SELECT w.number FROM unnest($1::int8[]::int2[]) w(number)
        JOIN LATERAL (SELECT 1 FROM leftover l WHERE l.shard = w.number AND l.due <= $2 LIMIT 1) l ON true
        """)
    private static let removeLeftovers = PostgreSQLStatement(
        "drop-leftovers", "DELETE FROM leftover WHERE id = ANY($1::uuid[])")
    private static let dropCheckpoints = PostgreSQLStatement(
        "drop-checkpoints", "DELETE FROM kept WHERE id = ANY($1::uuid[])")

    package func shardsWithLeftovers() throws(StoreError) -> [Int] { try shardsWithLeftovers(Array(0..<shardCount)) }

    private func shardsWithLeftovers(_ shards: [Int]) throws(StoreError) -> [Int] {
        let now = clock.now()
        return try read { transaction throws(StoreError) in
            try transaction.read(Self.shardsWithLeftovers, shards, now).rows { row in row[0] as Int }
        }
    }

    package func cleanUp(
        shard number: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?
    ) throws(StoreError) -> Int {
        try check(number)
        guard try !shardsWithLeftovers([number]).isEmpty, !isClockHeld else { return 0 }
        let now = clock.now()
        return try change(shard: number, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            let transaction = shard.transaction
            let found = try transaction.read(Self.dueLeftovers, number, now, max(limit, 0)).rows { row in
                (id: row[0] as CommandID, payload: row[1] as [UInt8], checkpoint: row[2] as [UInt8]?)
            }
            try shard.load(found.map(\.id))
            var cleaned: [CommandID] = []
            var drafts: [PendingDraft] = []
            for entry in found {
                guard let row = try shard.command(entry.id) else { continue }
                let leftover = Leftover(
                    command: row.command, payload: entry.payload, checkpoint: entry.checkpoint ?? [])
                guard leftover.isOfEnded, let draft = cleanup(leftover), draft.problem == nil else { continue }
                // A retry of the command begins anew, so it never uses what the draft removes.
                cleaned.append(entry.id)
                drafts.append(
                    PendingDraft(
                        index: drafts.count, draft: draft, id: CommandID(now: now, shardByte: entry.id.shardByte),
                        digest: draft.digest))
            }
            try transaction.write(Self.removeLeftovers, found.map(\.id))
            try transaction.write(Self.dropCheckpoints, cleaned)
            for result in try shard.insert(drafts, now: now) { _ = try result.get() }
            return found.count
        }.0
    }
}

/// The rows that come and go leave dead versions, which every scan steps over until a vacuum has removed them.
///
/// Autovacuum looks at a table once a minute (`autovacuum_naptime`), or later where its workers are busy with large tables
/// (River #59: for hours). So the coordinator looks too.
extension PostgreSQLStore {
    /// Dead rows of a table that are worth a vacuum.
    static let maxDeadRows = 10_000

    /// The condition of VACUUM: the owner of the table or of the database, or from PostgreSQL 17 on the right MAINTAIN. Without
    /// it, VACUUM changes nothing, and writes a warning to the log of the server.
    /// - Parameter table: the alias of a row of `pg_class`.
    private static func mayVacuum(_ table: String) -> String {
        """
        (pg_has_role(\(table).relowner, 'USAGE')
        OR EXISTS (SELECT 1 FROM pg_database b WHERE b.datname = current_database() AND pg_has_role(b.datdba, 'USAGE'))
        OR EXISTS (SELECT 1 FROM aclexplode(\(table).relacl) a
            WHERE a.privilege_type = 'MAINTAIN' AND (a.grantee = 0 OR pg_has_role(a.grantee, 'USAGE')))
        OR EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = 'pg_maintain' AND pg_has_role(r.oid, 'USAGE')))
        """
    }

    private static let busyTables =
        "c.relnamespace = current_schema()::regnamespace AND c.relname IN ('ready', 'running')"
    private static let overdue = PostgreSQLStatement(
        "overdue-vacuum",
        """
        SELECT c.relname::text FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
        WHERE \(busyTables) AND s.n_dead_tup > $1
        AND greatest(s.last_vacuum, s.last_autovacuum, '-infinity') < clock_timestamp() - interval '1 minute'
        AND \(mayVacuum("c")) ORDER BY 1
        """)
    /// The tables that this role may not vacuum.
    static let notVacuumed = PostgreSQLStatement(
        "not-vacuumed",
        "SELECT c.relname::text FROM pg_class c WHERE \(busyTables) AND NOT \(mayVacuum("c")) ORDER BY 1")

    /// A table that another session locks is left out, and a vacuum of millions of rows takes seconds.
    private static let vacuumTimeout: Duration = .seconds(60)

    package func reclaimDeletedRows() throws(StoreError) {
        let tables = try read { transaction throws(StoreError) in
            try transaction.read(Self.overdue, Self.maxDeadRows).rows { row in row[0] as String }
        }
        guard !tables.isEmpty else { return }
        try runAlone("VACUUM (SKIP_LOCKED) \(tables.joined(separator: ", "))", timeout: Self.vacuumTimeout)
    }

    /// Runs a statement outside of transactions, with a timeout of its own.
    private func runAlone(_ sql: String, timeout: Duration) throws(StoreError) {
        do throws(PostgreSQLError) {
            let deadline = MonotonicTime.now + timeout
            try pool.withConnection(deadline: deadline) { connection throws(PostgreSQLError) in
                let limit = PostgreSQLStatement(once: "SET statement_timeout = \(timeout.milliseconds)")
                _ = try connection.execute(limit, deadline: deadline)
                let result = Result { () throws(PostgreSQLError) in
                    _ = try connection.execute(PostgreSQLStatement(once: sql), deadline: deadline)
                }
                _ = try connection.execute(PostgreSQLStatement(once: "RESET statement_timeout"), deadline: deadline)
                try result.get()
            }
        } catch {
            throw error.storeError
        }
    }
}

/// The tables of a store after its server was put back to an earlier moment.
///
/// A server does not tell that: the recovery to a point in time and the promotion of a synchronous standby, which loses nothing,
/// both begin a new timeline. So an operator says it.
extension PostgreSQLStore {
    private static let running = PostgreSQLStatement("restored-running", "SELECT id FROM running ORDER BY shard, turn")
    private static let removeSessions = PostgreSQLStatement("restored-sessions", "DELETE FROM session")
    private static let removeWorkers = PostgreSQLStatement(
        "restored-workers", "DELETE FROM setting WHERE starts_with(key, '\(SettingKey.workerPrefix)')")
    private static let raiseGeneration = PostgreSQLStatement(
        "restored-generation", "UPDATE meta SET value = (value::int8 + 1)::text WHERE key = 'generation'")
    private static let setOlder = PostgreSQLStatement(
        "restored-older", "INSERT INTO meta(key, value) VALUES ('older_than_spool', '1') ON CONFLICT (key) DO NOTHING")
    private static let isOlder = PostgreSQLStatement(
        "is-older-than-spool", "SELECT 1 FROM meta WHERE key = 'older_than_spool'")
    private static let removeOlder = PostgreSQLStatement(
        "spool-compared", "DELETE FROM meta WHERE key = 'older_than_spool'")

    /// Ends the sessions, and releases what was claimed, uncharged, in one transaction.
    ///
    /// A command that was `sent` runs again where it is idempotent, and is in doubt otherwise: its execution went on after that
    /// moment, and the notes of its worker may be later than the tables.
    /// - Precondition: no coordinator, no worker and no door works on the store.
    /// - Returns: the number of released commands by their new status.
    package func settleRestored() throws(StoreError) -> [CommandStatus: Int] {
        let now = clock.now()
        return try untilKnown { _ throws(StoreError) in
            try change(0..<shardCount, timeout: .seconds(60)) { change throws(StoreError) in
                let ids = try change.transaction.read(Self.running).rows { row in row[0] as CommandID }
                for (shard, ids) in Dictionary(grouping: ids, by: { $0.shard(of: shardCount) }) {
                    try change.shard(shard).load(ids)
                }
                var settled: [CommandStatus: Int] = [:]
                for id in ids {
                    let shard = try change.shard(id.shard(of: shardCount))
                    guard var row = try shard.command(id) else { continue }
                    _ = row.release(
                        blame: .none, started: true, reason: "its server was restored to an earlier moment", now: now,
                        &shard.changes)
                    shard.save(row)
                    settled[row.command.status, default: 0] += 1
                }
                try change.transaction.write(Self.removeSessions)
                try change.transaction.write(Self.removeWorkers)
                try change.transaction.write(Self.raiseGeneration)
                try change.transaction.write(Self.setOlder)
                return settled
            }.0
        }
    }

    /// The mark is of all shards: they are of one moment.
    package func isOlderThanSpool(shard: Int) throws(StoreError) -> Bool {
        try read { transaction throws(StoreError) in try transaction.read(Self.isOlder).count > 0 }
    }

    /// Every shard was compared before the first is noted.
    package func noteSpoolCompared(shard: Int) throws(StoreError) {
        try read { transaction throws(StoreError) in _ = try transaction.read(Self.removeOlder) }
    }
}
