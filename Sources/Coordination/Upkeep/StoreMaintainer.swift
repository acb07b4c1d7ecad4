internal import Commands
internal import Host
internal import Logging
internal import Metrics
internal import Store
internal import Synchronization

/// Keeps the store small, on a thread that may block. It checkpoints each shard in its turn, and in every round
/// where the WAL exceeds 32 MB. It prunes finished commands in small batches, removes the locks of programs that
/// no process holds, and submits commands that remove the remains of others (``Leftover``). Each minute it has the store
/// make room of deleted rows.
///
/// With a round a second, a WAL that gets less than 1 MB a second never leaves the blocks that were laid out
/// for it.
final class StoreMaintainer: Sendable {
    private struct State {
        var isRunning = true
        var isAtWork = false
        var rounds = 0
        /// The last round did not prune everything.
        var hasMore = false
        /// Messages of damaged shards that were logged: once is enough.
        var logged: Set<String> = []
        /// Shards whose lock by another process was logged.
        var locked: Set<Int> = []
        /// The server of the store was away at the last call, which was logged.
        var isUnreachable = false
    }

    /// A WAL beyond this is checkpointed while others write.
    static let walLimit: Int64 = 32 << 20
    /// Rounds between two checkpoints of a shard whose WAL is smaller.
    private static let turns = 8
    /// Rows deleted in one transaction.
    static let pruneBatch = 500
    /// Rounds between two prunings.
    private static let pruneEvery = 30
    /// The first round that prunes.
    private static let firstPrune = 3
    /// Batches of a shard in a round, so that checkpoints do not wait for the pruning.
    private static let pruneBatches = 20
    /// Rounds between two searches for remains.
    private static let cleanUpEvery = 4
    /// Rounds between two looks for deleted rows that take room.
    private static let reclaimEvery = 60
    /// Leftovers in one transaction. Each may have a payload of 1 MiB.
    private static let cleanUpBatch = 16

    /// Locks that one round of pruning removes.
    private static let maxLocks = 1000

    private let store: any PruningStore
    private let files: (any StoreMaintenance)?
    private let runDirectory: RunDirectory?
    private let retention: Duration
    private let abandoned: @Sendable ([UInt8]) -> Void
    private let cleanup: @Sendable (Leftover) -> CommandDraft?
    private let logger: Logger
    private let state = Mutex(State())
    private let checkpointTime = Timer(label: "sluice.checkpoint")

    /// - Parameters:
    ///   - files: of the store; nil where it has none.
    ///   - runDirectory: has the locks of programs; nil for a store without a directory.
    ///   - retention: how long commands that have ended are kept.
    ///   - abandoned: called with the payload of each pruned command that did not succeed.
    ///   - cleanup: makes the command that removes the remains of one that has ended.
    init(
        store: any PruningStore, files: (any StoreMaintenance)?, in runDirectory: RunDirectory? = nil,
        retention: Duration,
        abandoned: @escaping @Sendable ([UInt8]) -> Void,
        cleanup: @escaping @Sendable (Leftover) -> CommandDraft? = { _ in nil }, logger: Logger
    ) {
        self.cleanup = cleanup
        self.store = store
        self.files = files
        self.runDirectory = runDirectory
        self.retention = retention
        self.abandoned = abandoned
        self.logger = logger
    }

    /// Starts one round; call it about once a second. Does nothing while the last one runs.
    func round() {
        let number = state.withLock { state -> Int? in
            if state.isAtWork { return nil }
            state.isAtWork = true
            state.rounds += 1
            return state.rounds
        }
        guard let number else { return }
        BlockingPool.shared.perform { [self] in
            if let files { checkpoint(files, round: number) }
            // Early in the first turn: a coordinator that restarts every few seconds prunes too.
            let isPruning = state.withLock { $0.hasMore } || number % Self.pruneEvery == Self.firstPrune
            if isPruning || number % Self.cleanUpEvery == 1 { cleanUp() }
            if number % Self.reclaimEvery == 0 { reclaim() }
            if isPruning {
                let hasMore = prune(now: store.clock.now())
                state.withLock { $0.hasMore = hasMore }
                removeFreeLocks()
            }
            state.withLock { $0.isAtWork = false }
        }
    }

    func close() { state.withLock { $0.isRunning = false } }

    private func checkpoint(_ files: any StoreMaintenance, round: Int) {
        for shard in 0..<files.shardCount {
            let size = files.walSize(shard: shard)
            let isItsTurn = round % Self.turns == shard % Self.turns
            guard size > Self.walLimit || size > 0 && isItsTurn else { continue }
            do throws(StoreError) {
                let start = MonotonicTime.now
                _ = try files.checkpoint(shard: shard)
                checkpointTime.recordNanoseconds((MonotonicTime.now - start).nanoseconds)
                state.withLock { _ = $0.locked.remove(shard) }
            } catch {
                report(error, "A checkpoint failed", shard: shard)
            }
        }
    }

    /// The shards that a call finds; none where it fails, which is logged.
    private func shards(_ what: String, _ find: () throws(StoreError) -> [Int]) -> [Int] {
        do throws(StoreError) {
            return try find()
        } catch {
            report(error, what, shard: 0)
            return []
        }
    }

    /// Submits a bounded number of cleanups; the next call goes on. The coordinator's sweep finds them.
    private func cleanUp() {
        for shard in shards("Remains of ended commands were not cleaned up", store.shardsWithLeftovers) {
            do throws(StoreError) {
                for _ in 1...Self.pruneBatches where state.withLock({ $0.isRunning }) {
                    if try store.cleanUp(shard: shard, limit: Self.cleanUpBatch, cleanup) == 0 { break }
                }
                state.withLock { $0.isUnreachable = false }
            } catch {
                report(error, "Remains of ended commands were not cleaned up", shard: shard)
            }
        }
    }

    /// - Returns: whether the next round has to prune more.
    private func prune(now: Timestamp) -> Bool {
        var hasMore = false
        let before = Timestamp(milliseconds: now.milliseconds - retention.milliseconds)
        let statuses: Set<CommandStatus> = [.success, .cancelled]
        let shards = shards("Pruning failed") { () throws(StoreError) in
            try store.shardsToPrune(before: before, statuses: statuses)
        }
        for shard in shards {
            do throws(StoreError) {
                for batch in 1...Self.pruneBatches where state.withLock({ $0.isRunning }) {
                    let pruned = try store.prune(
                        shard: shard, before: before, statuses: statuses, limit: Self.pruneBatch)
                    for payload in pruned.abandoned { abandoned(payload) }
                    if pruned.isEnd { break }
                    if batch == Self.pruneBatches { hasMore = true }
                }
            } catch {
                report(error, "Pruning failed", shard: shard)
            }
        }
        return hasMore
    }

    private func reclaim() {
        do throws(StoreError) {
            try store.reclaimDeletedRows()
        } catch {
            report(error, "The room of deleted rows was not reclaimed", shard: 0)
        }
    }

    private func removeFreeLocks() {
        guard let (removed, problem) = runDirectory?.removeFreeExecLocks(limit: Self.maxLocks) else { return }
        if removed > 0 {
            logger.info("Removed locks that killed guardians had left.", metadata: ["count": "\(removed)"])
        }
        guard let problem, state.withLock({ $0.logged.insert(problem.message).inserted }) else { return }
        logger.warning("Locks of programs cannot be removed: \(problem.message)")
    }

    private func report(_ error: StoreError, _ what: String, shard: Int) {
        let isNews = state.withLock { state in
            if error.code == .busy { return state.locked.insert(shard).inserted }
            if error.code == .unreachable {
                defer { state.isUnreachable = true }
                return !state.isUnreachable
            }
            return !error.code.makesShardUnusable || state.logged.insert(error.message).inserted
        }
        if isNews { logger.warning("\(what): \(error.message)", metadata: ["shard": "\(shard)"]) }
    }
}
