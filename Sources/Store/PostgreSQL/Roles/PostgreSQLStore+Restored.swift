package import Commands

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
