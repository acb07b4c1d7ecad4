package import Store

extension ExecutionStore {
    /// Applies changes like a worker whose shard is not locked.
    package func apply(
        _ writes: [ExecutionWrite], shard: Int, seat: Int, epoch: Int64
    ) throws(StoreError) -> CommitOutcome {
        try apply(writes, shard: shard, seat: seat, epoch: epoch, timeout: .seconds(10))
    }
}
