internal import Commands
internal import Host

/// Where a look for ready commands begins, in each shard and key.
///
/// The indexes of `ready` keep the entries of deleted rows for as long as any open transaction might see them, and a look from
/// the head of a key steps over all of them. Turns ascend in the order of commits, so that a key gets no command below the
/// first one that a look has found, except out of turn. Such a command was moved by this process, which lowers the mark, or is
/// in `ready_again`, from which this process takes it. Once a minute a look begins at the head all the same.
struct ReadyMarks: Sendable {
    private struct Shard: Sendable {
        /// A key that is not in ``keys`` has no command up to this turn.
        var newest: Int64
        /// The turns up to which keys have no command.
        var keys: [ReadyKey: Int64]
        var lookedFromHead: MonotonicTime
    }

    /// A look at the keys of a shard.
    struct Look: Sendable {
        let shard: Int
        fileprivate let isFromHead: Bool
        fileprivate let lowered: Int
    }

    static let interval: Duration = .seconds(60)
    /// Keys of a shard beyond which no marks are kept.
    static let maxKeys = 256

    private var shards: [Int: Shard] = [:]
    /// How often commands of a shard became ready out of turn.
    private var lowered: [Int: Int] = [:]

    /// Begins a look, and adds its ranges.
    func begin(_ shard: Int, _ ranges: inout ReadyRanges, now: MonotonicTime) -> Look {
        let state = shards[shard]
        let isFromHead = state.map { now - $0.lookedFromHead >= Self.interval } ?? true
        if let state, !isFromHead {
            ranges.add(shard, state.keys, newest: state.newest)
        } else {
            ranges.add(shard)
        }
        return Look(shard: shard, isFromHead: isFromHead, lowered: lowered[shard] ?? 0)
    }

    /// Takes in what a look has found.
    /// - Parameters:
    ///   - found: the first turn of each key that has a command.
    ///   - newest: the number of the newest transition before the look.
    mutating func end(_ look: Look, found: [ReadyKey: Int64], newest: Int64, now: MonotonicTime) {
        let state = shards[look.shard]
        // A command that became ready meanwhile may not have been seen.
        guard lowered[look.shard] ?? 0 == look.lowered else { return }
        var keys = state?.keys.mapValues { max($0, newest) } ?? [:]
        if keys.count + found.count > Self.maxKeys { keys = [:] }
        for (key, turn) in found { keys[key] = turn - 1 }
        guard keys.count <= Self.maxKeys else {
            shards[look.shard] = nil
            return
        }
        let last = look.isFromHead ? now : state?.lookedFromHead ?? now
        shards[look.shard] = Shard(newest: newest, keys: keys, lookedFromHead: last)
    }

    /// A command became ready out of turn: call it after its commit.
    mutating func lower(_ shard: Int, _ key: ReadyKey, _ turn: Int64) {
        lowered[shard, default: 0] += 1
        guard let state = shards[shard] else { return }
        shards[shard]?.keys[key] = min(state.keys[key] ?? state.newest, turn - 1)
    }

    /// It is not known which commands became ready.
    mutating func forget(_ shard: Int) {
        lowered[shard, default: 0] += 1
        shards[shard] = nil
    }

    /// The turn up to which a key has no command; 0 where that is not known.
    func start(of key: ReadyKey, in shard: Int) -> Int64 {
        guard let state = shards[shard] else { return 0 }
        return max(state.keys[key] ?? state.newest, 0)
    }
}
