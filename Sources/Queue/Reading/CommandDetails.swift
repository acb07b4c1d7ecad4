package import Commands
internal import Console
package import Store

/// A command with its relations, payload, result and a page of its timeline: the reading behind `sluice status ID`, the API
/// and the page of a command.
package struct CommandDetails: Sendable {
    package let command: Command
    /// A page of the transitions, oldest first.
    package var timeline: [Transition]
    /// The transition before that page; nil where there is none.
    package var previous: Transition?
    /// As it is stored, with secrets: ``shownPayload`` is for people.
    package var payload: [UInt8]?
    /// As it is stored: ``shownResult`` is for people.
    package var result: [UInt8]?
    /// Nil where the command waits for no other and is in no flow.
    package var waits: CommandDependencies?
    package var flow: FlowState?
    package var batch: BatchState?
    /// Nil without an ordering key, or where the command has ended.
    package var order: OrderingKeyState?

    /// Without secrets.
    package var shownPayload: JSONValue? { payload.map { HTTPHeaderRedaction.shown(JSONValue(stored: $0)) } }
    /// Without secrets.
    package var shownResult: JSONValue? { result.map { HTTPHeaderRedaction.shown(result: JSONValue(stored: $0)) } }

    /// For `--json` and the API, without secrets.
    package var json: JSONValue {
        .object(
            command.members + batchMembers + flowMembers + waitMembers + [
                .init("payload", shownPayload ?? .null), .init("result", shownResult ?? .null),
                .init("timeline", .array(timeline.map(\.json))),
            ])
    }

    private var batchMembers: [JSONValue.Member] {
        guard let batch else { return [] }
        return [
            .init("memberCount", .integer(Int64(batch.members))), .init("open", .integer(Int64(batch.open))),
            .init("failed", .integer(Int64(batch.failed))), .init("sealed", .bool(batch.isSealed)),
        ]
    }

    private var flowMembers: [JSONValue.Member] {
        guard let flow else { return [] }
        return [
            .init("nodeCount", .integer(Int64(flow.nodes))), .init("open", .integer(Int64(flow.open))),
            .init("failed", .integer(Int64(flow.failed))),
        ]
    }

    private var waitMembers: [JSONValue.Member] {
        guard let waits else { return [] }
        let parents = waits.parents.map {
            JSONValue.object([
                .init("id", .string($0.command.id.description)), .init("condition", .string($0.condition.name)),
            ])
        }
        return [
            .init("flow", waits.flow.map { .string($0.description) } ?? .null),
            .init("name", waits.name.map { .string($0) } ?? .null), .init("waitsFor", .array(parents)),
        ]
    }
}

extension QueueAccess {
    private static let maxReads = 5
    /// Parents that are named.
    private static let maxParents = 20

    /// A command, with all that is known about it.
    ///
    /// The command is read after its timeline, and both again where a transition came in between. So the newest transition
    /// is never later than the status: a client that makes a change depend on it has seen that status.
    /// - Parameters:
    ///   - seq: of a transition: the page of the timeline before it. Nil, the default: the newest page.
    ///   - limit: transitions of the page. A command that has waited for days at a link has thousands. Nil: all.
    /// - Returns: nil where there is no such command.
    package func details(
        of id: CommandID, before seq: Int64? = nil, limit: Int?
    ) throws(StoreError) -> CommandDetails? {
        guard let (command, timeline) = try command(id, before: seq, limit) else { return nil }
        let page = limit.map { timeline.suffix($0) } ?? timeline[...]
        var details = CommandDetails(command: command, timeline: Array(page))
        details.previous = timeline.dropLast(page.count).last
        details.payload = try store.payload(id)
        details.result = try store.result(id)
        details.waits = try store.dependencies(of: id, limit: Self.maxParents)
        if command.type == CommandType.flow { details.flow = try store.flow(id) }
        if command.type == CommandType.batch { details.batch = try store.batch(id) }
        details.order = try store.orderingKey(of: id)
        return details
    }

    private func command(
        _ id: CommandID, before seq: Int64?, _ limit: Int?
    ) throws(StoreError) -> (command: Command, timeline: [Transition])? {
        for read in 1...Self.maxReads {
            // One more than the page: the transition before it.
            let timeline =
                if let limit { try store.timeline(id, before: seq, limit: limit + 1) } else { try store.timeline(id) }
            guard let command = try store.command(id) else { return nil }
            if seq != nil || command.status == timeline.last?.status || read == Self.maxReads {
                return (command, timeline)
            }
        }
        return nil
    }
}
