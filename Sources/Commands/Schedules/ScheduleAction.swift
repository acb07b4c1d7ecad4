/// The command or the flow that a schedule submits, as the operations left it when the schedule was put.
package enum ScheduleAction: Sendable, Equatable {
    case command(ScheduledDraft)
    case flow(ScheduledFlow)
}

/// A flow of a schedule as it is stored.
package struct ScheduledFlow: Sendable, Equatable {
    package struct Node: Sendable, Equatable {
        package var name: String
        package var draft: ScheduledDraft
        package var after: [String: DependencyCondition]
        package var mayFail: Bool

        package init(name: String, draft: ScheduledDraft, after: [String: DependencyCondition], mayFail: Bool) {
            self.name = name
            self.draft = draft
            self.after = after
            self.mayFail = mayFail
        }
    }

    package struct Callback: Sendable, Equatable {
        package var condition: DependencyCondition
        package var draft: ScheduledDraft

        package init(condition: DependencyCondition, draft: ScheduledDraft) {
            self.condition = condition
            self.draft = draft
        }
    }

    package var name: String
    package var nodes: [Node]
    package var callbacks: [Callback] = []
    package var stopsOnFailure = false
    package var qos = QualityOfService.default
    /// From the nominal time on; nil: never.
    package var deadline: Duration?

    package init(name: String, nodes: [Node]) {
        self.name = name
        self.nodes = nodes
    }

    /// The flow of one time. Its first nodes have the jitter of the schedule.
    package func flow(at time: ScheduledTime) -> FlowDraft {
        var flow = FlowDraft(
            name,
            nodes: nodes.map { node in
                var draft = node.draft.draft(at: time)
                if node.after.isEmpty { draft.notBefore = time.notBefore }
                return FlowNode(node.name, draft, after: node.after, mayFail: node.mayFail)
            })
        flow.callbacks = callbacks.map { .init(on: $0.condition, $0.draft.draft(at: time)) }
        flow.stopsOnFailure = stopsOnFailure
        flow.qos = qos
        flow.deadline = deadline.map { time.nominal + $0 }
        return flow
    }
}

extension ScheduleAction {
    /// The drafts that it submits: one command, or the nodes and callbacks of a flow.
    package var drafts: [CommandDraft] {
        switch self {
        case .command(let scheduled): [scheduled.draft]
        case .flow(let flow): (flow.nodes.map(\.draft) + flow.callbacks.map(\.draft)).map(\.draft)
        }
    }

    /// The names of the rate limits of its commands.
    package var limits: Set<String> { Set(drafts.compactMap(\.limit)) }
}

// MARK: JSON

extension ScheduleAction {
    package var json: JSONValue {
        switch self {
        case .command(let draft): .object([.init("command", draft.json)])
        case .flow(let flow): .object([.init("flow", flow.json)])
        }
    }

    /// Nil for a value of another form.
    package init?(_ json: JSONValue) {
        if let command = json["command"] {
            guard let draft = ScheduledDraft(command) else { return nil }
            self = .command(draft)
        } else {
            guard let flow = json["flow"].flatMap({ ScheduledFlow($0) }) else { return nil }
            self = .flow(flow)
        }
    }
}

extension ScheduledFlow {
    fileprivate var json: JSONValue {
        .object([
            .init("name", .string(name)), .init("stopsOnFailure", .bool(stopsOnFailure)),
            .init("qos", .string(qos.name)),
            .init("deadline", deadline.map { .integer($0.milliseconds) } ?? .null),
            .init(
                "nodes",
                .array(
                    nodes.map { node in
                        .object([
                            .init("name", .string(node.name)), .init("draft", node.draft.json),
                            .init(
                                "after",
                                .object(
                                    node.after.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value.name)) })
                            ),
                            .init("mayFail", .bool(node.mayFail)),
                        ])
                    })),
            .init(
                "callbacks",
                .array(
                    callbacks.map {
                        .object([.init("condition", .string($0.condition.name)), .init("draft", $0.draft.json)])
                    })),
        ])
    }

    fileprivate init?(_ json: JSONValue) {
        guard let name = json["name"]?.string, let nodes = json["nodes"]?.elements,
            let callbacks = json["callbacks"]?.elements,
            let qos = json["qos"]?.string.flatMap({ QualityOfService(name: $0) })
        else { return nil }
        self.init(name: name, nodes: [])
        for node in nodes {
            guard let name = node["name"]?.string, let draft = node["draft"].flatMap({ ScheduledDraft($0) }),
                let members = node["after"]?.members
            else { return nil }
            var after: [String: DependencyCondition] = [:]
            for member in members {
                guard let condition = member.value.string.flatMap({ DependencyCondition(name: $0) }) else { return nil }
                after[member.name] = condition
            }
            self.nodes.append(Node(name: name, draft: draft, after: after, mayFail: node["mayFail"]?.bool ?? false))
        }
        for callback in callbacks {
            guard let condition = callback["condition"]?.string.flatMap({ DependencyCondition(name: $0) }),
                let draft = callback["draft"].flatMap({ ScheduledDraft($0) })
            else { return nil }
            self.callbacks.append(Callback(condition: condition, draft: draft))
        }
        stopsOnFailure = json["stopsOnFailure"]?.bool ?? false
        self.qos = qos
        deadline = json["deadline"]?.integer.map { .milliseconds($0) }
    }
}

/// A command of a schedule as it is stored: a draft whose deadline counts from the time at which the schedule fires.
package struct ScheduledDraft: Sendable, Equatable {
    package var draft: CommandDraft
    /// From the nominal time on; nil: never.
    package var deadline: Duration?

    package init(_ draft: CommandDraft, deadline: Duration? = nil) {
        self.draft = draft
        self.deadline = deadline
    }

    /// The draft of one time.
    package func draft(at time: ScheduledTime) -> CommandDraft {
        var draft = draft
        draft.deadline = deadline.map { time.nominal + $0 }
        return draft
    }
}

// MARK: JSON

extension ScheduledDraft {
    package var json: JSONValue {
        .object([
            .init("type", .string(draft.type)),
            .init("payload", .string(String(decoding: draft.payload, as: UTF8.self))),
            .init("destination", .string(draft.destination.text)), .init("qos", .string(draft.qos.name)),
            .init("idempotent", .bool(draft.idempotent)), .init("retryLimit", .integer(Int64(draft.retryLimit))),
            .init("total", .integer(draft.total)),
            .init("deadline", deadline.map { .integer($0.milliseconds) } ?? .null),
            .init("limit", draft.limit.map { .string($0) } ?? .null),
        ])
    }

    /// Nil for a value of another form.
    package init?(_ json: JSONValue) {
        guard let type = json["type"]?.string, let payload = json["payload"]?.string,
            let destination = json["destination"]?.string,
            let qos = json["qos"]?.string.flatMap({ QualityOfService(name: $0) }),
            let idempotent = json["idempotent"]?.bool,
            let retryLimit = json["retryLimit"]?.integer.flatMap({ Int(exactly: $0) }),
            let total = json["total"]?.integer
        else { return nil }
        var draft = CommandDraft(
            type: type, payload: Array(payload.utf8), destination: Destination(unchecked: destination), qos: qos,
            idempotent: idempotent)
        draft.retryLimit = retryLimit
        draft.total = total
        draft.limit = json["limit"]?.string
        self.init(draft, deadline: json["deadline"]?.integer.map { .milliseconds($0) })
    }
}
