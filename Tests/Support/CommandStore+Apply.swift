package import Commands
package import Store

extension CommandStore {
    /// Applies changes like a worker whose shard is not locked.
    package func apply(
        _ writes: [ExecutionWrite], shard: Int, seat: Int, epoch: Int64, now: Timestamp
    ) throws(StoreError) -> CommitOutcome {
        try apply(writes, shard: shard, seat: seat, epoch: epoch, now: now, timeout: .seconds(10))
    }
}
