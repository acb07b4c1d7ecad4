package import Commands

/// The result of a cancellation.
package enum CancelOutcome: Sendable, Equatable {
    /// The command is cancelled.
    case cancelled(Effects)
    /// A worker holds the command, and must be told of the request, which is durable; or the command is a flow, whose
    /// nodes end first.
    case requested(Effects)
    /// The command had ended before, in this status.
    case ended(CommandStatus)
    /// The newest transition of the command is not the one that the request expects. Nothing was changed.
    case outdated

    package var effects: Effects {
        switch self {
        case .cancelled(let effects), .requested(let effects): effects
        case .ended, .outdated: Effects()
        }
    }
}
