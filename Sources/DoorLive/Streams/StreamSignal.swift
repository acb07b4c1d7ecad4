internal import Synchronization

/// Wakes the one task of a stream.
final class StreamSignal: Sendable {
    private struct State {
        var isSet = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Ends the wait of the task, or its next one.
    func set() {
        let waiter = state.withLock { state in
            if state.waiter == nil { state.isSet = true }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Returns after ``set()``, and when the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSet = state.withLock { state in
                    if !state.isSet { state.waiter = continuation }
                    defer { state.isSet = false }
                    return state.isSet
                }
                if isSet { continuation.resume() }
            }
        } onCancel: {
            set()
        }
    }
}
