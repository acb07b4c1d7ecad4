package import Commands

/// The command or flow of a finished upload.
package enum RouteResult: Sendable, Equatable {
    /// It stays in the spool.
    case stored
    case command(CommandDraft)
    case flow(FlowPlan)

    /// The commands that are submitted, callbacks last.
    package var drafts: [CommandDraft] {
        switch self {
        case .stored: []
        case .command(let draft): [draft]
        case .flow(let plan): plan.nodes.map(\.draft) + plan.flow.callbacks.map(\.draft)
        }
    }
}
