/// A store in shards. Writes to one shard take turns; reads, and calls on different shards, do not wait for each other.
package protocol ShardedStore: Sendable {
    /// The number of shards: a power of two from 1 to 256, fixed when the store was created.
    var shardCount: Int { get }
    /// The clock of the times that the calls write, and by which they decide what is due, passed or lapsed.
    var clock: any StoreClock { get }
    /// The shards whose writes may share a commit with those of `shard`, which is one of them. They are consecutive, and the
    /// groups are numbered in their order. Default: the shard alone.
    func commitGroup(of shard: Int) -> CommitGroup
}
