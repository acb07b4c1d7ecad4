package import Commands

/// A change of all commands that a filter admits.
package struct BulkAction: Sendable, Equatable {
    package enum Verb: Sendable, Equatable {
        case cancel
        case retry
        case requalify(QualityOfService)
        /// To `success`, `new` or `cancelled`.
        case resolve(CommandStatus)

        package var name: String {
            switch self {
            case .cancel: "cancel"
            case .retry: "retry"
            case .requalify: "requalify"
            case .resolve: "resolve"
            }
        }

        /// The statuses that the verb can change where they are named: a command that was given up is put away.
        package var permitted: Set<CommandStatus> {
            self == .cancel ? statuses.union([.tooManyTimes]) : statuses
        }

        /// The statuses that the verb changes where a filter names none.
        package var statuses: Set<CommandStatus> {
            switch self {
            case .cancel: [.new, .queued, .sent, .error, .blocked, .inDoubt]
            case .retry: [.error, .cancelled, .tooManyTimes]
            case .requalify: [.new, .queued, .sent, .error, .blocked]
            case .resolve: [.inDoubt]
            }
        }
    }

    /// The statuses that the action changes.
    package var statuses: Set<CommandStatus> {
        filter.statuses.isEmpty ? verb.statuses : verb.permitted
    }

    package var filter: CommandFilter
    package var verb: Verb

    package init(_ verb: Verb, of filter: CommandFilter) {
        self.verb = verb
        self.filter = filter
    }
}
