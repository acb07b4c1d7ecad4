package import Commands
package import Store

extension CommandStore {
    /// As a worker does whose shard nobody keeps.
    package func apply(
        _ writes: [ExecutionWrite], shard: Int, seat: Int, epoch: Int64, now: Timestamp
    ) throws(StoreError) -> [ExecutionOutcome] {
        try apply(writes, shard: shard, seat: seat, epoch: epoch, now: now, timeout: .seconds(10))
    }
}
