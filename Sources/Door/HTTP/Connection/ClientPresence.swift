internal import Synchronization

/// Whether the client has closed its end of a connection. The event loop writes it; a task of a request waits for it.
final class ClientPresence: Sendable {
    private struct State {
        var isGone = false
        var body: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Replaces an earlier body, which is not called.
    func whenGone(_ body: @escaping @Sendable () -> Void) {
        let isGone = state.withLock { state in
            if !state.isGone { state.body = body }
            return state.isGone
        }
        if isGone { body() }
    }

    func end() {
        let body = state.withLock { state in
            state.isGone = true
            return state.body.take()
        }
        body?()
    }
}
