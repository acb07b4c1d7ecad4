package import Store

/// Commits of one shard.
extension ExecutionStore {
    /// Applies changes like a worker.
    /// - Parameter timeout: how long to wait for the write lock of the shard.
    package func apply(
        _ writes: [ExecutionWrite], shard: Int, seat: Int, epoch: Int64,
        timeout: Duration = .seconds(10)
    ) throws(StoreError) -> CommitOutcome {
        try apply(
            { writes }, group: commitGroup(of: shard), seat: seat, epoch: epoch, CommitAttempt(timeout: timeout))
    }
}

extension UploadStore {
    /// Changes uploads like the door.
    package func apply(
        _ writes: [UploadWrite], shard: Int
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        try apply(writes, group: commitGroup(of: shard))
    }
}
