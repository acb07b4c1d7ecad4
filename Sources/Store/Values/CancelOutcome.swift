package import Commands

package enum CancelOutcome: Sendable, Equatable {
    case cancelled(StatusEvent)
    /// Somebody holds it: the wish is durable, the owner must be told.
    case requested(ClaimedRow)
    /// It had ended before, in this status.
    case ended(CommandStatus)
}
