import Commands
import Synchronization

/// What the outside world knows for certain: which commands were acknowledged, and what people did to them.
final class TortureLedger: Sendable {
    struct Entry: Sendable {
        enum Kind: Sendable, Equatable {
            case noop
            /// A PUT to a path of its own, with these bytes.
            case put(path: String, sha256: String)
            /// A POST, not idempotent.
            case post(path: String)
            /// A `file:` upload to this path.
            case copy(path: String, sha256: String)
            /// A command whose worker is killed whenever it executes it.
            case poison
        }

        var kind: Kind
        /// Cancellations that were wished and not refused.
        var cancelled = 0
        var retried = 0
    }

    private struct State {
        var entries: [CommandID: Entry] = [:]
        var order: [CommandID] = []
        var unexpected: [String] = []
    }

    private let state = Mutex(State())

    /// The UUID was printed: from now on the command must not be lost.
    func acknowledged(_ id: CommandID, _ kind: Entry.Kind) {
        state.withLock {
            $0.entries[id] = Entry(kind: kind)
            $0.order.append(id)
        }
    }

    /// Written down before the wish is made, because its outcome may stay unknown.
    func willCancel(_ id: CommandID) { state.withLock { $0.entries[id]?.cancelled += 1 } }
    func willRetry(_ id: CommandID) { state.withLock { $0.entries[id]?.retried += 1 } }
    /// The wish had no effect: it was told so.
    func wasNotCancelled(_ id: CommandID) { state.withLock { $0.entries[id]?.cancelled -= 1 } }
    func wasNotRetried(_ id: CommandID) { state.withLock { $0.entries[id]?.retried -= 1 } }
    func unexpected(_ what: String) { state.withLock { $0.unexpected.append(what) } }

    var entries: [CommandID: Entry] { state.withLock { $0.entries } }
    var order: [CommandID] { state.withLock { $0.order } }
    var unexpected: [String] { state.withLock { $0.unexpected } }
}
