package import Commands
internal import Host
package import Store

/// A flow with a page of its nodes.
package struct FlowDetails: Sendable {
    package let flow: FlowState
    /// In the order of their positions; callbacks come last, and have no name.
    package let nodes: [FlowNodeState]
    /// The position after which the next page begins; nil at the end.
    package let next: Int64?
}

/// Where a reading looks for a command of one type, and finds another: the sentence that each face tells.
package enum CompositeReading<Value: Sendable>: Sendable {
    case found(Value)
    /// A command of another type, and the flow that it belongs to; nil where it belongs to none.
    case other(Command, flow: CommandID?)
    case missing
}

extension QueueAccess {
    /// The flows that have not ended, the newest first.
    package func openFlows(limit: Int) throws(StoreError) -> [FlowState] { try store.openFlows(limit: limit) }

    /// A page of all flows, the newest first; the first page begins with those that have not ended, for which there is an
    /// index.
    /// - Parameters:
    ///   - after: excluded; nil: the first page.
    ///   - time: for the search of those that have ended.
    /// - Returns: at most twice `limit` flows, and the id after which the next page begins.
    package func flows(
        after: CommandID?, limit: Int, within time: Duration
    ) throws(StoreError) -> (flows: [FlowState], next: CommandID?) {
        var filter = CommandFilter()
        filter.type = CommandType.flow
        var flows = after == nil ? try openFlows(limit: limit) : []
        let page = try store.page(filter, order: .newestFirst, after: after, limit: limit, until: .now + time)
        let known = Set(flows.map(\.command.id))
        for command in page.commands where !known.contains(command.id) {
            if let flow = try store.flow(command.id) { flows.append(flow) }
        }
        return (flows.sorted { $0.command.id > $1.command.id }, page.next)
    }

    /// A flow with a page of its nodes.
    /// - Parameters:
    ///   - position: of the last node of the page before; 0: the first page.
    ///   - limit: nodes of the page; nil: all.
    package func flow(
        _ id: CommandID, after position: Int64 = 0, limit: Int?
    ) throws(StoreError) -> CompositeReading<FlowDetails> {
        guard let flow = try store.flow(id) else { return try other(id) }
        if let limit {
            let nodes = try store.flowNodes(id, after: max(position, 0), limit: limit)
            return .found(
                FlowDetails(flow: flow, nodes: nodes, next: nodes.count == limit ? nodes.last?.position : nil))
        }
        var nodes: [FlowNodeState] = []
        while true {
            let page = try store.flowNodes(id, after: nodes.last?.position ?? position, limit: 1000)
            if page.isEmpty { return .found(FlowDetails(flow: flow, nodes: nodes, next: nil)) }
            nodes += page
        }
    }

    /// A batch with the numbers of its members.
    package func batch(_ id: CommandID) throws(StoreError) -> CompositeReading<BatchState> {
        if let batch = try store.batch(id) { return .found(batch) }
        return try other(id)
    }

    private func other<Value>(_ id: CommandID) throws(StoreError) -> CompositeReading<Value> {
        guard let command = try store.command(id) else { return .missing }
        return .other(command, flow: try store.dependencies(of: id, limit: 0)?.flow)
    }
}
