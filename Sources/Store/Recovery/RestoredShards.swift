internal import Commands
internal import Host

/// The shards of a store that no other process uses, after a restore has replaced some of them.
final class RestoredShards: ShardAccess {
    let shardCount: Int
    private let data: DataDirectory
    private let restored: Set<Int>
    /// Nil for a shard that cannot be used.
    private var connections: [Int: Connection?] = [:]

    /// - Parameters:
    ///   - count: the shards of the store.
    ///   - restored: those that were replaced.

    init(_ data: DataDirectory, count: Int, restored: [Int]) {
        self.data = data
        shardCount = count
        self.restored = Set(restored)
    }

    /// Posts what the shards owe each other.
    /// - Returns: what they owed.
    func settle() throws(StoreError) -> ShardDebts {
        try continueMessages()
        var comparison = ShardComparison(self)
        try comparison.run()
        try comparison.post(comparison.result.debts)
        return comparison.result
    }

    /// A copy gives numbers again that were given after it was made, and a batch of another shard drops a message whose
    /// number is not greater than that of the last one of the same part.
    private func continueMessages() throws(StoreError) {
        var newest: Int64 = 0
        for shard in 0..<shardCount {
            newest = max(
                newest, try read(shard: shard) { connection throws(StoreError) in try connection.newestMessage() } ?? 0)
        }
        guard newest > 0 else { return }
        for shard in 0..<shardCount {
            try write(shard: shard) { connection throws(StoreError) in try connection.continueMessages(after: newest) }
        }
    }

    /// A shard that was not restored may be damaged or missing: its own restore compares it later.
    func read<Value>(
        shard: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        do throws(StoreError) {
            guard let connection = try connection(to: shard) else { return nil }
            return try connection.use { () throws(StoreError) in try connection.snapshot(body) }
        } catch {
            guard !restored.contains(shard) else { throw error.about(shard: shard, at: data.shard(shard), writer: nil) }
            connections[shard] = .some(nil)
            return nil
        }
    }

    /// - Precondition: the shard was read.
    func write(shard: Int, _ body: (Connection) throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) {
            try connection(to: shard)?.write(body)
        } catch {
            throw error.about(shard: shard, at: data.shard(shard), writer: nil)
        }
    }

    /// Nil where the shard is a backup, which can only be read.
    private func connection(to shard: Int) throws(StoreError) -> Connection? {
        if let known = connections[shard] { return known }
        let path = data.shard(shard)
        let connection = try Connection(shard: shard, path: path, vfs: nil)
        let isBackup = try connection.use { () throws(StoreError) in
            try connection.use(version: try connection.knownVersion(shard, path))
            return try Connection.backupTime(connection.meta()) != nil
        }
        connections[shard] = .some(isBackup ? nil : connection)
        return isBackup ? nil : connection
    }
}

extension Connection {
    /// Makes a copy of a shard a shard in use: ends the sessions, releases what was claimed, uncharged, removes
    /// the mark of the backup, and draws a new id of the file.
    ///
    /// A command that was `sent` runs again where it is idempotent, and is in doubt otherwise: its execution went
    /// on after the backup was made.
    /// - Precondition: the connection is in use.
    /// - Parameters:
    ///   - reason: of the released commands.
    ///   - data: the data directory in which it is put into use.
    ///   - file: its file, where it does not have its name yet.
    /// - Returns: the number of released commands by their new status.
    func settleCopy(
        reason: String, in data: DataDirectory, file: String? = nil
    ) throws(StoreError) -> [CommandStatus: Int] {
        try transaction { connection throws(StoreError) in
            let settled = try connection.releaseClaimed(reason: reason, now: MachineClock().now())
            try connection.execute(
                """
                DELETE FROM session;
                DELETE FROM setting WHERE key >= '\(SettingKey.workerPrefix)' AND key < '\(SettingKey.workerPrefix)~';
                DELETE FROM meta WHERE key = 'backup';
                INSERT OR REPLACE INTO meta (key, value) VALUES ('olderThanSpool', '1');
                UPDATE meta SET value = lower(hex(randomblob(16))) WHERE key = 'id';
                """)
            try connection.record(placeIn: data, file: file)
            return settled
        }
    }

    /// Releases what workers have claimed, uncharged, within a transaction.
    /// - Returns: the number of released commands by their new status.
    func releaseClaimed(reason: String, now: Timestamp) throws(StoreError) -> [CommandStatus: Int] {
        var released: [CommandStatus: Int] = [:]
        for var row in try inFlight() {
            _ = row.release(blame: .none, started: true, reason: reason, now: now, &changes)
            try save(row)
            released[row.command.status, default: 0] += 1
        }
        return released
    }

    /// The greatest number of a message that a batch of this shard has taken in; 0 where there is none.
    func newestMessage() throws(StoreError) -> Int64 {
        guard version >= Schema.firstWithRelations else { return 0 }
        return try Statement(
            """
            SELECT coalesce(max(CAST(CAST(d.result AS TEXT) AS INTEGER)), 0)
            FROM remote_dependency d JOIN command c ON c.turn = d.child
            WHERE c.relations & \(CommandRelations.batch.rawValue) AND d.result IS NOT NULL
            """, sharing: self
        ).first { row throws(StoreError) in row.int64(0) } ?? 0
    }

    /// Gives no message a number up to this.
    func continueMessages(after number: Int64) throws(StoreError) {
        guard version >= Schema.firstWithRelations else { return }
        try execute(
            """
            INSERT INTO sqlite_sequence(name, seq)
                SELECT 'outbox', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'outbox');
            UPDATE sqlite_sequence SET seq = \(number) WHERE name = 'outbox' AND seq < \(number);
            """)
    }

    private func inFlight() throws(StoreError) -> [StoredCommand] {
        try rows(
            Statement(
                """
                SELECT \(Query.columns) FROM command c INDEXED BY command_in_flight
                WHERE c.status IN (1, 2) ORDER BY c.turn
                """, sharing: self))
    }
}
