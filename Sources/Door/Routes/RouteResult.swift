package import Commands

/// The command or flow of a finished upload.
package enum RouteResult: Sendable, Equatable {
    /// It stays in the spool.
    case stored
    case command(CommandDraft)
    case flow(FlowPlan)
}
