package import Commands

/// A command with its relations, payload, result and timeline: the JSON output of `sluice status ID`, and of the API.
package struct CommandDetails: Sendable {
    package var command: Command
    /// Nil where the command waits for no other and is in no flow.
    package var waits: CommandDependencies?
    package var flow: FlowState?
    package var batch: BatchState?
    /// As it may be shown: without secrets.
    package var payload: JSONValue?
    /// As it may be shown.
    package var result: JSONValue?
    package var timeline: [Transition] = []

    package init(_ command: Command) { self.command = command }

    package var json: JSONValue {
        .object(
            command.members + batchMembers + flowMembers + waitMembers + [
                .init("payload", payload ?? .null), .init("result", result ?? .null),
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
