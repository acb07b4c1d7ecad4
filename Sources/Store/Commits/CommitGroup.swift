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

/// The outcomes of one commit of a ``CommitGroup``, one for each write and in their order, and its effects on other commands.
package struct CommitOutcome: Sendable, Equatable, RandomAccessCollection {
    private let outcomes: [ExecutionOutcome]
    /// On commands that the writes do not name.
    package let effects: Effects

    package init(_ outcomes: [ExecutionOutcome], _ effects: Effects = Effects()) {
        self.outcomes = outcomes
        self.effects = effects
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { outcomes.count }
    package subscript(position: Int) -> ExecutionOutcome { outcomes[position] }
}

/// How one commit of a ``CommitGroup`` is tried.
package struct CommitAttempt: Sendable, Equatable {
    /// How long to wait for the write locks that other processes hold.
    package var timeout: Duration
    /// The writes were given to a commit whose outcome is unknown (``StoreError/Code-swift.enum/unknown``). Each that it made is
    /// done, and has the outcome that it had then; the others are made now.
    package var isRepetition: Bool

    package init(timeout: Duration, isRepetition: Bool = false) {
        self.timeout = timeout
        self.isRepetition = isRepetition
    }
}
