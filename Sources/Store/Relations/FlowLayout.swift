package import Commands
internal import Crypto

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
        // An urgent node does not wait behind one of low quality.
        var qualities = nodes.map(\.draft.qos)
        for position in nodes.indices.reversed() {
            for parent in nodes[position].parents {
                hasChildren[parent.position] = true
                qualities[parent.position] = max(qualities[parent.position], qualities[position])
            }
        }
        var flow = StoredCommand(draft, digest: digest, id: ids[0], turn: turn, now: now)
        flow.relations.formUnion(plan.flow.callbacks.isEmpty ? [.node, .flow] : [.node, .flow, .parent])
        flow.command.status = nodes.isEmpty ? .success : .blocked
        if nodes.isEmpty { flow.openDeadline = nil }
        var members = [
            Member(
                row: flow, payload: draft.payload,
                node: NodeRow(turn: turn, name: nil, pending: nodes.count, flags: .flow), dependencies: [])
        ]
        members.reserveCapacity(ids.count)
        var roots: [ReadyCommand] = []
        for (position, node) in nodes.enumerated() {
            let own = first + Int64(position)
            var row = StoredCommand(node.draft, digest: nil, id: ids[position + 1], turn: own, now: now)
            row.command.qos = qualities[position]
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
            let member = Self.member(
                callback, id: ids[nodes.count + position + 1], turn: first + Int64(nodes.count + position), of: turn,
                outcome: nodes.isEmpty ? .success : nil, now: now)
            if member.row.isReady { roots.append(member.row.ready) }
            members.append(member)
        }
        self.members = members
        self.flow = FlowRow(
            turn: turn, nodes: nodes.count, failed: 0, stopsOnFailure: plan.flow.stopsOnFailure)
        submission = FlowSubmission(
            submission: Submission(id: ids[0], isExisting: false, turn: turn), ready: roots)
    }

    /// A callback of a flow or batch.
    /// - Parameters:
    ///   - flow: its turn.
    ///   - outcome: of the flow; nil where it has not ended.
    static func member(
        _ callback: FlowDraft.Callback, id: CommandID, turn: Int64, of flow: Int64, outcome: ParentOutcome?,
        now: Timestamp
    ) -> Member {
        var row = StoredCommand(callback.draft, digest: nil, id: id, turn: turn, now: now)
        row.relations = [.node, .member]
        let state = DependencyRow.State.initialState(callback.condition, outcome)
        switch state {
        case .open: row.command.status = .blocked
        case .satisfied: break
        case .unsatisfiable: row.command.status = .cancelled
        }
        var node = NodeRow(
            turn: turn, flow: flow, name: nil, pending: state == .satisfied ? 0 : 1, flags: .callback)
        if state == .unsatisfiable {
            node.cause = flow
            node.flags.insert(.notNeeded)
        }
        return Member(
            row: row, payload: callback.draft.payload, node: node,
            dependencies: [
                DependencyRow(parent: flow, child: turn, condition: callback.condition, state: state)
            ])
    }
}

extension DependencyRow.State {
    /// - Parameter outcome: of the parent; nil where it has not ended.
    static func initialState(_ condition: DependencyCondition, _ outcome: ParentOutcome?) -> DependencyRow.State {
        guard let outcome else { return .open }
        return outcome.satisfies(condition) ? .satisfied : .unsatisfiable
    }
}

extension FlowPlan {
    /// The command that is the flow.
    var draft: CommandDraft {
        let payload = JSONValue.object([
            .init("name", .string(flow.name)), .init("nodes", .integer(Int64(nodes.count))),
        ])
        var draft = CommandDraft(
            type: CommandType.flow, payload: payload.bytes, destination: .none, qos: flow.qos, idempotent: true)
        draft.deadline = flow.deadline
        draft.uniqueKey = flow.uniqueKey
        draft.uniqueFor = flow.uniqueFor
        // An empty flow waits for nothing.
        if !nodes.isEmpty {
            draft.orderingKey = flow.orderingKey
            draft.keyLimit = flow.keyLimit
            draft.keyFailure = flow.keyFailure
        }
        if flow.uniqueKey != nil { draft.identity = identity }
        return draft
    }

    /// The drafts of nodes and callbacks.
    var drafts: [CommandDraft] { nodes.map(\.draft) + flow.callbacks.map(\.draft) }

    /// Why every store refuses it; nil where it is valid.
    var problem: StoreError? {
        for node in nodes {
            if var problem = node.draft.problem {
                problem.message = "Node “\(node.name)”: \(problem.message)"
                return problem
            }
        }
        return flow.callbacks.lazy.compactMap(\.draft.problem).first
    }

    /// Why a submit refuses its times; nil where each of its commands could run.
    func timeProblem(now: Timestamp) -> StoreError? {
        if let problem = draft.timeProblem(now: now) { return problem }
        for node in nodes {
            var draft = node.draft
            draft.deadline = [draft.deadline, flow.deadline].compactMap(\.self).min()
            guard var problem = draft.timeProblem(now: now) else { continue }
            problem.message = "Node “\(node.name)”: \(problem.message)"
            return problem
        }
        return flow.callbacks.lazy.compactMap { $0.draft.timeProblem(now: now) }.first
    }

    /// Equal for flows with the same work: a digest over the nodes, their order, and the callbacks.
    private var identity: [UInt8] {
        var hash = SHA256()
        func add(_ text: String) { hash.update(data: Array("\(text.utf8.count):\(text)".utf8)) }
        func add(_ draft: CommandDraft) { hash.update(data: UniqueKey.digest(of: draft)) }
        for node in nodes {
            add(node.name)
            add(node.draft)
            for parent in node.parents { add("\(parent.position) \(parent.condition.rawValue)") }
            add(node.mayFail ? "may fail" : "")
        }
        for callback in flow.callbacks {
            add(callback.condition.name)
            add(callback.draft)
        }
        return Array(hash.finalize())
    }
}

extension StoreError {
    static func noParent(_ id: CommandID) -> StoreError {
        StoreError(.notFound, "There is no command \(id) to wait for.", id: id)
    }

    /// Refuses a retry that would wait for a command which has ended.
    static func waits(_ row: StoredCommand, forRetryOf parent: StoredCommand) -> StoreError {
        let parent = parent.command
        let advice = parent.status == .success ? "it is not needed" : "retry that one, and this one follows"
        return StoreError(
            .conflict,
            "Command \(row.id) waits for \(parent.id), which has ended in status “\(parent.status.word)”; \(advice).",
            id: row.id)
    }

    static func waits(_ row: StoredCommand, for parent: RemoteDependencyRow) -> StoreError {
        let advice =
            switch parent.status {
            case nil: "it was removed"
            case .success?: "it has ended in status success, and this one is not needed"
            case let status?:
                "it has ended in status “\(status.word)”; retry that one, wait for its end, then retry this one"
            }
        return StoreError(.conflict, "Command \(row.id) waits for \(parent.parent): \(advice).", id: row.id)
    }

    /// Refuses a dependency on a command that has ended in another way.
    static func neverRuns(after parent: StoredCommand, _ condition: DependencyCondition) -> StoreError {
        StoreError(
            .invalid,
            "Command \(parent.id) has ended in status “\(parent.command.status.word)”, so a command that waits for its "
                + "\(condition.name) would never run.", id: parent.id)
    }
}

/// The flow that a submit made or found.
package struct FlowSubmission: Sendable, Equatable {
    package var submission: Submission
    /// Nodes that may run now, at most ``maxReady``; none for an existing flow.
    package var ready: [ReadyCommand] = []

    static let maxReady = 256
}
