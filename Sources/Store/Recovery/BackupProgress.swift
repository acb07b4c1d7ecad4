/// How far a backup, a restore or a compaction is with one shard.
package struct BackupProgress: Sendable, Equatable {
    package var shard: Int
    /// Bytes copied so far.
    package var bytes: Int64
    /// Bytes of the shard, as far as known.
    package var total: Int64
    /// The copy is complete and checked.
    package var isDone = false

    package init(shard: Int, bytes: Int64, total: Int64, isDone: Bool = false) {
        self.shard = shard
        self.bytes = bytes
        self.total = total
        self.isDone = isDone
    }
}
