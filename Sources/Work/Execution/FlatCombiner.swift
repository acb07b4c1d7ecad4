internal import Synchronization

/// State that many threads change without waiting for each other (flat combining: Hendler, Incze, Shavit,
/// Tzafrir, 2010). A thread that comes while another is at work leaves its change to that one, which applies
/// it before it goes.
///
/// A mutex in its place took a third of a worker's time (measured): threads went to sleep at it and had to be
/// woken, for changes of a few microseconds. Here threads meet only to hand a closure over, and changes that
/// came together are decided upon together.
final class FlatCombiner<State>: Sendable {
    typealias Change = @Sendable (inout State) -> Void

    private struct Inbox {
        var changes: [Change] = []
        var isBusy = false
    }

    private let inbox = Mutex(Inbox())
    /// Used only by the thread that has set `isBusy`.
    nonisolated(unsafe) private var state: State

    init(_ state: sending State) { self.state = state }

    /// Applies `change` now, or leaves it to the thread that is at work. Changes are applied in the order of
    /// the calls. A change that calls this from within is applied after its own round.
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
