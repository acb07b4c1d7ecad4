package import Commands

extension PostgreSQLStore {
    private static let shardsToPrune = PostgreSQLStatement(
        "shards-to-prune",
        """
        SELECT DISTINCT shard FROM ended WHERE id < $1 AND status = ANY($2::int8[]::int2[]) AND updated_at < $3
        """)

    package func shardsToPrune(before: Timestamp, statuses: Set<CommandStatus>) throws(StoreError) -> [Int] {
        guard !isClockHeld else { return [] }
        // These are in another table.
        guard !statuses.contains(.inDoubt) else { return Array(0..<shardCount) }
        var filter = CommandFilter()
        filter.before = before
        let (end, codes) = (filter.idBounds.upper, statuses.map(\.rawValue).sorted())
        return try read { transaction throws(StoreError) in
            try transaction.read(Self.shardsToPrune, end, codes, before).rows { row in row[0] as Int }
        }
    }

    package func prune(
        shard number: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int
    ) throws(StoreError) -> PruneResult {
        try check(number)
        guard !isClockHeld, limit > 0 else { return PruneResult() }
        let rules = PruneRules(before: before, statuses: statuses, now: clock.now())
        // The search holds no lock, so that no write waits for it.
        let candidates = try snapshot(shard: number) { shard throws(StoreError) in
            try shard.search(rules, limit: limit)
        }
        guard !candidates.isEmpty else { return PruneResult() }
        return try change(shard: number, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            try shard.load(candidates.map(\.id))
            var pruning = Pruning(shard, rules, limit: limit)
            for candidate in candidates {
                // Unless it has changed since the search.
                guard let row = try shard.command(candidate.id), row.newestSeq == candidate.newestSeq else { continue }
                try pruning.prune(row)
            }
            try pruning.finish()
            return pruning.result
        }.0
    }
}

/// Which commands are old.
private struct PruneRules {
    var before: Timestamp
    var statuses: Set<CommandStatus>
    /// The time of the call.
    var now: Timestamp

    func admits(_ row: StoredCommand) -> Bool {
        row.command.status.isEnd && statuses.contains(row.command.status) && row.command.updatedAt < before
    }
}

extension StoredCommand {
    /// It is in doubt or given up, and holds its ordering key.
    fileprivate var isHolder: Bool { holdsKey || key != nil && command.status == .inDoubt }
}

extension PostgreSQLShard {
    /// Those that ended before a time were submitted before it, and their ids have the times of the submits.
    private static let oldEnded = PostgreSQLStatement(
        "old-ended",
        """
        SELECT \(CommandSQL.columns) FROM (
            SELECT * FROM ended WHERE id > $2 AND id < $3 AND shard = $1 AND status = ANY($4::int8[]::int2[])
            AND updated_at < $5 ORDER BY id LIMIT $6) s
        JOIN LATERAL (SELECT * FROM command WHERE id = s.id LIMIT 1) c ON true ORDER BY s.id
        """)
    private static let oldDoubts = PostgreSQLStatement(
        "old-doubts",
        """
        SELECT \(CommandSQL.columns) FROM (
            SELECT * FROM parked WHERE shard = $1 AND dead_at IS NOT NULL AND dead_at < $2 ORDER BY dead_at LIMIT $3) s
        JOIN LATERAL (SELECT * FROM command WHERE id = s.id LIMIT 1) c ON true
        """)

    /// Searches for commands that may be deleted now, the oldest first.
    fileprivate func search(_ rules: PruneRules, limit: Int) throws(StoreError) -> [StoredCommand] {
        var filter = CommandFilter()
        filter.before = rules.before
        let end = filter.idBounds.upper
        var last = CommandID(high: 0, low: 0)
        var found: [StoredCommand] = []
        let statuses = rules.statuses.map(\.rawValue).sorted()
        while found.count < limit {
            let page = try transaction.read(Self.oldEnded, number, last, end, statuses, rules.before, limit).rows {
                row throws(StoreError) in try StoredCommand(row)
            }
            know(page.map(\.id), page)
            for row in page where found.count < limit {
                if let candidate = try deletable(row, rules) { found.append(candidate) }
            }
            guard page.count == limit, let next = page.last?.id else { break }
            last = next
        }
        if rules.statuses.contains(.inDoubt), found.count < limit {
            let rest = limit - found.count
            let doubts = try transaction.read(Self.oldDoubts, number, rules.before, rest).rows {
                row throws(StoreError) in
                try StoredCommand(row)
            }
            know(doubts.map(\.id), doubts)
            for row in doubts { if let candidate = try deletable(row, rules) { found.append(candidate) } }
        }
        return found
    }

    /// A command that has ended, or the flow whose callback it is.
    /// - Returns: nil where it is not deleted yet, but with its flow or with the last command that depends on it.
    private func deletable(_ row: StoredCommand, _ rules: PruneRules) throws(StoreError) -> StoredCommand? {
        guard row.relations.contains(.member) else {
            if row.isHolder { return row }
            return try isNeeded(row) ? nil : row
        }
        // A callback may end long after its flow.
        guard let flow = try node(row.command.turn)?.flow,
            try dependencies(of: row.command.turn, after: flow - 1, limit: 1).first?.parent == flow,
            let owner = try command(turn: flow), rules.admits(owner), try !isNeeded(owner)
        else { return nil }
        return owner
    }

    /// Whether other commands depend on one. A flow is also needed until its callbacks have ended.
    fileprivate func isNeeded(_ row: StoredCommand) throws(StoreError) -> Bool {
        let turn = row.command.turn
        guard row.relations.isComposite else {
            guard row.relations.contains(.parent) else { return false }
            return try !dependants(of: turn, after: 0, limit: 1).isEmpty
        }
        var last: Int64 = 0
        while true {
            let page = try dependants(of: turn, after: last, limit: 16)
            for dependency in page {
                guard try node(dependency.child)?.flow == turn,
                    try command(turn: dependency.child)?.command.status.isEnd ?? true
                else { return true }
                last = dependency.child
            }
            if page.count < 16 { return false }
        }
    }
}

/// Deletes commands within a transaction.
private struct Pruning {
    private enum Outcome {
        case deleted
        /// It is deleted later, with its flow or with the last command that depends on it.
        case passed
        /// It held its ordering key, and is cancelled.
        case cancelled
        /// Its remains are removed first.
        case held
        /// The batch is full.
        case incomplete
    }

    let shard: PostgreSQLShard
    let rules: PruneRules
    let limit: Int
    var result = PruneResult()
    private var gone: [StoredCommand] = []

    init(_ shard: PostgreSQLShard, _ rules: PruneRules, limit: Int) {
        (self.shard, self.rules, self.limit) = (shard, rules, limit)
    }

    /// Deletes a command, and its parents that nothing else depends on.
    mutating func prune(_ candidate: StoredCommand) throws(StoreError) {
        var work = [candidate]
        while let next = work.popLast() {
            let parents =
                next.relations.contains(.node) ? try shard.dependencies(of: next.command.turn).map(\.parent) : []
            let outcome: Outcome = result.count < limit ? try delete(next) : .incomplete
            switch outcome {
            case .deleted: break
            case .passed, .incomplete: continue
            case .cancelled:
                result.hasMoved = true
                continue
            case .held:
                result.held += 1
                continue
            }
            for turn in parents {
                guard let row = try shard.command(turn: turn), !row.relations.contains(.member), rules.admits(row)
                else { continue }
                work.append(row)
            }
        }
    }

    private mutating func delete(_ row: StoredCommand) throws(StoreError) -> Outcome {
        if row.relations.contains(.member) { return .passed }
        if row.isHolder {
            var holder = row
            if holder.cancelHolder(now: rules.now, &shard.changes) {
                shard.save(holder)
                return .cancelled
            }
        }
        if try shard.isNeeded(row) { return .passed }
        if row.relations.isComposite { return try delete(flow: row) }
        if try hasten(row.id) { return .held }
        try remove(row)
        return .deleted
    }

    /// Deletes a flow, its nodes first.
    private mutating func delete(flow: StoredCommand) throws(StoreError) -> Outcome {
        if try hasten(flow.id) { return .held }
        while true {
            // Children before their parents.
            let turns = try shard.transaction.read(
                Self.lastNodes, shard.number, flow.command.turn, max(limit - result.count, 1)
            ).rows { row in row[0] as Int64 }
            if turns.isEmpty { break }
            for turn in turns {
                if let row = try shard.command(turn: turn), try hasten(row.id) { return .held }
            }
            for turn in turns {
                if let row = try shard.command(turn: turn) {
                    try remove(row)
                } else {
                    try removeRelations(of: turn)
                }
            }
            if result.count >= limit { return .incomplete }
        }
        try remove(flow)
        return .deleted
    }

    private mutating func remove(_ row: StoredCommand) throws(StoreError) {
        if !row.relations.subtracting(.batchMember).isEmpty { try removeRelations(of: row.command.turn) }
        gone.append(row)
        shard.forget(row)
        result.count += 1
    }

    private static let lastNodes = PostgreSQLStatement(
        "last-nodes", "SELECT turn FROM node WHERE shard = $1 AND flow = $2 ORDER BY turn DESC LIMIT $3")
    /// Makes the leftover of a command that is to be deleted due at once.
    private static let hasten = PostgreSQLStatement("hasten-leftover", "UPDATE leftover SET due = 0 WHERE id = $1")

    /// - Returns: false where the command has no leftover.
    private func hasten(_ id: CommandID) throws(StoreError) -> Bool {
        try shard.transaction.read(Self.hasten, id).affectedRows > 0
    }

    private static let relations = [
        "node WHERE shard = $1 AND turn = $2", "dependency WHERE shard = $1 AND child = $2",
        "dependency WHERE shard = $1 AND parent = $2", "flow WHERE shard = $1 AND turn = $2",
        "remote_dependency WHERE shard = $1 AND child = $2", "remote_dependant WHERE shard = $1 AND parent = $2",
    ].enumerated().map { PostgreSQLStatement("remove-relations-\($0.offset)", "DELETE FROM \($0.element)") }

    private func removeRelations(of turn: Int64) throws(StoreError) {
        for statement in Self.relations { try shard.transaction.write(statement, shard.number, turn) }
    }

    // MARK: The end

    private static let payloads = PostgreSQLStatement(
        "payloads", "SELECT payload FROM command WHERE id = ANY($1::uuid[])")
    private static let tables = ["command", "ready", "parked", "running", "ended", "result", "kept"].map {
        PostgreSQLStatement("prune-\($0)", "DELETE FROM \($0) WHERE id = ANY($1::uuid[])")
    }
    private static let keys = PostgreSQLStatement(
        "prune-keys",
        """
        DELETE FROM taken WHERE ctid = ANY(ARRAY(
            SELECT t.ctid
            FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) w(type, ordering_key, unique_key, id)
            JOIN LATERAL (SELECT ctid, id FROM taken x WHERE x.type = w.type AND x.ordering_key = w.ordering_key
                AND x.unique_key = w.unique_key LIMIT 1) t ON t.id = w.id))
        """)
    private static let related = PostgreSQLStatement(
        "prune-related", "DELETE FROM related WHERE shard = $1 AND turn = ANY($2::int8[])")
    /// Follows `previous` from the newest transition of each command.
    private static let transitions = PostgreSQLStatement(
        "prune-transitions",
        """
        WITH RECURSIVE t AS (
            SELECT w.id, w.last AS seq FROM unnest($2::uuid[], $3::int8[]) w(id, last)
            UNION ALL
            SELECT t.id, n.previous FROM t JOIN LATERAL (
                SELECT previous FROM transition x WHERE x.shard = $1 AND x.seq = t.seq AND x.id = t.id LIMIT 1) n ON true)
        DELETE FROM transition WHERE shard = $1 AND seq = ANY(ARRAY(SELECT seq FROM t WHERE seq > 0))
        """)
    /// A number is not given again, also where the newest transition is deleted.
    private static let raiseFloor = PostgreSQLStatement(
        "raise-floor",
        """
        INSERT INTO pruned AS p (shard, seq) VALUES ($1, $2)
        ON CONFLICT (shard) DO UPDATE SET seq = greatest(p.seq, excluded.seq)
        """)

    mutating func finish() throws(StoreError) {
        guard !gone.isEmpty else { return }
        let transaction = shard.transaction
        let abandoned = gone.filter { $0.command.status != .success }.map(\.id)
        if !abandoned.isEmpty {
            result.abandoned = try transaction.read(Self.payloads, abandoned).rows { row in row[0] as [UInt8] }
        }
        let ids = gone.map(\.id)
        for statement in Self.tables { try transaction.write(statement, ids) }
        let holders = gone.compactMap { row in row.unique.map { (key: $0, id: row.id) } }
        if !holders.isEmpty {
            try transaction.write(
                Self.keys, holders.map(\.key.type), holders.map(\.key.orderingKey), holders.map(\.key.key),
                holders.map(\.id))
        }
        let related = gone.filter { !$0.relations.isEmpty }.map(\.command.turn)
        if !related.isEmpty { try transaction.write(Self.related, shard.number, related) }
        try transaction.write(Self.transitions, shard.number, ids, gone.map(\.newestSeq))
        try transaction.write(Self.raiseFloor, shard.number, gone.map(\.newestSeq).max() ?? 0)
    }
}
