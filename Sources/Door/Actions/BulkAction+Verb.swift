package import Commands
package import Queue

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
