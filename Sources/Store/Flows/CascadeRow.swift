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
        /// A blocked command has a higher quality of service: the commands that it depends on get it.
        case raiseParents = 6
        /// As ``raiseParents``, for the nodes of a flow.
        case raiseNodes = 7
        /// As ``raiseParents``, for the commands before it in the queue of its ordering key.
        case raiseLane = 8
        /// As ``raiseParents``, for the members of a batch. The turn is the number of their part.
        case raiseMembers = 9

        var isRaise: Bool {
            switch self {
            case .raiseParents, .raiseNodes, .raiseLane, .raiseMembers: true
            case .settle, .cancel, .retry, .reopen, .notify, .cancelPart: false
            }
        }
    }

    /// The turn of the command that causes the effects.
    var turn: Int64
    var step: Step
    /// The turn of the last command that was changed.
    var after: Int64
}
