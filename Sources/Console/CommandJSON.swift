package import Commands

extension Command {
    /// The stable members of a command in every JSON output.
    package var members: [JSONValue.Member] {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        func time(_ value: Timestamp?) -> JSONValue {
            guard let value, value > .zero else { return .null }
            return .string(value.description)
        }
        return [
            .init("id", .string(id.description)), .init("type", .string(type)), .init("qos", .string(qos.name)),
            .init("status", .string(status.name)),
            .init("destination", destination == .none ? .null : .string(destination.text)),
            .init("idempotent", .bool(idempotent)), .init("claim", .integer(Int64(claim))),
            .init("cancelRequested", .bool(cancelRequested)), .init("retries", .integer(Int64(retries))),
            .init("retryLimit", .integer(Int64(retryLimit))), .init("crashes", .integer(Int64(crashes))),
            .init("notBefore", time(notBefore)), .init("deadline", time(deadline)),
            .init("uniqueKey", text(uniqueKey)),
            .init("uniqueFor", text(uniqueKey.map { _ in uniqueFor.description })),
            .init("orderingKey", text(orderingKey)), .init("batch", text(batch?.description)),
            .init("limit", text(limit)),
            .init("offset", .integer(offset)), .init("total", .integer(total)),
            .init("worker", seat.map { .integer(Int64($0)) } ?? .null), .init("reason", text(reason)),
            .init("createdAt", time(createdAt)), .init("updatedAt", time(updatedAt)),
        ]
    }

    package var json: JSONValue { .object(members) }

    /// The result of a program that has failed has its outputs.
    package var hasFailedProgram: Bool { type == CommandType.exec && (status == .error || status == .tooManyTimes) }
}

extension Transition {
    package var json: JSONValue {
        .object([
            .init("seq", .integer(seq)), .init("status", .string(status.name)), .init("at", .string(at.description)),
            .init("worker", seat.map { .integer(Int64($0)) } ?? .null), .init("claim", .integer(Int64(claim))),
            .init("reason", reason.map { .string($0) } ?? .null),
        ])
    }
}

extension JSONValue {
    /// Bytes that should be JSON; as a string where they are not.
    package init(stored bytes: [UInt8]) {
        if let value = try? JSONValue(parsing: bytes) {
            self = value
        } else {
            self = .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}

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

/// A batch as JSON.
package enum BatchJSON {
    package static func value(of batch: BatchState) -> JSONValue {
        .object([
            .init("id", .string(batch.command.id.description)), .init("name", .string(batch.name)),
            .init("status", .string(batch.command.status.name)), .init("sealed", .bool(batch.isSealed)),
            .init("members", .integer(Int64(batch.members))),
            .init("ended", .integer(Int64(batch.members - batch.open))), .init("failed", .integer(Int64(batch.failed))),
            .init("reason", batch.command.reason.map { .string($0) } ?? .null),
            .init("createdAt", .string(batch.command.createdAt.description)),
            .init("updatedAt", .string(batch.command.updatedAt.description)),
        ])
    }
}
