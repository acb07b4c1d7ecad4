/// What goes on without a shard that is damaged, foreign or gone: it must not stop the work of the others, and whoever
/// works with it says so.
extension CommandStore {
    /// Runs `body`. - Returns: nil where its shard is of no use any more.
    @discardableResult
    package func sound<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value? {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code.spoilsShard else { throw error }
            return nil
        }
    }

    /// Opens a session in every shard that is of use.
    package func open(_ session: Session) throws(StoreError) {
        for shard in 0..<shardCount { try sound { () throws(StoreError) in try open(session, shard: shard) } }
    }

    /// Reads something of every shard, in order. One that is of no use gives `nothing`.
    /// - Throws: what the first says, where none is of use.
    package func ofEachShard<Value>(
        or nothing: Value, _ read: (_ shard: Int) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        var values: [Value] = []
        var losses: [StoreError] = []
        for shard in 0..<shardCount {
            do throws(StoreError) {
                values.append(try read(shard))
            } catch {
                guard error.code.spoilsShard else { throw error }
                values.append(nothing)
                losses.append(error)
            }
        }
        if losses.count == shardCount, let first = losses.first { throw first }
        return values
    }

    /// Settings whose key starts with `prefix`, for whoever only shows them: none where shard 0 is of no use.
    package func knownSettings(prefix: String) throws(StoreError) -> [String: String] {
        let found = try sound { () throws(StoreError) in try settings(prefix: prefix) }
        return found ?? [:]
    }
}
