internal import Commands

/// The rows of a new batch in the shard of its id. Pure: both stores insert them.
struct BatchLayout {
    /// The batch, then its callbacks, with ascending turns.
    let members: [FlowLayout.Member]
    let counts: FlowRow
    /// One for each shard: it waits for its parts.
    let parts: [RemoteDependencyRow]

    /// - Parameter ids: of the batch, and of each callback.
    init(_ batch: BatchDraft, ids: [CommandID], turn: Int64, shardCount: Int, now: Timestamp) {
        let draft = batch.draft
        var row = StoredCommand(draft, digest: nil, id: ids[0], turn: turn, now: now)
        row.relations = batch.callbacks.isEmpty ? [.node, .batch] : [.node, .batch, .parent]
        row.command.status = .blocked
        let own = FlowLayout.Member(
            row: row, payload: draft.payload, node: NodeRow(turn: turn, name: nil, pending: shardCount),
            dependencies: [])
        let callbacks = batch.callbacks.enumerated().map { position, callback in
            FlowLayout.member(
                callback, id: ids[position + 1], turn: turn + 1 + Int64(position), of: turn, outcome: nil, now: now)
        }
        members = [own] + callbacks
        counts = FlowRow(turn: turn, nodes: 0, failed: 0, stopsOnFailure: false)
        parts = (0..<shardCount).map {
            RemoteDependencyRow(child: turn, parent: ids[0].part(in: $0), condition: .end, state: .open)
        }
    }
}

extension BatchDraft {
    /// The command that is the batch.
    var draft: CommandDraft {
        let payload = JSONValue.object([.init("name", .string(name))])
        var draft = CommandDraft(
            type: CommandType.batch, payload: payload.bytes, destination: .none, qos: qos, idempotent: true)
        draft.deadline = deadline
        return draft
    }

    /// Why every store refuses it; nil where it is valid.
    var problem: StoreError? {
        if Set(callbacks.map(\.condition)).count < callbacks.count {
            return StoreError(
                .invalid, "Two callbacks of a batch have one condition; let the second wait for the first.")
        }
        for callback in callbacks {
            let draft = callback.draft
            if let problem = draft.problem { return problem }
            if draft.uniqueKey != nil || draft.orderingKey != nil || !draft.dependencies.isEmpty || draft.batch != nil {
                return StoreError(
                    .invalid, "A callback of a batch has no key, no batch and no other parents; it waits for its batch."
                )
            }
        }
        return nil
    }
}
