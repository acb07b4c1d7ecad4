package import Commands
internal import FlowText

extension UploadRoute {
    /// The route for programs. It has no payloads: these may have parts that only the operator of the door knows.
    package var members: [JSONValue.Member] {
        [
            .init("name", .string(name)), .init("becomes", .string(kind)),
            .init("types", .array(types.map { .string($0) })), .init("qos", qos.map { .string($0.name) } ?? .null),
            .init("maxSize", maxSize.map { .integer($0) } ?? .null),
            // Seconds.
            .init("retention", becomesCommand ? .integer(retention.components.seconds) : .null),
            .init("retryLimit", retryLimit.map { .integer(Int64($0)) } ?? .null),
            .init("uniqueKey", uniqueKey.map { .string($0.text) } ?? .null),
            .init("orderingKey", orderingKey.map { .string($0.text) } ?? .null),
        ]
    }

    private var kind: String {
        switch action {
        case .none: "stored"
        case .command: "command"
        case .flow: "flow"
        }
    }

    /// The command or flow of a finished upload, in a few words.
    package var summary: String {
        switch action {
        case .none: "stays in the spool"
        case .command(let command): command.type
        case .flow(let flow):
            "flow \(flow.document.name) (\(flow.document.nodes.count) \(flow.document.nodes.count == 1 ? "node" : "nodes"))"
        }
    }
}
