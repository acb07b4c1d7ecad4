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
}
