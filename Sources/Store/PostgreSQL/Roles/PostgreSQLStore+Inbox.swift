package import Commands
internal import Host
internal import Synchronization

/// The inbox, whose entries ``PostgreSQLSchema/inbox(in:)`` makes.
extension PostgreSQLStore {
    /// Where a look at the recent entries begins.
    ///
    /// A call draws a greater number than any that was seen before it. So the calls after a look have greater numbers than that
    /// look has seen, whenever their transactions commit.
    struct InboxMarks {
        private var newest: Int64 = 0
        /// The newest number at the last look at the whole inbox, and at the one before.
        private var last: Int64 = 0
        private(set) var beforeLast: Int64 = 0
        private var lastLook: MonotonicTime?

        /// Between two looks at the whole inbox that count.
        private static let interval: Duration = .seconds(5)

        mutating func looked(_ look: InboxLook, newest number: Int64?, now: MonotonicTime) {
            newest = max(newest, number ?? 0)
            guard look == .whole, lastLook.map({ now - $0 >= Self.interval }) ?? true else { return }
            (beforeLast, last, lastLook) = (last, newest, now)
        }
    }

    private struct InboxRow {
        var number: Int64
        var entry: InboxEntry
        var isOrdered: Bool
    }

    /// Bytes of payloads in one look. A single larger payload is taken too.
    private static let maxBytes = 8 << 20

    private static let page = PostgreSQLStatement(
        "inbox-page",
        """
        SELECT number, id, type, payload, options, is_ordered FROM (
            SELECT *, sum(octet_length(payload)) OVER (ORDER BY number) - octet_length(payload) AS bytes_before
            FROM (SELECT * FROM inbox WHERE number > $1 ORDER BY number LIMIT $2) entry) entry
        WHERE bytes_before < $3 ORDER BY number
        """)
    private static let take = PostgreSQLStatement(
        "inbox-take", "DELETE FROM inbox WHERE number = ANY($1::int8[]) RETURNING number")

    package var hasInbox: Bool { true }

    private static let isIn = PostgreSQLStatement("in-inbox", "SELECT 1 FROM inbox WHERE id = $1 LIMIT 1")

    /// Reads the inbox until it is found: of a person or a program that looks for one command.
    package func isInInbox(_ id: CommandID) throws(StoreError) -> Bool {
        try read { transaction throws(StoreError) in try transaction.read(Self.isIn, id).count > 0 }
    }

    package func moveInbox(
        _ look: InboxLook, limit: Int, _ check: ([InboxEntry]) throws(StoreError) -> [InboxVerdict]
    ) throws(StoreError) -> InboxRound {
        let rows = try inboxPage(look, limit: max(limit, 1))
        var round = InboxRound()
        guard !rows.isEmpty else { return round }
        let verdicts = try check(rows.map(\.entry))
        guard verdicts.count == rows.count else {
            throw StoreError(.failed, "\(rows.count) entries of the inbox have \(verdicts.count) verdicts.")
        }
        let now = clock.now()
        for part in parts(of: try moves(of: rows, verdicts, now: now)) {
            round.add(part, to: self, now: now)
            // The next part waits for this one.
            if round.problem?.isPassing == true { break }
        }
        let bytes = rows.reduce(0) { $0 + $1.entry.payload.count }
        round.hasMore = round.problem == nil && (rows.count == limit || bytes >= Self.maxBytes)
        return round
    }

    private func inboxPage(_ look: InboxLook, limit: Int) throws(StoreError) -> [InboxRow] {
        let mark = look == .whole ? 0 : inboxMarks.withLock { $0.beforeLast }
        let rows = try read { transaction throws(StoreError) in
            try transaction.read(Self.page, mark, limit, Self.maxBytes).rows { row in
                InboxRow(
                    number: row[0],
                    entry: InboxEntry(
                        id: row[1], type: row[2], payload: row[3], options: Array((row[4] as String).utf8)),
                    isOrdered: row[5])
            }
        }
        // An older transaction may have committed the command before it in the order of its key, or its parent.
        if mark > 0, rows.contains(where: \.isOrdered) { return try inboxPage(.whole, limit: limit) }
        inboxMarks.withLock { $0.looked(mark > 0 ? .recent : .whole, newest: rows.last?.number, now: .now) }
        return rows
    }

    // MARK: Moves

    private func moves(
        of rows: [InboxRow], _ verdicts: [InboxVerdict], now: Timestamp
    ) throws(StoreError) -> [InboxMove] {
        let drafts = verdicts.compactMap { if case .draft(let draft) = $0 { draft } else { nil } }
        let limits = LimitCheck(drafts, in: self)
        var known = knownTypes.withLock { $0 }
        if drafts.contains(where: { !known.contains($0.type) }) { known = try types() }
        return try zip(rows, verdicts).map { row, verdict throws(StoreError) in
            switch verdict {
            case .draft(let draft):
                var move = InboxMove(number: row.number, id: row.entry.id, draft)
                move.end = try Self.end(of: draft, limits, known: known, now: now)
                // The text that PostgreSQL cannot keep is not kept.
                if draft.textProblem != nil { move.draft.draft.destination = .none }
                return move
            case .refused(let reason, let draft):
                var move = InboxMove(number: row.number, id: row.entry.id, draft)
                move.end = .deadLetter(reason)
                return move
            }
        }
    }

    /// Why a draft is not submitted; nil where it is.
    /// - Throws: where its rate limit cannot be looked up.
    private static func end(
        of draft: CommandDraft, _ limits: LimitCheck, known: Set<String>, now: Timestamp
    ) throws(StoreError) -> InboxMove.End? {
        if let problem = draft.problem ?? draft.dependencyProblem ?? limits.problem(of: draft) ?? draft.textProblem {
            if problem.isPassing { throw problem }
            return .deadLetter(problem.message)
        }
        if let deadline = draft.deadline, deadline <= now {
            return .cancelled("its deadline passed before the coordinator had taken it in")
        }
        if let problem = draft.timeProblem(now: now) { return .deadLetter(problem.message) }
        guard known.contains(draft.type) else {
            return .deadLetter(StoreError.unknownType(draft.type, known: known).message)
        }
        return nil
    }

    /// The parts of a page that are moved one after the other: a parent is committed before a command of another shard looks for
    /// it. Within a shard the order of the moves is enough.
    private func parts(of moves: [InboxMove]) -> [[InboxMove]] {
        var parts: [[InboxMove]] = [[]]
        var ids: Set<CommandID> = []
        for move in moves {
            let shard = move.id.shard(of: shardCount)
            let waits = move.draft.draft.dependencies.contains {
                ids.contains($0.parent) && $0.parent.shard(of: shardCount) != shard
            }
            if waits {
                parts.append([])
                ids = []
            }
            parts[parts.count - 1].append(move)
            ids.insert(move.id)
        }
        return parts
    }

    /// Moves that share a commit. A commit locks at most a quarter of the shards, so that submits find a free one.
    fileprivate func commits(of moves: [InboxMove]) -> [[InboxMove]] {
        let maxShards = max(shardCount / 4, 1)
        let shards = Set(moves.map { $0.id.shard(of: shardCount) }).sorted()
        let commits = Dictionary(uniqueKeysWithValues: shards.enumerated().map { ($1, $0 / maxShards) })
        return Dictionary(grouping: moves) { commits[$0.id.shard(of: shardCount)] ?? 0 }
            .sorted { $0.key < $1.key }.map(\.value)
    }

    /// Makes the moves of one commit. After a commit without an answer, the ids show whether it was made.
    fileprivate func commit(
        _ moves: [InboxMove], now: Timestamp
    ) throws(StoreError) -> (outcomes: [InboxMove.Outcome], effects: Effects) {
        var moves = moves
        for index in moves.indices where moves[index].end == nil { try findParents(of: &moves[index]) }
        var outcomes: [InboxMove.Outcome] = []
        while true {
            do throws(StoreError) {
                let (_, effects) = try change(
                    Set(moves.map { $0.id.shard(of: shardCount) }), timeout: WriteTimeout.background
                ) { change throws(StoreError) in
                    let taken = Set(
                        try change.transaction.read(Self.take, moves.map(\.number)).rows { row in row[0] as Int64 })
                    // Another coordinator has moved the others.
                    let own = Dictionary(grouping: moves.filter { taken.contains($0.number) }) {
                        $0.id.shard(of: shardCount)
                    }
                    outcomes = []
                    for (shard, moves) in own { outcomes += try change.shard(shard).insert(moves, now: now) }
                }
                return (outcomes, effects)
            } catch {
                guard error.code == .unknown else { throw error }
                if try exist(outcomes.map(\.id)) { return (outcomes, Effects()) }
            }
        }
    }

    private func findParents(of move: inout InboxMove) throws(StoreError) {
        do throws(StoreError) {
            move.draft.remote = try move.draft.draft.remoteDependencies(shardCount: shardCount) {
                id throws(StoreError) in
                try snapshot(shard: id.shard(of: shardCount)) { shard throws(StoreError) in
                    var rows = shard
                    return try RemoteParent(id, &rows)
                }
            }
        } catch {
            if error.isPassing { throw error }
            move.end = .deadLetter(error.message)
        }
    }
}

extension InboxRound {
    /// Moves in which one entry fails alone, before the others are left for the next round.
    private static let maxFailures = 8

    /// Moves entries. One that a commit fails for is moved alone, and is a dead letter where it fails again.
    fileprivate mutating func add(_ moves: [InboxMove], to store: PostgreSQLStore, now: Timestamp) {
        var failures = 0
        for commit in store.commits(of: moves) {
            guard let error = add(commit: commit, to: store, now: now) else { continue }
            if error.isPassing {
                problem = error
                continue
            }
            for move in commit where failures < Self.maxFailures {
                guard let error = commit.count == 1 ? error : add(commit: [move], to: store, now: now) else { continue }
                var refused = move
                refused.end = .deadLetter(error.message)
                guard let error = add(commit: [refused], to: store, now: now) else { continue }
                problem = error
                failures += 1
            }
        }
    }

    /// - Returns: why the commit was not made.
    private mutating func add(commit moves: [InboxMove], to store: PostgreSQLStore, now: Timestamp) -> StoreError? {
        do throws(StoreError) {
            let (outcomes, effects) = try store.commit(moves, now: now)
            changed += effects.ready.map(\.id)
            for outcome in outcomes {
                ids.append(outcome.id)
                switch outcome {
                case .submitted(let draft, let submission):
                    accepted.append(draft.type)
                    if let command = draft.ready(submission, now: now) { ready.append(command) }
                case .ended(let id, .deadLetter(let reason)): refused.append((id, reason))
                case .ended(_, .cancelled): break
                }
            }
            return nil
        } catch {
            return error
        }
    }
}
