package import Commands

/// The progress of a ``BulkAction``.
package struct ActionRun: Sendable, Equatable {
    package typealias ID = CommandID

    package enum State: String, Sendable {
        case running, done, cancelled
        /// The commands could not be read; ``ActionRun/problem`` says why.
        case failed
    }

    package let id: ID
    package let action: BulkAction
    /// The origin of the action, as ``DoorRequest/actor`` has it.
    package let actor: String
    package var state = State.running
    /// Commands that the filter has admitted so far.
    package var seen = 0
    package var changed = 0
    /// Commands whose status did not allow the change.
    package var skipped = 0
    /// Commands that could not be changed because of the store.
    package var failed = 0
    /// The newest error, in a sentence; nil where there is none.
    package var problem: String?
    package let started: Timestamp
    /// Nil while the action runs.
    package var ended: Timestamp?

    package init(_ action: BulkAction, id: ID, actor: String, started: Timestamp) {
        self.id = id
        self.action = action
        self.actor = actor
        self.started = started
    }
}
