package import Commands
internal import Store
internal import Synchronization
package import Wire

extension Effects {
    /// The commands that a coordinator should hear of: those that were changed, and those whose workers must be told of
    /// a cancellation request.
    func hints(without id: CommandID?) -> (changed: [CommandID], requested: [CommandID]) {
        let changed = events.lazy.map(\.transition.id).filter { $0 != id }.prefix(Hint.maxBulkCount)
        return (Array(changed), requests.lazy.map(\.id).filter { $0 != id })
    }
}

/// Hints about commands that a person has changed one by one, collected so that one socket sends them
/// together.
package final class PendingHints: Sendable {
    private let queue: QueueAccess
    private let pending = Mutex<[(kind: Hint.Kind, id: CommandID)]>([])

    package init(of queue: QueueAccess) { self.queue = queue }

    package func add(_ kind: Hint.Kind, _ id: CommandID) { pending.withLock { $0.append((kind, id)) } }

    /// Sends what was added since the last call, as a verb of the queue does.
    package func send() {
        let hints = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        for kind in [Hint.Kind.cancelRequested, .changed, .ready] {
            let ids = hints.filter { $0.kind == kind }.map { $0.id }
            if !ids.isEmpty { queue.hint(kind, ids) }
        }
    }
}
