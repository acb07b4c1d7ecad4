internal import Synchronization

/// State that many threads change and none waits for: whoever comes while another is at work leaves its change to that
/// one, which applies it before it goes.
///
/// A lock in its place was measured at a third of a worker's time: threads that met at it went to sleep and had to be
/// woken, for changes of a few microseconds. Here they meet only to hand a closure over, and changes that came together
/// are decided upon together.
final class FlatCombiner<State>: Sendable {
    typealias Change = @Sendable (inout State) -> Void

    private struct Inbox {
        var changes: [Change] = []
        var isBusy = false
    }

    private let inbox = Mutex(Inbox())
    /// Touched only by the thread that has set `isBusy`.
    nonisolated(unsafe) private var state: State

    init(_ state: sending State) { self.state = state }

    /// Applies `change` now, or lets the thread apply it that is at work. Changes are applied in the order of the calls.
    /// A change that calls this from within comes after its own round.
    ///
    /// - Parameter settle: called by the same thread after each round of changes.
    func combine(_ change: @escaping Change, settle: (inout State) -> Void) {
        let isMine = inbox.withLock { inbox in
            inbox.changes.append(change)
            defer { inbox.isBusy = true }
            return !inbox.isBusy
        }
        guard isMine else { return }
        var round: [Change] = []
        while true {
            let isOver = inbox.withLock { inbox in
                swap(&inbox.changes, &round)
                if round.isEmpty { inbox.isBusy = false }
                return round.isEmpty
            }
            if isOver { return }
            for change in round { change(&state) }
            settle(&state)
            round.removeAll(keepingCapacity: true)
        }
    }
}
