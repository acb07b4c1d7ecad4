public import Commands
internal import Store
internal import Wire

extension SluiceClient {
    /// Makes a flow durable, with all its nodes and callbacks in one transaction, and sends the coordinator a hint. When
    /// this returns, the flow is on disk.
    ///
    /// ```swift
    /// var flow = FlowDraft("nightly", nodes: [
    ///     try client.node("get", "download", payload: ["url": "https://q.example.com/all.json", "to": "/data/"]),
    ///     try client.node("report", "noop", after: ["get": .end]),
    /// ])
    /// let id = try await client.submit(flow)
    /// let outcome = try await client.wait(for: id)
    /// ```
    /// The id of a flow is that of a command of type `flow`: it can be waited for, cancelled, retried and listed. It
    /// is `blocked` until the last node has ended, then `success`, `tooManyTimes` where a node has failed, or `cancelled`.
    /// - Parameters:
    ///   - flow: at most 100,000 nodes.
    ///   - allowUnknownTypes: accept types that no worker has ever been able to run. The default is false.
    /// - Returns: the id of the flow; where an equal flow holds its unique key, the id of that one.
    /// - Throws: ``SluiceError``: `invalid` for a cycle, an unknown parent, a malformed name, or an unknown type; `conflict`
    ///   where another flow holds the unique key.
    @discardableResult
    public func submit(_ flow: FlowDraft, allowUnknownTypes: Bool = false) async throws -> CommandID {
        try await submitOrFind(flow, allowUnknownTypes: allowUnknownTypes).id
    }

    /// As ``submit(_:allowUnknownTypes:)``, and says whether the flow is new, or existed already under its unique key.
    public func submitOrFind(_ flow: FlowDraft, allowUnknownTypes: Bool = false) async throws -> Submission {
        let found = try await write { queue in
            try queue.store.submit(try FlowPlan(flow), allowUnknownTypes: allowUnknownTypes)
        }
        if !found.ready.isEmpty { batcher.send(.ready, found.ready.map(\.id)) }
        return found.submission
    }

    /// A flow as it is now.
    /// - Returns: nil where there is no such command, or where it is not a flow.
    public func flow(_ id: CommandID) async throws -> FlowState? {
        try await read(isUrgent: true) { queue in try queue.store.flow(id) }
    }

    /// The nodes of a flow, then its callbacks, in an order in which each is behind its parents.
    /// - Parameters:
    ///   - after: the ``FlowNodeState/position`` of the last that was read; 0, the default, starts at the first.
    ///   - limit: 1…1,000; the default is 1,000.
    public func nodes(of flow: CommandID, after position: Int64 = 0, limit: Int = 1000) async throws -> [FlowNodeState]
    {
        try await read { queue in
            try queue.store.flowNodes(flow, after: position, limit: min(max(limit, 1), 1000))
        }
    }

    /// The place of a command in the queue of its ordering key.
    /// - Returns: nil for a command that has none, or has ended.
    public func orderingKey(of id: CommandID) async throws -> OrderingKeyState? {
        try await read(isUrgent: true) { queue in try queue.store.orderingKey(of: id) }
    }

    /// The commands that a command still waits for.
    /// - Parameter limit: of the parents that are returned; the default is 20.
    /// - Returns: nil for a command that waits for no other and is in no flow.
    public func dependencies(of id: CommandID, limit: Int = 20) async throws -> CommandDependencies? {
        try await read(isUrgent: true) { queue in try queue.store.dependencies(of: id, limit: limit) }
    }

    /// Makes a node of a flow: checks its payload against its operation, as ``draft(_:payload:options:)`` does.
    ///
    /// The payload may refer to results of other nodes (``Commands/JSONValue/result(_:default:)``); the node then waits for
    /// their success. Its operation checks such a payload when it has the results, and a file in it needs an absolute path.
    /// - Parameters:
    ///   - name: unique in its flow: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.
    ///   - type: the type of the command.
    ///   - payload: JSON for the operation. The default is an empty object.
    ///   - after: the nodes that it waits for, by name. The default is none but those that the payload refers to.
    ///   - mayFail: whether its failure satisfies dependencies on its success, and does not fail the flow. The default is
    ///     false.
    ///   - options: without keys and dependencies of its own.
    /// - Throws: ``SluiceError``, as ``draft(_:payload:options:)``; `invalid` also for a reference that is malformed, or
    ///   whose result may be missing and which has no default.
    public func node(
        _ name: String, _ type: String, payload: JSONValue = .object([]), after: [String: DependencyCondition] = [:],
        mayFail: Bool = false, options: SubmitOptions = SubmitOptions()
    ) throws(SluiceError) -> FlowNode {
        let template = try template(payload)
        var after = after
        for source in template.parents {
            guard case .node(let parent) = source else {
                throw SluiceError(
                    .invalid, "node “\(name)”: its payload refers to “\(source)”; name a node of its flow")
            }
            let hasDefault = template.references.allSatisfy { $0.source != source || $0.defaultValue != nil }
            guard after[parent, default: .success] == .success || hasDefault else {
                throw SluiceError(
                    .invalid,
                    "node “\(name)”: the result of “\(parent)” may be missing, because the node does not wait for its success; "
                        + "give the reference a default")
            }
            if after[parent] == nil { after[parent] = .success }
        }
        guard !template.usesFlow else {
            throw SluiceError(.invalid, "node “\(name)”: its payload refers to the flow, which only a callback can")
        }
        return FlowNode(name, try draft(ofNode: type, payload, options), after: after, mayFail: mayFail)
    }

    /// Makes a command that runs when a flow has ended.
    ///
    /// Its payload may have facts about the flow: `["$flow": "status"]`, or `id`, `name`, `nodes` or `failed`.
    /// - Parameters:
    ///   - condition: the ends of the flow that let it run.
    ///   - payload: JSON for the operation. The default is an empty object.
    /// - Throws: ``SluiceError``, as ``node(_:_:payload:after:mayFail:options:)``.
    public func callback(
        on condition: DependencyCondition, _ type: String, payload: JSONValue = .object([]),
        options: SubmitOptions = SubmitOptions()
    ) throws(SluiceError) -> FlowDraft.Callback {
        guard try template(payload).parents.isEmpty else {
            throw SluiceError(.invalid, "a callback refers to its flow (“$flow”), and to the result of no node")
        }
        return FlowDraft.Callback(on: condition, try draft(ofNode: type, payload, options))
    }

    private func template(_ payload: JSONValue) throws(SluiceError) -> PayloadTemplate {
        do throws(PayloadReferenceError) { return try PayloadTemplate(payload) } catch {
            throw SluiceError(.invalid, error.description)
        }
    }

    private func draft(
        ofNode type: String, _ payload: JSONValue, _ options: SubmitOptions
    ) throws(SluiceError) -> CommandDraft {
        var options = options
        options.isNode = true
        return try draft(type, payload: payload, options: options)
    }

    /// Makes a batch durable, which takes any number of commands of any type as members, in all shards.
    ///
    /// ```swift
    /// var draft = BatchDraft("import")
    /// draft.callbacks = [.init(on: .success, try client.callback("noop"))]
    /// let batch = try await client.open(draft)
    /// var options = SubmitOptions()
    /// options.batch = batch
    /// for page in pages { try await client.submit("noop", page, options: options) }
    /// try await client.seal(batch)
    /// let outcome = try await client.wait(for: batch)
    /// ```
    /// The id of a batch is that of a command of type `batch`: it can be waited for, cancelled and listed, and other
    /// commands may wait for it. It is `blocked` until it is sealed and its last member has ended, then `success`,
    /// `tooManyTimes` where a member has failed, or `cancelled`. A member that is retried after that changes it no more.
    /// - Parameter allowUnknownTypes: accept callbacks of types that no worker has ever been able to run. The default is
    ///   false.
    /// - Throws: ``SluiceError``: `invalid` for a callback with a key or parents of its own, and the errors of any write.
    ///   Every shard must be writable.
    public func open(_ batch: BatchDraft, allowUnknownTypes: Bool = false) async throws -> CommandID {
        try await write { queue in try queue.store.open(batch, allowUnknownTypes: allowUnknownTypes) }
    }

    /// Lets no more members into a batch, which ends when its last member has. A batch that is sealed stays as it is, so
    /// call this again where it throws.
    /// - Throws: ``SluiceError``: `notFound` where there is no such batch, and the errors of any write.
    public func seal(_ batch: CommandID) async throws {
        try await write { queue in try queue.store.seal(batch) }
    }

    /// A batch as it is now, with the numbers of its members.
    /// - Returns: nil where there is no such command, or where it is not a batch.
    public func batch(_ id: CommandID) async throws -> BatchState? {
        try await read(isUrgent: true) { queue in try queue.store.batch(id) }
    }
}

extension JSONValue {
    /// A reference to the result of a node of the same flow, for payloads of ``SluiceClient/node(_:_:payload:after:mayFail:options:)``.
    /// - Parameters:
    ///   - place: the name of the node, and behind it a JSON Pointer (RFC 6901) into its result, as in `download/path`.
    ///   - defaultValue: stands in for a result that is missing. Nil, the default: the command is given up then.
    public static func result(_ place: String, default defaultValue: JSONValue? = nil) -> JSONValue {
        .object(
            [.init("$result", .string(place))] + (defaultValue.map { [.init("default", $0)] } ?? []))
    }
}
