internal import Commands
internal import Store
internal import Synchronization
internal import Work

/// The worker that executes a command at this moment, for calls that stop the execution.
final class RunningWorker: Sendable {
    private let store: MemoryStore
    private let worker = Mutex<LocalWorker?>(nil)

    init(_ store: MemoryStore) { self.store = store }

    func set(_ worker: LocalWorker?) { self.worker.withLock { $0 = worker } }

    /// Stops the executions of the commands that have a cancellation request.
    func cancelRequested() {
        guard let worker = worker.withLock({ $0 }) else { return }
        // In memory no read fails.
        for command in (try? store.cancellationRequests(shard: TestQueue.shard)) ?? [] {
            worker.cancel(CommandClaim(id: command.id, claim: command.claim))
        }
    }

    /// Releases the executions of which this is true, except those that would be in doubt.
    func release(reason: String, where isMeant: (Destination) -> Bool) {
        guard let worker = worker.withLock({ $0 }) else { return }
        for claimed in (try? store.claimed(shard: TestQueue.shard)) ?? [] where isMeant(claimed.destination) {
            guard let command = store.command(claimed.id), command.mayBeReleased else { continue }
            worker.release(CommandClaim(id: claimed.id, claim: claimed.claim), reason: reason)
        }
    }
}

extension Command {
    /// Nothing may have been sent, or it may be sent again.
    var mayBeReleased: Bool { status == .queued || idempotent }
}
