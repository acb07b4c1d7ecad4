internal import Logging
internal import Membership
internal import Store
internal import Synchronization

/// Renews the seat of a worker, and ends the worker that has lost it.
struct SeatUpkeep: Sendable {
    let seat: any HeldSeat
    let loss: PresenceLoss
    let logger: Logger
    /// Called where the worker must end.
    let stop: @Sendable () -> Void

    /// Call it four times a second.
    func run() {
        guard loss.error == nil else { return }
        do throws(StoreError) {
            if try seat.renew() {
                logger.warning("The lock file of this worker's seat was removed or replaced; it was made anew.")
            }
        } catch {
            // Without descriptors or room, the next call tries again.
            guard error.code == .missing else { return }
            end(error)
        }
    }

    /// Ends the worker where `body` finds that the store was moved.
    func orLoss<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        do throws(StoreError) { return try body() } catch {
            if error.code == .moved { end(error) }
            throw error
        }
    }

    private func end(_ error: StoreError) {
        loss.set(error)
        stop()
    }
}

/// The session of a worker in each shard, without which it may claim nothing there.
///
/// A shard that is locked, out of reach or damaged while the worker starts gets its session before the first commit.
final class ShardSessions: Sendable {
    private let session: Session
    private let store: any ExecutionStore
    private let missing = Mutex<Set<Int>>([])

    /// - Throws: the error of a shard that is neither locked nor out of reach nor damaged.
    init(_ session: Session, in store: any ExecutionStore) throws(StoreError) {
        self.session = session
        self.store = store
        for shard in 0..<store.shardCount {
            do throws(StoreError) {
                try store.open(session, shard: shard)
            } catch {
                let mayBeOpenedLater =
                    [.busy, .unreachable, .unknown].contains(error.code) || error.code.makesShardUnusable
                guard mayBeOpenedLater else { throw error }
                missing.withLock { _ = $0.insert(shard) }
            }
        }
    }

    /// Opens the sessions that could not be opened at the start.
    /// - Throws: the error of a shard that commits alone. In a group of several shards, one that cannot be used refuses
    ///   the claims, and the others commit.
    func open(_ group: CommitGroup) throws(StoreError) {
        guard missing.withLock({ !$0.isEmpty }) else { return }
        for shard in group.shards where missing.withLock({ $0.contains(shard) }) {
            do throws(StoreError) {
                try store.open(session, shard: shard)
                missing.withLock { _ = $0.remove(shard) }
            } catch {
                if group.shards.count == 1 { throw error }
            }
        }
    }
}
