internal import Synchronization

/// Cancels a task that may not have begun yet.
final class StopSignal: Sendable {
    private struct State {
        var isStopped = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func stop() {
        let cancel = state.withLock { state in
            state.isStopped = true
            return state.cancel
        }
        cancel?()
    }

    /// Sets the call that stops the task; it is called at once where the signal came before.
    func whenStopped(_ cancel: @escaping @Sendable () -> Void) {
        let isStopped = state.withLock { state in
            state.cancel = cancel
            return state.isStopped
        }
        if isStopped { cancel() }
    }
}
