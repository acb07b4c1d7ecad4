internal import Commands

/// Reads flows and dependencies for people, producers and executions. Pure: both stores have the rows.
struct FlowReading<Rows: RelationRows> {
    var rows: Rows
    /// Open parents in other shards, which ``dependencies(of:limit:)`` cannot read.
    private(set) var remote: [(parent: CommandID, condition: DependencyCondition)] = []

    init(_ rows: Rows) { self.rows = rows }

    /// Nil where `row` is not a flow.
    mutating func flow(_ row: StoredCommand) throws(StoreError) -> FlowState? {
        let turn = row.command.turn
        guard row.relations.contains(.flow), let flow = try rows.flow(turn) else { return nil }
        let payload = try rows.payload(of: row.id).flatMap { try? JSONValue(parsing: $0) }
        return FlowState(
            command: row.command, name: payload?["name"]?.string ?? "", nodes: flow.nodes,
            open: try rows.node(turn)?.pending ?? 0, failed: flow.failed)
    }

    /// The nodes of a flow, then its callbacks, in the order of their positions.
    mutating func nodes(of row: StoredCommand, after position: Int64, limit: Int) throws(StoreError) -> [FlowNodeState]
    {
        guard row.relations.contains(.flow) else { return [] }
        var found: [FlowNodeState] = []
        for turn in try rows.nodes(of: row.command.turn, after: position, limit: limit) {
            guard let node = try rows.node(turn), let member = try rows.command(turn: turn) else { continue }
            found.append(
                FlowNodeState(
                    position: turn, name: node.name, command: member.command,
                    parents: try rows.dependencies(of: turn).filter { $0.parent > 0 }.map {
                        FlowNodeState.Parent(
                            position: $0.parent, condition: $0.condition, isSatisfied: $0.state == .satisfied)
                    }, mayFail: node.flags.contains(.mayFail), isUnneeded: node.flags.contains(.notNeeded)))
        }
        return found
    }

    /// Nil for a command that waits for no other and is in no flow.
    mutating func dependencies(of row: StoredCommand, limit: Int) throws(StoreError) -> CommandDependencies? {
        guard row.relations.contains(.node), !row.relations.isComposite,
            let node = try rows.node(row.command.turn)
        else { return nil }
        let flow = try node.flow.flatMap { turn throws(StoreError) in try rows.command(turn: turn)?.id }
        let all = try withoutFlows(of: rows.dependencies(of: node.turn).filter { $0.parent > 0 }, of: node)
        let open = all.filter { $0.state != .satisfied }
        var parents: [CommandDependencies.Parent] = []
        for dependency in open.prefix(max(limit, 0)) {
            guard let parent = try rows.command(turn: dependency.parent) else { continue }
            parents.append(
                CommandDependencies.Parent(
                    command: parent.command, name: try rows.node(dependency.parent)?.name,
                    condition: dependency.condition))
        }
        let remote = try rows.remoteDependencies(of: row.command.turn)
        let openRemote = remote.filter { $0.state != .satisfied }
        self.remote = openRemote.prefix(max(limit - parents.count, 0)).map { ($0.parent, $0.condition) }
        return CommandDependencies(
            flow: flow, name: node.name, count: all.count + remote.count, open: open.count + openRemote.count,
            parents: parents)
    }

    /// A command outside of a flow also has a row for the flow of each parent, which it does not wait for.
    private mutating func withoutFlows(
        of dependencies: [DependencyRow], of node: NodeRow
    ) throws(StoreError) -> [DependencyRow] {
        guard node.flow == nil else { return dependencies }
        var flows: Set<Int64> = []
        for dependency in dependencies { if let flow = try rows.node(dependency.parent)?.flow { flows.insert(flow) } }
        return dependencies.filter { !flows.contains($0.parent) }
    }

    /// Nil for a command that has no ordering key, or has ended.
    mutating func orderingKey(of row: StoredCommand) throws(StoreError) -> OrderingKeyState? {
        guard let key = row.key, !row.command.status.isEnd || row.holdsKey, let lane = try rows.lane(key) else {
            return nil
        }
        let turn = row.command.turn
        let ahead = try rows.isWaiter(key, turn) ? rows.waiters(key, before: turn) : nil
        let holder = try lane.holder.flatMap { turn throws(StoreError) in try rows.command(turn: turn)?.command }
        return OrderingKeyState(key: key, limit: lane.limit, open: lane.open, holder: holder, ahead: ahead)
    }

    /// The results of the commands that a command depends on, in the order of their positions.
    mutating func parentResults(
        of row: StoredCommand, after position: Int64, limit: Int
    ) throws(StoreError) -> [ParentResult] {
        guard row.relations.contains(.node), !row.relations.isComposite else { return [] }
        var found: [ParentResult] = []
        for dependency in try rows.dependencies(of: row.command.turn, after: max(position, 0), limit: limit) {
            guard let parent = try rows.command(turn: dependency.parent) else { continue }
            found.append(
                ParentResult(
                    position: dependency.parent, id: parent.id, name: try rows.node(dependency.parent)?.name,
                    status: parent.command.status,
                    result: parent.command.status == .success ? try rows.result(of: parent.id) : nil))
        }
        // Those of other shards come last.
        let base = Int64.max - Int64(CommandDraft.maxDependencies)
        for (index, remote) in try rows.remoteDependencies(of: row.command.turn).enumerated() {
            guard base + Int64(index) > position, found.count < limit, let status = remote.status else { continue }
            found.append(
                ParentResult(
                    position: base + Int64(index), id: remote.parent, name: nil, status: status, result: remote.result))
        }
        return found
    }
}
