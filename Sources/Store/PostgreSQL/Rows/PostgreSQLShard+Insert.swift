internal import Commands

/// A draft on its way to a shard.
struct PendingDraft: Sendable {
    /// Of the draft in its batch.
    var index: Int
    var draft: CommandDraft
    /// Drawn before the first attempt, so that a commit without an answer is found by it.
    var id: CommandID
    /// Nil without a unique key.
    var digest: [UInt8]?
    /// Its dependencies on commands of other shards.
    var remote: [RemoteDependency] = []
}

/// Inserts of commands, flows and batches.
extension PostgreSQLShard {
    /// Inserts drafts of this shard. A refused draft does not affect the others.
    func insert(_ drafts: [PendingDraft], now: Timestamp) throws(StoreError) -> [Result<Submission, StoreError>] {
        try loadHolders(of: drafts.compactMap(\.draft.unique))
        try loadKeys(of: drafts.map(\.draft))
        var parts: [CommandID: BatchPart?] = [:]
        var results: [Result<Submission, StoreError>] = []
        for pending in drafts {
            let submitted = pending.draft
            var draft = submitted
            if let found = try existing(draft, pending.digest, at: now) {
                results.append(found)
                continue
            }
            if let batch = draft.batch {
                if parts[batch] == nil { parts[batch] = .some(try part(of: batch)) }
                guard let part = parts[batch] ?? nil, part.state == .open else {
                    results.append(.failure(.cannotJoin(batch, parts[batch] ?? nil)))
                    continue
                }
                draft.qos = max(draft.qos, part.minQoS ?? draft.qos)
            }
            let result: Result<Submission, StoreError>
            if !draft.dependencies.isEmpty || draft.orderingKey != nil {
                result = try insert(related: draft, pending, now: now)
            } else {
                let turn = newTurn()
                insert(
                    StoredCommand(draft, digest: pending.digest, id: pending.id, turn: turn, now: now),
                    payload: draft.payload)
                result = .success(Submission(id: pending.id, isExisting: false, turn: turn))
            }
            results.append(result.with(draft.qos, for: submitted))
        }
        return results
    }

    /// Unless the transaction has read them for all its shards.
    private func loadKeys(of drafts: [CommandDraft]) throws(StoreError) {
        var closure = SubmitClosure()
        closure.add(drafts, to: self)
        try closure.load(transaction, shardCount: shardCount)
    }

    /// The answer to a draft whose unique key is held; nil where the key is free.
    private func existing(
        _ draft: CommandDraft, _ digest: [UInt8]?, at now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError>? {
        guard let unique = draft.unique, let holder = try holder(of: unique, at: now) else { return nil }
        guard holder.digest == digest else { return .failure(holder.conflict(over: unique.key)) }
        return .success(Submission(id: holder.id, isExisting: true))
    }

    private func insert(
        related draft: CommandDraft, _ pending: PendingDraft, now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError> {
        let remote = Set(pending.remote.map(\.parent))
        let parents = draft.dependencies.filter { !remote.contains($0.parent) }
        try load(parents.map(\.parent))
        var dependencies: [(parent: StoredCommand, state: DependencyRow.State, condition: DependencyCondition)] = []
        var flows: Set<Int64> = []
        for dependency in parents {
            guard let parent = try command(dependency.parent) else { return .failure(.noParent(dependency.parent)) }
            let node = parent.relations.contains(.node) ? try node(parent.command.turn) : nil
            let outcome = ParentOutcome(parent.command.status, node?.flags ?? [])
            let state = DependencyRow.State.initialState(dependency.condition, outcome)
            guard state != .unsatisfiable else { return .failure(.neverRuns(after: parent, dependency.condition)) }
            dependencies.append((parent, state, dependency.condition))
            if let flow = node?.flow { flows.insert(flow) }
        }
        let turn = newTurn()
        let open = dependencies.count { $0.state == .open } + pending.remote.openCount
        var row = StoredCommand(draft, digest: pending.digest, id: pending.id, turn: turn, now: now)
        if !draft.dependencies.isEmpty { row.relations.insert(.node) }
        if open > 0 { row.command.status = .blocked }
        var rows = self
        if let key = row.key, try !Lanes.enter(key, turn, limit: draft.keyLimit, &rows) {
            row.command.status = .blocked
        }
        insert(row, payload: draft.payload)
        if !draft.dependencies.isEmpty { try save(NodeRow(turn: turn, pending: open)) }
        try pending.remote.insert(for: row, &rows)
        for dependency in dependencies {
            try insert(
                DependencyRow(
                    parent: dependency.parent.command.turn, child: turn, condition: dependency.condition,
                    state: dependency.state))
            try markParent(dependency.parent.command.turn)
        }
        // A flow stays as long as a command outside of it depends on one of its nodes.
        for flow in flows.sorted() {
            try insert(DependencyRow(parent: flow, child: turn, condition: .end, state: .satisfied))
            try markParent(flow)
        }
        var submission = Submission(id: pending.id, isExisting: false, turn: turn)
        submission.isBlocked = row.command.status == .blocked
        return .success(submission)
    }

    /// From now on the end of a command is looked up in `dependency`.
    private func markParent(_ turn: Int64) throws(StoreError) {
        guard var row = try command(turn: turn), !row.relations.contains(.parent) else { return }
        row.relations.insert(.parent)
        save(row)
    }

    /// Inserts a flow, whose nodes get the next turns in the order of the plan.
    /// - Parameter ids: of the flow, of each node, and of each callback.
    func insert(
        _ plan: FlowPlan, digest: [UInt8]?, ids: [CommandID], now: Timestamp
    ) throws(StoreError) -> Result<FlowSubmission, StoreError> {
        let draft = plan.draft
        if let found = try existing(draft, digest, at: now) { return found.map { FlowSubmission(submission: $0) } }
        let turn = self.turn + 1
        try loadKeys(of: [draft])
        var rows = self
        let waits =
            try draft.orderingKey.map { key throws(StoreError) in
                try !Lanes.enter(key, turn, limit: draft.keyLimit, &rows)
            } ?? false
        let layout = FlowLayout(plan, draft, digest: digest, ids: ids, turn: turn, waits: waits, now: now)
        try insert(layout.members, counts: layout.flow)
        return .success(layout.submission)
    }

    func insert(_ layout: BatchLayout) throws(StoreError) {
        try insert(layout.members, counts: layout.counts)
        for part in layout.parts { try save(part) }
    }

    private func insert(_ members: [FlowLayout.Member], counts: FlowRow) throws(StoreError) {
        for member in members {
            insert(member.row, payload: member.payload)
            try save(member.node)
            for dependency in member.dependencies { try insert(dependency) }
        }
        try save(counts)
    }
}

/// Rows of schedules fire within a shard.
extension PostgreSQLShard: ScheduleRows {
    func find(_ id: CommandID) throws(StoreError) -> StoredCommand? { try command(id) }

    func insert(
        _ draft: CommandDraft, id: CommandID, now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError> {
        let pending = PendingDraft(index: 0, draft: draft, id: id, digest: draft.digest)
        return try insert([pending], now: now)[0]
    }

    func insert(
        _ plan: FlowPlan, ids: [CommandID], now: Timestamp
    ) throws(StoreError) -> Result<FlowSubmission, StoreError> {
        try insert(plan, digest: plan.draft.digest, ids: ids, now: now)
    }

    func cancel(
        _ row: StoredCommand, shard: Int, reason: String, now: Timestamp
    ) throws(StoreError) -> Effects {
        var row = row
        return cancel(&row, reason: reason, now: now)
    }

    /// Cancels a row that was read in this transaction, and saves it.
    func cancel(_ row: inout StoredCommand, reason: String, now: Timestamp) -> Effects {
        var effects = Effects()
        switch row.cancel(reason: reason, now: now, &changes) {
        case .cancelled(let transition): effects.events = [row.event(transition, shard: number)]
        case .requested: if row.command.status.isClaimed { effects.requests = [row.claimed] }
        case .ended: return effects
        }
        save(row)
        return effects
    }
}

/// An entry of the inbox on its way to a shard.
struct InboxMove {
    /// The end of a command that does not run.
    enum End {
        case deadLetter(String)
        case cancelled(String)
    }

    enum Outcome {
        case submitted(CommandDraft, Submission)
        case ended(CommandID, End)

        var id: CommandID {
            switch self {
            case .submitted(_, let submission): submission.id
            case .ended(let id, _): id
            }
        }
    }

    var number: Int64
    var draft: PendingDraft
    var end: End?

    var id: CommandID { draft.id }

    init(number: Int64, id: CommandID, _ draft: CommandDraft) {
        self.number = number
        self.draft = PendingDraft(index: 0, draft: draft, id: id, digest: draft.digest)
    }
}

extension PostgreSQLShard {
    /// Inserts the commands of entries of this shard, in their order.
    func insert(_ moves: [InboxMove], now: Timestamp) throws(StoreError) -> [InboxMove.Outcome] {
        let submitted = moves.filter { $0.end == nil }.map(\.draft.draft)
        try loadHolders(of: submitted.compactMap(\.unique))
        try load(
            submitted.flatMap(\.dependencies).map(\.parent).filter { $0.shard(of: shardCount) == number })
        return try moves.map { move throws(StoreError) in try insert(move, now: now) }
    }

    private func insert(_ move: InboxMove, now: Timestamp) throws(StoreError) -> InboxMove.Outcome {
        if let end = move.end { return insert(move, endedBy: end, now: now) }
        let draft = move.draft.draft
        switch try insert([move.draft], now: now)[0] {
        case .success(let submission):
            guard submission.isExisting else { return .submitted(draft, submission) }
            let reason = "an equal command, \(submission.id), holds its unique key “\(draft.uniqueKey ?? "")”"
            return insert(move, endedBy: .cancelled(reason), now: now)
        case .failure(let error):
            if error.isPassing { throw error }
            return insert(move, endedBy: .deadLetter(error.message), now: now)
        }
    }

    private func insert(_ move: InboxMove, endedBy end: InboxMove.End, now: Timestamp) -> InboxMove.Outcome {
        let (status, reason): (CommandStatus, String) =
            switch end {
            case .cancelled(let reason): (.cancelled, reason)
            case .deadLetter(let reason): (.tooManyTimes, reason)
            }
        let draft = move.draft.draft
        let row = StoredCommand(
            draft, digest: move.draft.digest, id: move.id, turn: newTurn(), endedAs: status, reason: reason, now: now)
        insert(row, payload: draft.payload)
        return .ended(move.id, end)
    }
}

extension StoreError {
    /// Whether it is of the server or of the moment, and not of the entry that is moved.
    var isPassing: Bool {
        switch code {
        case .busy, .unreachable, .unknown, .exhausted, .overloaded, .full, .permission, .moved, .backup, .missing,
            .foreign, .unsuitable:
            true
        case .failed, .corrupt, .invalid, .conflict, .notFound, .ambiguous: false
        }
    }
}
