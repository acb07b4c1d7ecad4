package import Commands
package import Queue

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

extension BulkAction.Verb {
    /// Whether the command is as the verb makes it, so that a repeated request changes nothing.
    package func isSatisfied(by command: Command) -> Bool {
        switch self {
        case .cancel: command.status == .cancelled || command.cancelRequested && !command.status.isFinal
        case .retry: command.status == .new
        case .requalify(let qos): command.qos == qos && !command.status.isFinal
        case .resolve(let status): command.status == status
        }
    }

    /// Changes a command.
    /// - Parameters:
    ///   - newest: the `seq` of the newest transition that the command must have; nil: any.
    ///   - actor: the origin of the change, for the reason of the transition.
    /// - Returns: whether a worker has yet to end it.
    /// - Throws: ``SluiceError``: `notAllowed` also where the command has another transition.
    package func apply(
        to id: CommandID, ifNewest newest: Int64? = nil, client: SluiceClient, actor: String
    ) async throws -> Bool {
        switch self {
        case .cancel: return try await !client.cancel(id, ifNewest: newest, reason: "cancelled by \(actor)")
        case .retry: try await client.retry(id, ifNewest: newest, by: actor)
        case .requalify(let qos): try await client.requalify(id, ifNewest: newest, to: qos)
        case .resolve(let status): try await client.resolve(id, ifNewest: newest, as: status, by: actor)
        }
        return false
    }

    /// The verbs that change a command in its status.
    package static func names(allowedFor command: Command) -> [String] {
        let all: [Self] = [.cancel, .retry, .requalify(.default), .resolve(.success)]
        return all.filter { $0.permitted.contains(command.status) }.map(\.name)
    }
}
