internal import Commands
internal import Host
internal import Logging
internal import Store
internal import Synchronization

/// Keeps the store small, on a thread of its own: checkpoints each shard in its turn, and in every round where its WAL is
/// past 32 MB; and prunes finished commands in small batches.
///
/// With a round a second, a WAL that gets less than 1 MB a second never leaves the blocks that were laid out for it.
final class StoreMaintainer: Sendable {
    private struct State {
        var isRunning = true
        var isAtWork = false
        var rounds = 0
        /// The last round has left something to be pruned.
        var hasMore = false
        /// What has been said of shards that are of no use: once is enough.
        var complaints: Set<String> = []
        /// Shards that another process keeps locked, as has been said.
        var locked: Set<Int> = []
    }

    /// A WAL beyond this is checkpointed while others write.
    static let walLimit: Int64 = 32 << 20
    /// Rounds between two checkpoints of a shard that has less.
    private static let turns = 8
    /// Rows deleted in one transaction.
    static let pruneBatch = 500
    /// Rounds between two looks for what can be pruned.
    private static let pruneEvery = 30
    /// Batches of a shard in a round: checkpoints wait for no pruning.
    private static let pruneBatches = 20

    private let store: any CommandStore
    private let retention: Duration
    private let abandoned: @Sendable ([UInt8]) -> Void
    private let logger: Logger
    private let state = Mutex(State())
    private let thread = BlockingThread(named: "store-keeper")

    /// - Parameters:
    ///   - retention: how long commands that have ended are kept.
    ///   - abandoned: called with the payload of each that is pruned and was no success.
    init(
        store: any CommandStore, retention: Duration, abandoned: @escaping @Sendable ([UInt8]) -> Void, logger: Logger
    ) {
        self.store = store
        self.retention = retention
        self.abandoned = abandoned
        self.logger = logger
    }

    /// One round; call it every second or so. Does nothing while the last one runs.
    func round() {
        let number = state.withLock { state -> Int? in
            if state.isAtWork { return nil }
            state.isAtWork = true
            state.rounds += 1
            return state.rounds
        }
        guard let number else { return }
        thread.perform { [self] in
            for shard in 0..<store.shardCount {
                let size = store.walSize(shard: shard)
                let isItsTurn = number % Self.turns == shard % Self.turns
                if size > Self.walLimit || size > 0 && isItsTurn { checkpoint(shard) }
            }
            if state.withLock({ $0.hasMore }) || number % Self.pruneEvery == 0 {
                let hasMore = prune(now: .now)
                state.withLock { $0.hasMore = hasMore }
            }
            state.withLock { $0.isAtWork = false }
        }
    }

    func close() {
        state.withLock { $0.isRunning = false }
        thread.close()
    }

    private func checkpoint(_ shard: Int) {
        do throws(StoreError) {
            _ = try store.checkpoint(shard: shard)
            state.withLock { _ = $0.locked.remove(shard) }
        } catch {
            report(error, "A checkpoint failed", shard: shard)
        }
    }

    /// - Returns: whether something is left for the next round.
    private func prune(now: Timestamp) -> Bool {
        var hasMore = false
        let before = Timestamp(milliseconds: now.milliseconds - retention.milliseconds)
        for shard in 0..<store.shardCount {
            do throws(StoreError) {
                for batch in 1...Self.pruneBatches where state.withLock({ $0.isRunning }) {
                    let pruned = try store.prune(
                        shard: shard, before: before, statuses: [.success, .cancelled], limit: Self.pruneBatch)
                    for payload in pruned.abandoned { abandoned(payload) }
                    if pruned.count == 0 { break }
                    if batch == Self.pruneBatches { hasMore = true }
                }
            } catch {
                report(error, "Pruning failed", shard: shard)
            }
        }
        return hasMore
    }

    private func report(_ error: StoreError, _ what: String, shard: Int) {
        let isNews = state.withLock { state in
            if error.code == .busy { return state.locked.insert(shard).inserted }
            return !error.code.makesShardUnusable || state.complaints.insert(error.message).inserted
        }
        if isNews { logger.warning("\(what): \(error.message)", metadata: ["shard": "\(shard)"]) }
    }
}
