package import Commands

/// A flow in the JSON output.
package enum FlowJSON {
    package static func value(of flow: FlowState, _ nodes: [FlowNodeState]) -> JSONValue {
        let names = Dictionary(nodes.map { ($0.position, $0.name) }, uniquingKeysWith: { first, _ in first })
        return .object(
            members(of: flow) + [
                .init("nodes", .array(nodes.filter { $0.name != nil }.map { value(of: $0, names) })),
                .init("callbacks", .array(nodes.filter { $0.name == nil }.map(callback))),
            ])
    }

    /// Without the nodes.
    package static func members(of flow: FlowState) -> [JSONValue.Member] {
        [.init("name", .string(flow.name))] + flow.command.members + [
            .init("nodeCount", .integer(Int64(flow.nodes))), .init("open", .integer(Int64(flow.open))),
            .init("failed", .integer(Int64(flow.failed))),
        ]
    }

    /// - Parameter names: of the nodes, by position; a parent without a name here has null.
    package static func value(of node: FlowNodeState, _ names: [Int64: String?]) -> JSONValue {
        let parents = node.parents.map { parent in
            JSONValue.object([
                .init("name", (names[parent.position] ?? nil).map { .string($0) } ?? .null),
                .init("position", .integer(parent.position)),
                .init("condition", .string(parent.condition.name)), .init("satisfied", .bool(parent.isSatisfied)),
            ])
        }
        return .object(
            [
                .init("name", node.name.map { .string($0) } ?? .null), .init("position", .integer(node.position)),
            ] + node.command.members + [
                .init("after", .array(parents)), .init("mayFail", .bool(node.mayFail)),
                .init("needed", .bool(!node.isUnneeded)),
            ])
    }

    package static func callback(_ node: FlowNodeState) -> JSONValue {
        .object(
            [.init("condition", .string(node.parents.first?.condition.name ?? ""))] + node.command.members + [
                .init("needed", .bool(!node.isUnneeded))
            ])
    }
}
