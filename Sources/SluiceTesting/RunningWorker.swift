internal import Commands
internal import Synchronization
internal import Work

/// The worker that executes a command at this moment, for calls that stop the execution.
final class RunningWorker: Sendable {
    private let worker = Mutex<LocalWorker?>(nil)

    func set(_ worker: LocalWorker?) { self.worker.withLock { $0 = worker } }

    /// Stops the executions of the commands that have a cancellation request.
    func cancelRequested() {
        // In memory no read fails.
        try? worker.withLock { $0 }?.cancelRequested()
    }

    /// Releases the executions of which this is true, except those that would be in doubt.
    func release(reason: String, where isMeant: (Destination) -> Bool) {
        try? worker.withLock { $0 }?.release(reason: reason, where: isMeant)
    }
}
