package import Commands

/// Removes what commands have left behind.
package protocol PruningStore: ShardedStore {
    /// Replaces the records of ``Leftover``s that are due by commands that remove the remains, and takes the
    /// checkpoints away, in one transaction. Does nothing while the clock is held (``ClockHold``).
    /// - Parameters:
    ///   - limit: records in one batch. Call again until a batch is empty.
    ///   - cleanup: makes the command, in the transaction; nil where nothing is to be removed, and then the
    ///     checkpoint stays.
    /// - Returns: the number of records.
    func cleanUp(shard: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?) throws(StoreError) -> Int
    /// Deletes commands that ended before `before` in one of `statuses`, with their payloads, results and
    /// transitions. A command with a ``Leftover`` stays, and the leftover is due at once. Deletes nothing while the clock
    /// is held (``ClockHold``).
    /// - Parameter limit: commands in one batch. Call again until a batch is empty.
    func prune(shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int) throws(StoreError)
        -> PruneResult
    /// The shards in which ``cleanUp(shard:limit:_:)`` may find something. Default: all.
    func shardsWithLeftovers() throws(StoreError) -> [Int]
    /// The shards in which ``prune(shard:before:statuses:limit:)`` may find something. Default: all.
    func shardsToPrune(before: Timestamp, statuses: Set<CommandStatus>) throws(StoreError) -> [Int]
    /// Makes room of deleted rows, where an engine does not do so at once, and has not done so for a minute. Default: nothing.
    func reclaimDeletedRows() throws(StoreError)
}

extension PruningStore {
    package func reclaimDeletedRows() throws(StoreError) {}
}
