internal import Commands
internal import Queue

/// Reads and changes the commands of a ``BulkAction``.
struct ActionWalk: Sendable {
    enum Outcome: Sendable, Equatable {
        case changed, skipped
        case failed(String)
    }

    /// Commands that are changed at the same time: each change is a transaction of one shard.
    static let width = 8
    private static let pageSize = 200
    /// Time that the search for one page may take.
    private static let pageTime: Duration = .milliseconds(500)

    private let action: BulkAction
    private let actor: String
    private let client: SluiceClient

    init(_ action: BulkAction, by actor: String, client: SluiceClient) {
        self.action = action
        self.actor = actor
        self.client = client
    }

    /// A page may be empty although others follow.
    func page(after: CommandID?) async throws -> CommandPage {
        try Task.checkCancellation()
        return try await client.read { [action] queue in
            try queue.page(
                action.filter, order: .oldestFirst, after: after, limit: Self.pageSize, within: Self.pageTime)
        }
    }

    func change(_ commands: ArraySlice<Command>) async -> [Outcome] {
        await withTaskGroup(of: Outcome.self) { group in
            for command in commands { group.addTask { await change(command) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func change(_ command: Command) async -> Outcome {
        guard action.statuses.contains(command.status), !action.verb.isSatisfied(by: command) else {
            return .skipped
        }
        do {
            _ = try await action.verb.apply(to: command.id, client: client, actor: actor)
            return .changed
        } catch let error as SluiceError {
            switch error.code {
            case .notAllowed, .noSuchCommand, .conflict: return .skipped
            default: return .failed(error.message)
            }
        } catch {
            return .failed("\(error)")
        }
    }
}
