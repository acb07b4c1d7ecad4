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
