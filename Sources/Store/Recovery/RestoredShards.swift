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
