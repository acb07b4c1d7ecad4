package import Commands

/// The result of one ``ExecutionWrite``.
package enum ExecutionOutcome: Sendable, Equatable {
    /// The command after the claim, its payload, the checkpoint of an earlier execution, and the transitions
    /// made.
    case claimed(Command, payload: [UInt8], checkpoint: [UInt8]? = nil, [Transition])
    /// The command cannot be claimed: it is deleted, claimed, requested to be cancelled or past its deadline,
    /// or the worker has no session.
    case refused
    /// Done: the transitions made, in order (none for an offset or a checkpoint), and the charged failures of
    /// the command.
    case done([Transition], retries: Int)
    /// Another execution has the command: stop this one and write nothing more.
    case replaced
}
