internal import Commands
internal import Console
internal import FlowText
internal import Queue
internal import Work

/// Makes the action of a schedule of its body: operations check the payloads when it is put.
struct ScheduleBuilder {
    private var registries: SubmitRegistries

    init(data: DataOptions) { registries = SubmitRegistries(data) }

    /// - Throws: ``ExitError`` `data` for a zone that this machine does not have, and for a body that its operation refuses.
    mutating func checkedAction(of definition: ScheduleDefinition) async throws -> ScheduleAction {
        do throws(TimeZoneError) { _ = try TimeZoneDatabase.system.zone(named: definition.zone) } catch {
            throw ExitError(.data, "schedule “\(definition.name)”: \(error)")
        }
        do {
            let action: ScheduleAction =
                switch definition.body {
                case .command(let value): .command(try await command(value))
                case .flow(let value): .flow(try await flow(value, of: definition.name))
                }
            if let deadline = action.shortestDeadline, deadline <= definition.jitter {
                throw ExitError(
                    .data,
                    "the deadline, \(deadline.shortText), must be longer than the jitter, \(definition.jitter.shortText)"
                )
            }
            return action
        } catch {
            let exitError = ExitError(error)
            throw ExitError(
                exitError.code, "schedule “\(definition.name)”: \(exitError.message ?? "its body cannot be used")")
        }
    }

    private mutating func command(_ value: JSONValue) async throws -> ScheduledDraft {
        let type = value["type"]?.string ?? ""
        var options: [JSONValue.Member] = []
        for member in value.members ?? [] where member.name != "type" && member.name != "payload" {
            options.append(member)
        }
        return try await scheduled(
            type, value["payload"] ?? .object([]), options, isNode: false)
    }

    private mutating func flow(_ value: JSONValue, of schedule: String) async throws -> ScheduledFlow {
        let document: FlowDocument
        do throws(FlowDocumentError) {
            document = try FlowDocument(parsing: value.bytes, file: nil)
        } catch {
            throw ExitError(.data, FlowError(node: error.node, error.problem).description)
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
            throw ExitError(.data, error.description)
        }
        return flow
    }

    private mutating func scheduled(
        _ type: String, _ payload: JSONValue, _ members: [JSONValue.Member], isNode: Bool
    ) async throws -> ScheduledDraft {
        var options = SubmitOptions()
        options.isNode = isNode
        let (fields, deadline) = try Self.withoutDeadline(members)
        for member in fields {
            guard !Self.refused.contains(member.name) else { throw Self.refusal(member.name) }
            try BulkField.read(member, into: &options)
        }
        var draft = try CommandDraft(
            type: type, payload: payload, options: options, registry: try await registries.registry(for: type))
        // The file of a payload may change until the schedule fires, so it is not the one that is checked here.
        if let inspected = try? JSONValue(parsing: draft.payload), inspected["source"] != nil, payload["source"] == nil
        {
            for key in ["file", "bodyFile"] {
                guard let path = payload[key]?.string, path.utf8.first != UInt8(ascii: "/") else { continue }
                throw ExitError(.data, "“\(key)” is “\(path)”; a schedule needs a path that starts with “/”")
            }
            draft.payload = payload.bytes
            draft.total = 0
        }
        return ScheduledDraft(draft, deadline: deadline)
    }

    private static let refused = [
        "uniqueKey", "uniqueFor", "notBefore", "orderingKey", "keyLimit", "keyFailure", "after",
    ]

    private static func refusal(_ name: String) -> ExitError {
        let isKey = ["orderingKey", "keyLimit", "keyFailure"].contains(name)
        return ExitError(
            .data,
            "remove “\(name)”: \(isKey ? "“overlap” says whether one waits for the other" : "a schedule sets it")")
    }

    /// A deadline of a schedule is a time from when it fires.
    private static func withoutDeadline(
        _ members: [JSONValue.Member]
    ) throws -> (fields: [JSONValue.Member], deadline: Duration?) {
        var deadline: Duration?
        for member in members where member.name == "deadline" {
            guard let duration = member.value.string.flatMap({ Duration.parse($0) }), duration > .zero else {
                throw ExitError(
                    .data,
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
        do {
            return try await body()
        } catch {
            let exitError = ExitError(error)
            throw ExitError(
                exitError.code, FlowError(node: name, exitError.message ?? "it cannot be used").description)
        }
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
