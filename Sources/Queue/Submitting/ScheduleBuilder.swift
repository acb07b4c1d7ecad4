package import Commands
internal import Console
internal import FlowText
package import Operations

/// Makes the action of a schedule of its body: operations check the payloads when it is put.
package struct ScheduleBuilder {
    /// Checks a payload before its operation does, and returns the one to submit.
    package typealias Admission = (_ type: String, _ payload: JSONValue, _ isTemplate: Bool) throws -> JSONValue

    private let registry: (String) async throws -> OperationRegistry
    private let admit: Admission

    /// - Parameters:
    ///   - admit: the default admits every payload.
    ///   - registry: the operations that check the payloads of a type.
    package init(
        admit: @escaping Admission = { _, payload, _ in payload },
        registry: @escaping (String) async throws -> OperationRegistry
    ) {
        self.admit = admit
        self.registry = registry
    }

    /// - Throws: ``ScheduleBuildError`` for a zone that this machine does not have, for an option, and for a body that its
    ///   operation refuses.
    package func action(of definition: ScheduleDefinition) async throws -> ScheduleAction {
        do {
            do { _ = try TimeZoneDatabase.system.zone(named: definition.zone) } catch {
                throw SluiceError(.invalid, "\(error)")
            }
            let action: ScheduleAction =
                switch definition.body {
                case .command(let value): .command(try await command(value))
                case .flow(let value): .flow(try await flow(value, of: definition.name))
                }
            if let deadline = action.shortestDeadline, deadline <= definition.jitter {
                throw SluiceError(
                    .invalid,
                    "the deadline, \(deadline.shortText), must be longer than the jitter, \(definition.jitter.shortText)"
                )
            }
            return action
        } catch let error as NodeError {
            throw ScheduleBuildError(schedule: definition.name, node: error.node, cause: error.cause)
        } catch {
            throw ScheduleBuildError(schedule: definition.name, node: nil, cause: error)
        }
    }

    fileprivate struct NodeError: Error {
        let node: String
        let cause: any Error
    }

    private func command(_ value: JSONValue) async throws -> ScheduledDraft {
        let type = value["type"]?.string ?? ""
        var options: [JSONValue.Member] = []
        for member in value.members ?? [] where member.name != "type" && member.name != "payload" {
            options.append(member)
        }
        return try await scheduled(
            type, value["payload"] ?? .object([]), options, isNode: false)
    }

    private func flow(_ value: JSONValue, of schedule: String) async throws -> ScheduledFlow {
        let document: FlowDocument
        do throws(FlowDocumentError) {
            document = try FlowDocument(parsing: value.bytes, file: nil)
        } catch {
            throw SluiceError(.invalid, FlowError(node: error.node, error.problem).description)
        }
        var options = SubmitOptions()
        let (fields, deadline) = try Self.withoutDeadline(document.options)
        for member in fields {
            guard !Self.refused.contains(member.name) else { throw Self.refusal(member.name) }
            try BulkField.read(member, into: &options)
        }
        let qos = JSONValue.Member("qos", .string(options.qos.name))
        var flow = ScheduledFlow(name: value["name"] == nil ? schedule : document.name, nodes: [])
        flow.stopsOnFailure = document.stopsOnFailure
        flow.qos = options.qos
        flow.deadline = deadline
        for node in document.nodes {
            let draft = try await node.named {
                try await scheduled(node.type, node.payload, [qos] + node.options, isNode: true)
            }
            flow.nodes.append(.init(name: node.name, draft: draft, after: node.after, mayFail: node.mayFail))
        }
        for callback in document.callbacks {
            let node = callback.node
            let draft = try await node.named {
                try await scheduled(node.type, node.payload, [qos] + node.options, isNode: true)
            }
            flow.callbacks.append(.init(condition: callback.condition, draft: draft))
        }
        do throws(FlowError) {
            _ = try FlowPlan(flow.flow(at: ScheduledTime(nominal: .now, notBefore: .now)))
        } catch {
            throw SluiceError(.invalid, error.description)
        }
        return flow
    }

    private func scheduled(
        _ type: String, _ payload: JSONValue, _ members: [JSONValue.Member], isNode: Bool
    ) async throws -> ScheduledDraft {
        var options = SubmitOptions()
        options.isNode = isNode
        let (fields, deadline) = try Self.withoutDeadline(members)
        for member in fields {
            guard !Self.refused.contains(member.name) else { throw Self.refusal(member.name) }
            try BulkField.read(member, into: &options)
        }
        let payload = try admit(type, payload, isNode)
        var draft = try CommandDraft(
            type: type, payload: payload, options: options, registry: try await registry(type))
        // The file of a payload may change until the schedule fires, so it is not the one that is checked here.
        if let inspected = try? JSONValue(parsing: draft.payload), inspected["source"] != nil, payload["source"] == nil
        {
            for key in ["file", "bodyFile"] {
                guard let path = payload[key]?.string, path.utf8.first != UInt8(ascii: "/") else { continue }
                throw SluiceError(.invalid, "“\(key)” is “\(path)”; a schedule needs a path that starts with “/”")
            }
            draft.payload = payload.bytes
            draft.total = 0
        }
        return ScheduledDraft(draft, deadline: deadline)
    }

    private static let refused = [
        "uniqueKey", "uniqueFor", "notBefore", "orderingKey", "keyLimit", "keyFailure", "after",
    ]

    private static func refusal(_ name: String) -> SluiceError {
        let isKey = ["orderingKey", "keyLimit", "keyFailure"].contains(name)
        return SluiceError(
            .invalid,
            "remove “\(name)”: \(isKey ? "“overlap” says whether one waits for the other" : "a schedule sets it")")
    }

    /// A deadline of a schedule is a time from when it fires.
    private static func withoutDeadline(
        _ members: [JSONValue.Member]
    ) throws -> (fields: [JSONValue.Member], deadline: Duration?) {
        var deadline: Duration?
        for member in members where member.name == "deadline" {
            guard let duration = member.value.string.flatMap({ Duration.parse($0) }), duration > .zero else {
                throw SluiceError(
                    .invalid,
                    "“deadline” is \(member.value.text) and must be a time from when the schedule fires, such as 2h")
            }
            deadline = duration
        }
        return (members.filter { $0.name != "deadline" }, deadline)
    }
}

extension FlowDocument.Node {
    /// Gives an error of this node its name.
    fileprivate func named<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch { throw ScheduleBuilder.NodeError(node: name, cause: error) }
    }
}

extension ScheduleAction {
    fileprivate var shortestDeadline: Duration? {
        switch self {
        case .command(let scheduled): scheduled.deadline
        case .flow(let flow): (flow.nodes.compactMap(\.draft.deadline) + [flow.deadline].compactMap(\.self)).min()
        }
    }
}
