internal import Synchronization

/// How fast one execution may send: set by the worker as the coordinator decides, obeyed by the operation.
package final class Pace: Sendable {
    private struct State {
        var bytesPerSecond: Int64?
        var watcher: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    package init(bytesPerSecond: Int64? = nil) { state = Mutex(State(bytesPerSecond: bytesPerSecond)) }

    /// Nil: as fast as it can. 0: not at all.
    package var bytesPerSecond: Int64? { state.withLock { $0.bytesPerSecond } }

    /// Calls `body`, on the thread that makes the change, when the pace changes. Nil ends the calls.
    package func whenChanged(_ body: (@Sendable () -> Void)?) { state.withLock { $0.watcher = body } }

    package func set(_ bytesPerSecond: Int64?) {
        let watcher = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.bytesPerSecond != bytesPerSecond else { return nil }
            state.bytesPerSecond = bytesPerSecond
            return state.watcher
        }
        watcher?()
    }
}
