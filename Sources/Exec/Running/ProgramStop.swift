internal import Synchronization

/// The orders of the owner of a guarded program, until its thread carries them out. A later order can only
/// shorten the grace.
final class ProgramStop: Sendable {
    struct Order: Sendable, Equatable {
        var cause: ProgramEnd.Stop
        /// Zero: KILL at once.
        var grace: Duration
    }

    private struct State {
        var pending: Order?
        /// The first cause counts.
        var cause: ProgramEnd.Stop?
    }

    private let state = Mutex(State())

    func order(_ cause: ProgramEnd.Stop, grace: Duration) {
        state.withLock { state in
            let first = state.cause ?? cause
            state.cause = first
            state.pending = Order(cause: first, grace: min(grace, state.pending?.grace ?? grace))
        }
    }

    /// The order that has not been carried out.
    func take() -> Order? {
        state.withLock { state in
            defer { state.pending = nil }
            return state.pending
        }
    }

    var cause: ProgramEnd.Stop? { state.withLock { $0.cause } }
}
