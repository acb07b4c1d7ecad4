internal import Commands

/// The rows of a new flow. Pure: both stores insert them.
struct FlowLayout {
    struct Member {
        var row: StoredCommand
        var payload: [UInt8]
        var node: NodeRow
        var dependencies: [DependencyRow]
    }

    /// The flow, then its nodes, then its callbacks, with ascending turns.
    let members: [Member]
    let flow: FlowRow
    let submission: FlowSubmission

    /// - Parameters:
    ///   - ids: of the flow, of each node, and of each callback.
    ///   - turn: of the flow.
    ///   - waits: the flow waits for its ordering key. Its first nodes then depend on its start.
    init(
        _ plan: FlowPlan, _ draft: CommandDraft, digest: [UInt8]?, ids: [CommandID], turn: Int64, waits: Bool,
        now: Timestamp
    ) {
        let nodes = plan.nodes
        let first = turn + 1
        var hasChildren = [Bool](repeating: false, count: nodes.count)
        for node in nodes { for parent in node.parents { hasChildren[parent.position] = true } }
        var flow = StoredCommand(draft, digest: digest, id: ids[0], turn: turn, now: now)
        flow.relations.formUnion(plan.flow.callbacks.isEmpty ? [.node, .flow] : [.node, .flow, .parent])
        flow.command.status = nodes.isEmpty ? .success : .blocked
        if nodes.isEmpty { flow.openDeadline = nil }
        var members = [
            Member(
                row: flow, payload: draft.payload, node: NodeRow(turn: turn, name: nil, pending: nodes.count),
                dependencies: [])
        ]
        members.reserveCapacity(ids.count)
        var roots: [ReadyCommand] = []
        for (position, node) in nodes.enumerated() {
            let own = first + Int64(position)
            var row = StoredCommand(node.draft, digest: nil, id: ids[position + 1], turn: own, now: now)
            row.relations = hasChildren[position] ? [.node, .member, .parent] : [.node, .member]
            let awaitsStart = waits && node.parents.isEmpty
            if !node.parents.isEmpty || awaitsStart { row.command.status = .blocked }
            var flags: NodeRow.Flags = node.mayFail ? .mayFail : []
            if !node.parents.isEmpty, node.parents.allSatisfy({ $0.condition == .end }) { flags.insert(.finalizer) }
            members.append(
                Member(
                    row: row, payload: node.draft.payload,
                    node: NodeRow(
                        turn: own, flow: turn, name: node.name, pending: node.parents.count + (awaitsStart ? 1 : 0),
                        flags: flags),
                    dependencies: node.parents.map {
                        DependencyRow(
                            parent: first + Int64($0.position), child: own, condition: $0.condition, state: .open)
                    }
                        + (awaitsStart
                            ? [DependencyRow(parent: -turn, child: own, condition: .success, state: .open)] : [])
                ))
            if row.isReady, roots.count < FlowSubmission.maxReady { roots.append(row.ready) }
        }
        for (position, callback) in plan.flow.callbacks.enumerated() {
            let own = first + Int64(nodes.count + position)
            var row = StoredCommand(
                callback.draft, digest: nil, id: ids[nodes.count + position + 1], turn: own, now: now)
            row.relations = [.node, .member]
            var dependency = DependencyRow(parent: turn, child: own, condition: callback.condition, state: .open)
            if nodes.isEmpty {
                dependency.state = .initialState(callback.condition, .success)
                row.command.status = dependency.state == .satisfied ? .new : .cancelled
                if row.isReady { roots.append(row.ready) }
            } else {
                row.command.status = .blocked
            }
            var node = NodeRow(
                turn: own, flow: turn, name: nil, pending: dependency.state == .satisfied ? 0 : 1, flags: .callback)
            if row.command.status == .cancelled {
                node.cause = turn
                node.flags.insert(.notNeeded)
            }
            members.append(Member(row: row, payload: callback.draft.payload, node: node, dependencies: [dependency]))
        }
        self.members = members
        self.flow = FlowRow(
            turn: turn, nodes: nodes.count, failed: 0, stopsOnFailure: plan.flow.stopsOnFailure)
        submission = FlowSubmission(
            submission: Submission(id: ids[0], isExisting: false, turn: turn), ready: roots)
    }
}

extension DependencyRow.State {
    /// - Parameter outcome: of the parent; nil where it has not ended.
    static func initialState(_ condition: DependencyCondition, _ outcome: ParentOutcome?) -> DependencyRow.State {
        guard let outcome else { return .open }
        return outcome.satisfies(condition) ? .satisfied : .unsatisfiable
    }
}
