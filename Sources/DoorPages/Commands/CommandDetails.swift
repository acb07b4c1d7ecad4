internal import Commands
internal import Console
internal import Door
internal import DoorLive
internal import HTTPClient
internal import Queue
internal import Store

/// Everything that the page of a command shows.
struct CommandDetails: Sendable {
    /// A page has a budget of bytes, and a command that has waited for days at a link has thousands of transitions.
    private static let pageSize = 60

    var command: Command
    /// A page of the transitions, oldest first.
    var timeline: [Transition]
    /// The transition before that page; nil where there is none.
    var previous: Transition?
    var payload: StoredText?
    var result: StoredText?
    var name: String?
    var reasons: [WaitReason]
    var dependencies: CommandDependencies?
    var flow: FlowState?
    var batch: BatchState?
    /// It is a callback of a batch, which ``dependencies`` have as the flow.
    var isOfBatch: Bool
    var order: OrderingKeyState?
    var errorOutput: [String]
    /// The newest transition as `shard-seq`: a form carries it, so that a button acts only on what its reader saw.
    var version: String

    /// - Parameter before: `seq` of a transition: the page of the timeline before it. Nil: the newest page.
    /// - Returns: nil where there is no such command.
    static func read(
        _ id: CommandID, before seq: Int64?, _ visit: Visit
    ) async throws(Problem) -> CommandDetails? {
        let directory = visit.services.context.client.directory
        let links = visit.live.links.shown
        return try await visit.services.store { store throws(StoreError) in
            // Before the command, so that it is never newer than what the page shows.
            let version = try version(of: id, store)
            guard let command = try store.command(id) else { return nil }
            let timeline = try store.timeline(id, before: seq, limit: pageSize + 1)
            let payload = try store.payload(id)
            let result = try store.result(id)
            let explainer = WaitExplainer(instance: Instance(directory: directory, store: store), links: links)
            let parsed = result.flatMap { try? JSONValue(parsing: $0) }
            let hasFailedProgram =
                command.type == CommandType.exec && (command.status == .error || command.status == .tooManyTimes)
            let dependencies = try store.dependencies(of: id, limit: 20)
            return CommandDetails(
                command: command, timeline: timeline.suffix(pageSize),
                previous: timeline.dropLast(pageSize).last,
                payload: payload.map { StoredText($0) { HTTPHeaderRedaction.shown($0) } },
                result: result.map { StoredText($0) { HTTPHeaderRedaction.shown(result: $0) } },
                name: payload.flatMap { CommandSubject(payload: $0)?.name },
                reasons: try explainer.reasons(of: command),
                dependencies: dependencies, flow: try store.flow(id),
                batch: try store.batch(id),
                isOfBatch: try dependencies?.flow.map { flow throws(StoreError) in try store.batch(flow) != nil }
                    ?? false,
                order: try store.orderingKey(of: id),
                errorOutput: hasFailedProgram ? parsed.flatMap { ErrorOutput(result: $0) }?.lines ?? [] : [],
                version: version)
        }
    }

    static func version(of id: CommandID, _ store: any CommandStore) throws(StoreError) -> String {
        "\(id.shard(of: store.shardCount))-\(try store.timeline(id, before: nil, limit: 1).last?.seq ?? 0)"
    }
}
