internal import Commands
internal import Crypto

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
