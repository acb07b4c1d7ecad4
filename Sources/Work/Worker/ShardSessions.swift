internal import Store
internal import Synchronization

/// The session of a worker in each shard, without which it may claim nothing there.
///
/// A shard that is locked, out of reach or damaged while the worker starts gets its session before the first commit.
final class ShardSessions: Sendable {
    private let session: Session
    private let store: any CommandStore
    private let missing = Mutex<Set<Int>>([])

    /// - Throws: the error of a shard that is neither locked nor out of reach nor damaged.
    init(_ session: Session, in store: any CommandStore) throws(StoreError) {
        self.session = session
        self.store = store
        for shard in 0..<store.shardCount {
            do throws(StoreError) {
                try store.open(session, shard: shard)
            } catch {
                let mayBeOpenedLater = [.busy, .unreachable].contains(error.code) || error.code.makesShardUnusable
                guard mayBeOpenedLater else { throw error }
                missing.withLock { _ = $0.insert(shard) }
            }
        }
    }

    /// Opens the session if it could not be opened at the start.
    func open(_ shard: Int) throws(StoreError) {
        guard missing.withLock({ $0.contains(shard) }) else { return }
        try store.open(session, shard: shard)
        missing.withLock { _ = $0.remove(shard) }
    }
}
