/// A row of `cascade`: effects on other commands that are still to be written, because one transaction changes a bounded
/// number of rows.
struct CascadeRow: Sendable, Equatable {
    enum Step: Int, Sendable {
        /// The command has ended: its dependants are settled.
        case settle = 0
        /// The flow is cancelled: its nodes are.
        case cancel = 1
        /// The flow is retried: its failed nodes are.
        case retry = 2
        /// The command is not ended any more: what its failure cancelled waits again.
        case reopen = 3
        /// The command has ended: its dependants in other shards are told.
        case notify = 4
        /// The members of a batch are cancelled. The turn is the number of their part.
        case cancelPart = 5
    }

    /// The turn of the command that causes the effects.
    var turn: Int64
    var step: Step
    /// The turn of the last command that was changed.
    var after: Int64
}
