/// The outcomes of one commit of a ``CommitGroup``, one for each write and in their order, and its effects on other commands.
package struct CommitOutcome: Sendable, Equatable, RandomAccessCollection {
    private let outcomes: [ExecutionOutcome]
    /// On commands that the writes do not name.
    package let effects: Effects

    package init(_ outcomes: [ExecutionOutcome], _ effects: Effects = Effects()) {
        self.outcomes = outcomes
        self.effects = effects
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { outcomes.count }
    package subscript(position: Int) -> ExecutionOutcome { outcomes[position] }
}

/// How one commit of a ``CommitGroup`` is tried.
package struct CommitAttempt: Sendable, Equatable {
    /// How long to wait for the write locks that other processes hold.
    package var timeout: Duration
    /// The writes were given to a commit whose outcome is unknown (``StoreError/Code-swift.enum/unknown``). Each that it made is
    /// done, and has the outcome that it had then; the others are made now.
    package var isRepetition: Bool

    package init(timeout: Duration, isRepetition: Bool = false) {
        self.timeout = timeout
        self.isRepetition = isRepetition
    }
}
