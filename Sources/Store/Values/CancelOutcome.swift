package import Commands

/// The result of a cancellation.
package enum CancelOutcome: Sendable, Equatable {
    case cancelled(StatusEvent)
    /// A worker holds the command: the cancellation request is durable, and that worker must be notified.
    case requested(ClaimedCommand)
    /// The command had ended before, in this status.
    case ended(CommandStatus)
}
