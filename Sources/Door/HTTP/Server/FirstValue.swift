internal import Synchronization

/// A value that is set once, and awaited by any number of tasks.
final class FirstValue<Value: Sendable>: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Value, any Error>])
        case set(Result<Value, any Error>)
    }

    private let state = Mutex(State.waiting([]))

    /// Later values count for nothing.
    func set(_ result: Result<Value, any Error>) {
        let waiting = state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard case .waiting(let continuations) = state else { return [] }
            state = .set(result)
            return continuations
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    var value: Value {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    guard case .waiting(var continuations) = state else {
                        if case .set(let result) = state { return result }
                        return nil
                    }
                    continuations.append(continuation)
                    state = .waiting(continuations)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        }
    }
}
