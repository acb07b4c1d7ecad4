internal import Synchronization

/// The tasks of all requests that run, so that a shutdown can end them.
final class RunningRequests: Sendable {
    private enum Phase {
        case serving, draining, cancelling
    }

    private struct State {
        var phase = Phase.serving
        var next = 0
        var cancel: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Whether connections end after the present request.
    var isDraining: Bool { state.withLock { $0.phase != .serving } }

    func beginDraining() { state.withLock { if $0.phase == .serving { $0.phase = .draining } } }

    /// Cancels all requests, also those that begin later.
    func cancelAll() {
        let all = state.withLock { state in
            state.phase = .cancelling
            return Array(state.cancel.values)
        }
        for cancel in all { cancel() }
    }

    /// Runs a part of a request in a task that ``cancelAll()`` cancels.
    func run<Value: Sendable>(_ operation: @escaping @Sendable () async -> Value) async -> Value {
        let task = Task { await operation() }
        let (number, isLate) = state.withLock { state in
            state.next += 1
            state.cancel[state.next] = { task.cancel() }
            return (state.next, state.phase == .cancelling)
        }
        defer { state.withLock { _ = $0.cancel.removeValue(forKey: number) } }
        if isLate { task.cancel() }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
