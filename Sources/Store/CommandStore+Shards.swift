/// Work on the usable shards of a store. A shard that is damaged, foreign or missing must not stop the
/// others.
extension ShardedStore {
    /// Runs `body`, which uses one shard.
    /// - Returns: nil where the shard is unusable (``StoreError/Code/makesShardUnusable``).
    @discardableResult
    package func ifUsable<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code.makesShardUnusable else { throw error }
            return nil
        }
    }

    /// Reads one value of every shard, in the order of the shards. An unusable shard gives `fallback`.
    /// - Throws: the error of the first shard, where every shard is unusable.
    package func mapShards<Value>(
        or fallback: Value, _ read: (_ shard: Int) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        var values: [Value] = []
        var errors: [StoreError] = []
        for shard in 0..<shardCount {
            do throws(StoreError) {
                values.append(try read(shard))
            } catch {
                guard error.code.makesShardUnusable else { throw error }
                values.append(fallback)
                errors.append(error)
            }
        }
        if errors.count == shardCount, let first = errors.first { throw first }
        return values
    }
}

extension CommandStore {
    /// Opens a session in every usable shard.
    package func open(_ session: Session) throws(StoreError) {
        for shard in 0..<shardCount { try ifUsable { () throws(StoreError) in try open(session, shard: shard) } }
    }

    /// Settings whose key starts with `prefix`; none where shard 0 is unusable. For what only shows settings.
    package func settingsIfUsable(prefix: String) throws(StoreError) -> [String: String] {
        let found = try ifUsable { () throws(StoreError) in try settings(prefix: prefix) }
        return found ?? [:]
    }
}
