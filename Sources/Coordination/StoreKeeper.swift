internal import Commands
internal import Logging
internal import Store
internal import Synchronization

/// Keeps the store small, on a thread of its own: checkpoints when a shard is idle or its WAL past 32 MB, and prunes
/// finished commands in small batches.
final class StoreKeeper: Sendable {
    private struct Shard {
        var size: Int64 = 0
        var isClean = false
    }

    private struct State {
        var shards: [Shard]
        var isRunning = true
        var rounds = 0
        /// What has been said of shards that are of no use: once is enough.
        var complaints: Set<String> = []
    }

    /// A WAL beyond this is checkpointed while others write.
    static let walLimit: Int64 = 32 << 20
    /// Rows deleted in one transaction.
    static let pruneBatch = 500
    /// Rounds between two looks for what can be pruned.
    private static let pruneEvery = 30

    private let store: any CommandStore
    private let retention: Duration
    private let abandoned: @Sendable ([UInt8]) -> Void
    private let logger: Logger
    private let state: Mutex<State>
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
        state = Mutex(State(shards: Array(repeating: Shard(), count: store.shardCount)))
    }

    /// One round; call it every second or so. Does nothing while the last one runs.
    func round() {
        thread.perform { [self] in
            for shard in 0..<store.shardCount { checkpoint(shard) }
            let prunes = state.withLock { state in
                state.rounds += 1
                return state.rounds % Self.pruneEvery == 0
            }
            if prunes { prune(now: .now) }
        }
    }

    func close() {
        state.withLock { $0.isRunning = false }
        thread.close()
    }

    private func checkpoint(_ shard: Int) {
        let size = store.walSize(shard: shard)
        let isWanted = state.withLock { state in
            let isIdle = size == state.shards[shard].size && !state.shards[shard].isClean
            if size != state.shards[shard].size { state.shards[shard].isClean = false }
            state.shards[shard].size = size
            return size > Self.walLimit || (isIdle && size > 0)
        }
        guard isWanted else { return }
        do throws(StoreError) {
            let rest = try store.checkpoint(shard: shard)
            state.withLock { $0.shards[shard].isClean = rest == 0 }
        } catch {
            report(error, "A checkpoint failed", shard: shard)
        }
    }

    private func prune(now: Timestamp) {
        let before = Timestamp(milliseconds: now.milliseconds - retention.milliseconds)
        for shard in 0..<store.shardCount {
            do throws(StoreError) {
                while state.withLock({ $0.isRunning }) {
                    let pruned = try store.prune(
                        shard: shard, before: before, statuses: [.success, .cancelled], limit: Self.pruneBatch)
                    for payload in pruned.abandoned { abandoned(payload) }
                    if pruned.count == 0 { break }
                }
            } catch {
                report(error, "Pruning failed", shard: shard)
            }
        }
    }

    private func report(_ error: StoreError, _ what: String, shard: Int) {
        let isNews = !error.code.spoilsShard || state.withLock { $0.complaints.insert(error.message).inserted }
        if isNews { logger.warning("\(what): \(error.message)", metadata: ["shard": "\(shard)"]) }
    }
}
