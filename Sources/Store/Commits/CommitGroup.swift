/// The shards of a store whose writes may share a commit. In SQLite a shard is a file, and each is a group of its own.
/// Only commits are shared: locks, reads and the order of transitions belong to a shard.
package struct CommitGroup: Sendable, Hashable, CustomStringConvertible {
    /// Its position in ``ShardedStore/commitGroups``.
    package let index: Int
    package let shards: Range<Int>

    package init(_ index: Int, shards: Range<Int>) {
        self.index = index
        self.shards = shards
    }

    /// The number of its shard, or those of the first and the last: “0–7”.
    package var description: String {
        shards.count == 1 ? "\(shards.lowerBound)" : "\(shards.lowerBound)–\(shards.upperBound - 1)"
    }

    /// The shard of a group that has one.
    /// - Throws: `invalid` for a group of several.
    func onlyShard() throws(StoreError) -> Int {
        if shards.count == 1 { return shards.lowerBound }
        throw StoreError(.invalid, "The writes of the shards \(self) cannot share a commit in this store.")
    }
}

extension ShardedStore {
    /// Each shard commits alone.
    package func commitGroup(of shard: Int) -> CommitGroup { CommitGroup(shard, shards: shard..<shard + 1) }

    /// All groups, in the order of their shards. Each shard is in one of them.
    package var commitGroups: [CommitGroup] {
        (0..<shardCount).map { commitGroup(of: $0) }.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}
