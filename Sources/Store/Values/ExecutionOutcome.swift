package import Commands

package enum ExecutionOutcome: Sendable, Equatable {
    /// The command as it stands after the claim, its payload, what an earlier execution has kept, and the transitions
    /// made.
    case claimed(Command, payload: [UInt8], checkpoint: [UInt8]? = nil, [Transition])
    /// Not there to be taken: gone, taken, wished away, past its deadline, or the session is over.
    case refused
    /// Done; the transitions it made in order (none for an offset or a state), and the charged failures as they stand.
    case done([Transition], retries: Int)
    /// Another execution has the command: stop, report, never overwrite.
    case replaced
}
