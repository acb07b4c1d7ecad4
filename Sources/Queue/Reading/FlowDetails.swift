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

/// A batch with its members by status, those that have failed, and its callbacks.
package struct BatchDetails: Sendable {
    private static let maxCounted = 20_000
    private static let time: Duration = .milliseconds(250)
    private static let maxCallbacks = 10
    private static let maxFailed = 10

    package let batch: BatchState
    /// The members that were counted.
    package private(set) var members: [CommandStatus: Int] = [:]
    /// False where members were not counted, because there are many.
    package private(set) var isComplete = false
    /// The newest members that have failed.
    package private(set) var failed: [Command] = []
    /// The commands that run after the end of the batch, and the end that each waits for; nil where it has come.
    package private(set) var callbacks: [(command: Command, condition: DependencyCondition?)] = []

    fileprivate init(batch: BatchState, in store: any CommandStore) throws(StoreError) {
        self.batch = batch
        try count(store)
        try findCallbacks(store)
    }

    private mutating func count(_ store: any CommandStore) throws(StoreError) {
        var filter = CommandFilter()
        filter.batch = batch.command.id
        var after: CommandID?
        var counted = 0
        let end = MonotonicTime.now + Self.time
        repeat {
            let page = try store.page(filter, order: .newestFirst, after: after, limit: 1000, until: end)
            for command in page.commands {
                members[command.status, default: 0] += 1
                guard failed.count < Self.maxFailed else { continue }
                if command.status == .tooManyTimes || command.status == .inDoubt { failed.append(command) }
            }
            counted += page.commands.count
            after = page.next
        } while after != nil && counted < Self.maxCounted && MonotonicTime.now < end
        isComplete = after == nil
    }

    /// A batch and its callbacks are submitted in one transaction, so they share the millisecond and the shard.
    private mutating func findCallbacks(_ store: any CommandStore) throws(StoreError) {
        let id = batch.command.id
        var filter = CommandFilter()
        filter.from = batch.command.createdAt
        filter.before = batch.command.createdAt + .milliseconds(1)
        let page = try store.page(filter, order: .oldestFirst, after: id, limit: 100, until: .now + Self.time)
        for command in page.commands where command.batch == nil {
            guard callbacks.count < Self.maxCallbacks,
                command.id.shard(of: store.shardCount) == id.shard(of: store.shardCount),
                let waits = try store.dependencies(of: command.id, limit: 1), waits.flow == id
            else { continue }
            callbacks.append((command, waits.open > 0 ? waits.parents.first?.condition : nil))
        }
    }
}

extension QueueAccess {
    /// A page of all batches, the newest first.
    /// - Parameters:
    ///   - after: excluded; nil: the first page.
    ///   - time: for the search.
    /// - Returns: at most `limit` batches, and the id after which the next page begins.
    package func batches(
        after: CommandID?, limit: Int, within time: Duration
    ) throws(StoreError) -> (batches: [BatchState], next: CommandID?) {
        var filter = CommandFilter()
        filter.type = CommandType.batch
        let page = try page(filter, order: .newestFirst, after: after, limit: limit, within: time)
        var batches: [BatchState] = []
        for command in page.commands { if let batch = try store.batch(command.id) { batches.append(batch) } }
        return (batches, page.next)
    }

    /// A batch with its members: nil where there is no such batch. It takes up to half a second.
    package func batchDetails(of id: CommandID) throws(StoreError) -> BatchDetails? {
        guard let batch = try store.batch(id) else { return nil }
        return try BatchDetails(batch: batch, in: store)
    }
}
