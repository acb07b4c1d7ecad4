import Commands
import Synchronization

/// The certain knowledge outside of the store: the acknowledged commands, the requests to cancel and retry them, and the
/// restores that took them back.
final class TortureLedger: Sendable {
    struct Entry: Sendable {
        enum Kind: Sendable, Equatable {
            /// A command that must succeed, and leaves nothing to compare.
            case noop
            /// A PUT of these bytes to a path that no other command has.
            case put(path: String, sha256: String)
            /// A file that the door has taken, and that is spooled until it has arrived at the path.
            case spooled(path: String, sha256: String)
            /// A POST, which is not idempotent.
            case post(path: String)
            /// An upload or a download to this path.
            case copy(path: String, sha256: String)
            /// A program, which is not idempotent.
            case program
            /// A signed message to a path that no other command has. It may arrive again, with the same id.
            case webhook(path: String, body: String)
            /// A batch with this number of members.
            case batch(members: Int)
            /// A command whose worker is killed at each execution.
            case poison
        }

        var kind: Kind
        /// The number of cancellation requests that were not refused.
        var cancelled = 0
        var retried = 0
        /// The number of restores that took the command back to an earlier moment.
        var restored = 0
        /// Whether it was acknowledged after the backup was begun that replaced its shard.
        var mayBeLost = false
    }

    private struct State {
        var entries: [CommandID: Entry] = [:]
        var order: [CommandID] = []
        var sealed: Set<CommandID> = []
        var unexpected: [String] = []
    }

    private let state = Mutex(State())

    /// Records that a UUID was printed: from now on the command must not be lost.
    func acknowledged(_ id: CommandID, _ kind: Entry.Kind) {
        state.withLock {
            guard $0.entries[id] == nil else { return }
            $0.entries[id] = Entry(kind: kind)
            $0.order.append(id)
        }
    }

    /// Records a cancellation request before it is made, because its result may stay unknown.
    func willCancel(_ id: CommandID) { state.withLock { $0.entries[id]?.cancelled += 1 } }
    func willRetry(_ id: CommandID) { state.withLock { $0.entries[id]?.retried += 1 } }
    /// Records that the request was refused and had no effect.
    func wasNotCancelled(_ id: CommandID) { state.withLock { $0.entries[id]?.cancelled -= 1 } }
    func wasNotRetried(_ id: CommandID) { state.withLock { $0.entries[id]?.retried -= 1 } }
    /// Records that a batch lacks members, because its client was killed.
    func sealed(_ id: CommandID) { state.withLock { _ = $0.sealed.insert(id) } }
    func unexpected(_ what: String) { state.withLock { $0.unexpected.append(what) } }

    /// Records that a backup was put back.
    /// - Parameters:
    ///   - begun: the number of acknowledged commands when the backup was begun.
    ///   - shard: the restored shard; nil for all.
    func restored(begun: Int, shard: Int?, of shardCount: Int) {
        state.withLock { state in
            for (number, id) in state.order.enumerated() {
                let isOfShard = shard == nil || id.shard(of: shardCount) == shard
                let isBatch = if case .batch = state.entries[id]?.kind { true } else { false }
                // The members of a batch are in every shard.
                if isOfShard || isBatch { state.entries[id]?.restored += 1 }
                if isOfShard, number >= begun { state.entries[id]?.mayBeLost = true }
            }
        }
    }

    var entries: [CommandID: Entry] { state.withLock { $0.entries } }
    var order: [CommandID] { state.withLock { $0.order } }
    var sealed: Set<CommandID> { state.withLock { $0.sealed } }
    var unexpected: [String] { state.withLock { $0.unexpected } }
}
