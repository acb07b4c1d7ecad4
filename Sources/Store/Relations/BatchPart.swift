internal import Commands

/// A row of `batch_part`: the members of a batch in one shard. They have no rows but their own; their ends are counted
/// here, once a transaction.
struct BatchPart: Sendable, Equatable {
    enum State: Int, Sendable {
        /// Members may be added.
        case open = 0
        case sealed = 1
        /// The batch is cancelled.
        case cancelled = 2
        /// The batch is told of the end.
        case ended = 3
    }

    /// In the shard.
    var number: Int64 = 0
    var batch: CommandID
    /// Members in all, without those that the batch was told of.
    var members = 0
    /// Members that have not ended.
    var open = 0
    /// Members that have ended in `tooManyTimes` or `cancelled`, less the failures that the batch was told of and that are
    /// retried.
    var failed = 0
    var state: State = .open
    /// Of its members, because an urgent command waits for the batch; nil where none does.
    var minQoS: QualityOfService?

    /// Lets no more members in.
    static func seal<Rows: RelationRows>(
        _ batch: CommandID, shard: Int, _ rows: inout Rows
    ) throws(StoreError) {
        guard var part = try rows.part(of: batch), part.state == .open else { return }
        part.state = .sealed
        try rows.save(part)
        try end(part, shard: shard, &rows)
    }

    /// Counts changes of members.
    static func count<Rows: RelationRows>(
        _ change: TransactionChanges.Members, of batch: CommandID, shard: Int, _ rows: inout Rows
    ) throws(StoreError) {
        guard var part = try rows.part(of: batch), part.state != .ended else {
            return try reopen(batch, retried: -change.ended, shard: shard, &rows)
        }
        part.members += change.added
        part.open += change.added - change.ended
        part.failed += change.failed
        try rows.save(part)
        try end(part, shard: shard, &rows)
    }

    /// Members are retried after the batch was told of the end of this part. The batch takes their failures back and waits
    /// for them again.
    private static func reopen<Rows: RelationRows>(
        _ batch: CommandID, retried: Int, shard: Int, _ rows: inout Rows
    ) throws(StoreError) {
        guard retried > 0 else { return }
        if try rows.part(of: batch) == nil { try rows.save(BatchPart(batch: batch)) }
        guard var part = try rows.part(of: batch) else { return }
        (part.members, part.open, part.failed, part.state) = (retried, retried, 0, .sealed)
        try rows.save(part)
        try rows.post(
            ShardMessage(
                receiver: batch, sender: batch.part(in: shard),
                content: .partEnded(members: -retried, failed: -retried)))
    }

    /// Tells the batch where the last member has ended and no more can come.
    static func end<Rows: RelationRows>(_ part: BatchPart, shard: Int, _ rows: inout Rows) throws(StoreError) {
        guard part.state == .sealed || part.state == .cancelled, part.open == 0 else { return }
        var part = part
        part.state = .ended
        try rows.save(part)
        try rows.post(
            ShardMessage(
                receiver: part.batch, sender: part.batch.part(in: shard),
                content: .partEnded(members: part.members, failed: part.failed)))
    }
}

extension CommandID {
    /// The sender of what the part of this batch in a shard tells.
    func part(in shard: Int) -> CommandID { CommandID(high: high, low: low & ~0xFF | UInt64(shard & 0xFF)) }
}

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

/// Reads a batch: what its row has been told, and the parts that have not told yet. Pure.
struct BatchReading {
    private(set) var state: BatchState
    /// By shard: it has not told its end.
    private let openParts: [Bool]

    /// Nil where `row` is not a batch.
    init?<Rows: RelationRows>(_ row: StoredCommand, shardCount: Int, _ rows: inout Rows) throws(StoreError) {
        guard row.relations.contains(.batch), let counts = try rows.flow(row.command.turn) else { return nil }
        let payload = try rows.payload(of: row.id).flatMap { try? JSONValue(parsing: $0) }
        state = BatchState(
            command: row.command, name: payload?["name"]?.string ?? "", isSealed: true, members: counts.nodes, open: 0,
            failed: counts.failed)
        let told = Set(
            try rows.remoteDependencies(of: row.command.turn).filter { $0.state == .satisfied }.map(\.parent))
        openParts = (0..<shardCount).map { !told.contains(row.id.part(in: $0)) }
    }

    func isOpen(shard: Int) -> Bool { openParts[shard] }

    /// Adds a part that has not told its end.
    mutating func add(_ part: BatchPart?) {
        guard let part else { return }
        state.members += part.members
        state.open += part.open
        state.failed += part.failed
        if part.state == .open { state.isSealed = false }
    }
}

/// The effects on batches and their members.
extension Settlements {
    /// A part has ended; or, with negative numbers, members of it are retried.
    mutating func receivePartEnd(_ message: ShardMessage, members: Int, failed: Int) throws(StoreError) {
        let isReopened = members < 0
        guard let batch = try rows.command(message.receiver),
            var dependency = try rows.remoteDependency(of: batch.command.turn, on: message.sender),
            dependency.state == (isReopened ? .satisfied : .open), message.number > dependency.lastMessage,
            var counts = try rows.flow(batch.command.turn)
        else { return }
        dependency.state = isReopened ? .open : .satisfied
        dependency.lastMessage = message.number
        try rows.save(dependency)
        counts.nodes += members
        counts.failed += failed
        try rows.save(counts)
        if isReopened { try reopen(batch) } else { satisfied[batch.command.turn, default: 0] += 1 }
    }

    /// The batch waits for one part more.
    private mutating func reopen(_ batch: StoredCommand) throws(StoreError) {
        guard var row = try rows.command(turn: batch.command.turn), var node = try rows.node(batch.command.turn) else {
            return
        }
        node.pending += 1
        try rows.save(node)
        guard row.command.status == .cancelled || row.command.status == .tooManyTimes else { return }
        let transition = row.block(reason: "one of its members is retried", now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
    }

    /// The members in all shards have ended.
    mutating func endBatch(_ row: inout StoredCommand) throws(StoreError) {
        guard let counts = try rows.flow(row.command.turn) else { return }
        let reason = counts.failed > 0 ? "\(counts.failed) of \(counts.nodes) members failed" : nil
        let transition = row.endFlow(failed: counts.failed, reason: reason, now: now, &rows.changes)
        try rows.save(row)
        effects.events.append(row.event(transition, shard: shard))
    }

    /// A batch is cancelled: each shard is told.
    mutating func cancelParts(of turn: Int64) throws(StoreError) {
        guard let batch = try rows.command(turn: turn) else { return }
        for part in try rows.remoteDependencies(of: turn) where part.state == .open {
            try rows.post(ShardMessage(receiver: part.parent, sender: batch.id, content: .cancelPart))
        }
    }

    mutating func cancelMembers(_ cascade: CascadeRow) throws(StoreError) {
        // The number may be another part's since.
        guard let part = try rows.part(cascade.turn), part.state == .cancelled else { return }
        let page = try rows.members(of: part.batch, after: cascade.after, limit: pageSize)
        try step(cascade, over: page) { (self, turn) throws(StoreError) in
            try self.requestCancellation(turn, reason: StoredCommand.batchCancelled)
        }
    }
}
