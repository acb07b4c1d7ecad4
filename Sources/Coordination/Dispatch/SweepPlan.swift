internal import Host
internal import Store

/// How each shard is swept for ready commands that no hint told of: by the changes since the last sweep, or
/// by all ready commands, whichever is less. Pure.
///
/// A shard with few pairs of destination and quality is read by these: one index seek for each. With 20,000
/// destinations that would be 40,000 reads in each sweep, although nothing has changed.
struct SweepPlan: Sendable {
    private struct Shard: Sendable {
        /// All transitions up to this number were read; nil before the first sweep.
        var through: Int64?
        var keys = 0
        var keysAt = MonotonicTime.zero
    }

    private var shards: [Shard]

    /// All pairs are read again after this time; the second value holds where commands are passed
    /// over because no worker can run them.
    private static let keysInterval: Duration = .seconds(600)
    private static let unrunnableInterval: Duration = .seconds(60)

    init(shardCount: Int) { shards = Array(repeating: Shard(), count: shardCount) }

    func way(of shard: Int, hasUnrunnable: Bool, now: MonotonicTime) -> ShardSweep.Way {
        let state = shards[shard]
        guard let through = state.through, state.keys > ShardSweep.fewKeys,
            now - state.keysAt < (hasUnrunnable ? Self.unrunnableInterval : Self.keysInterval)
        else { return .keys }
        return .changes(after: through)
    }

    /// Commands of these shards were dropped from memory, or can be run now: all that is ready is read again.
    mutating func forget(_ shards: Set<Int>) { for shard in shards { self.shards[shard].through = nil } }

    /// - Parameter newest: number of the newest transition before the keys were read.
    mutating func readKeys(_ count: Int, of shard: Int, newest: Int64, now: MonotonicTime) {
        shards[shard] = Shard(through: newest, keys: count, keysAt: now)
    }

    mutating func readChanges(of shard: Int, through newest: Int64) {
        shards[shard].through = max(shards[shard].through ?? 0, newest)
    }
}
