/// The rounds of one submit: which shards it tries, how long it waits for each, and which drafts it moves. Pure.
///
/// Each further round moves drafts without a key from a shard that turned out unusable, whose WAL is full, or in which
/// another process commits, to the other shards. Eight producers on eight shards mostly meet at one.
struct SubmitRounds {
    /// The state of a shard when a round begins.
    struct Shard {
        var isUsable = true
        /// The last write timed out, because another process held the lock.
        var isLocked = false
    }

    /// The drafts of a shard whose commit has failed that are tried again. The others fail with the error.
    enum Moved {
        case none
        case withoutKey
        case all
    }

    private let isSingle: Bool
    /// Shards in which another process commits, or whose WAL is full.
    private var busy: Set<Int> = []
    private var shards: [Shard] = []
    private var hasFreeShard = false
    private var mayMove = false

    /// - Parameter count: of the drafts.
    init(count: Int) { isSingle = count == 1 }

    /// Begins a round.
    /// - Returns: whether each shard may have drafts without a key in this round.
    mutating func begin(_ shards: [Shard]) -> [Bool] {
        let isFree = shards.indices.map { shards[$0].isUsable && !busy.contains($0) }
        self.shards = shards
        hasFreeShard = isFree.contains(true)
        mayMove = hasFreeShard && (!isSingle || busy.count <= shards.count / 2)
        return hasFreeShard ? isFree : shards.map(\.isUsable)
    }

    /// How long the commit of a shard waits for other processes. A single draft moves to another shard at once. A batch
    /// waits briefly, unless its shard is known to be locked.
    /// - Parameter canMove: some draft for the shard has no key.
    func timeout(of shard: Int, canMove: Bool) -> Duration {
        guard mayMove, canMove else { return WriteTimeout.foreground }
        return isSingle || shards[shard].isLocked ? .zero : WriteTimeout.batch
    }

    /// The commit of a shard has failed.
    /// - Parameters:
    ///   - timeout: how long it has waited.
    ///   - isUsable: whether the shard is usable now.
    mutating func failed(_ shard: Int, _ code: StoreError.Code, after timeout: Duration, isUsable: Bool) -> Moved {
        if code == .busy || code == .unreachable, timeout < WriteTimeout.foreground {
            busy.insert(shard)
            return .all
        }
        if code == .overloaded, hasFreeShard {
            busy.insert(shard)
            return .withoutKey
        }
        let becameUnusable = shards[shard].isUsable && !isUsable && shards.contains { $0.isUsable }
        return becameUnusable ? .withoutKey : .none
    }
}
