package import Commands
internal import Host

extension SQLiteStore {
    package func submit(_ plan: FlowPlan, allowUnknownTypes: Bool) throws(StoreError) -> FlowSubmission {
        let now = clock.now()
        let draft = plan.draft
        if let problem = draft.problem ?? plan.problem ?? plan.timeProblem(now: now) { throw problem }
        try LimitCheck(plan.drafts, in: self).check(plan)
        var random = BufferedRandom()
        let ids = router.newIDs(
            1 + plan.nodes.count + plan.flow.callbacks.count, draft.shardByte, among: usable, now: now, using: &random)
        let shard = shards[ids[0].shard(of: shardCount)]
        try shard.checkWALLimit(timeout: WriteTimeout.foreground)
        return try shard.write { connection throws(StoreError) in
            try connection.insert(
                plan, draft, digest: draft.digest, ids: ids, allowUnknownTypes: allowUnknownTypes, now: now)
        }.get()
    }

    package func relationProblems(shard: Int) throws(StoreError) -> [String] {
        try self.shard(shard).withOwnConnection { connection throws(StoreError) in
            guard connection.version >= 3 else { return [] }
            // One read transaction: the numbers are of one moment.
            try connection.execute("BEGIN")
            defer { connection.rollback() }
            return try connection.relationProblems()
        }
    }

    /// Whether each shard can be used, as far as known.
    var usable: [Bool] { shards.map { $0.problem == nil } }

    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        let shard = try self.shard(shard)
        let isLeft = try shard.use { connection throws(StoreError) in
            guard connection.version >= 3 else { return false }
            return try connection.cascade() != nil
        }
        guard isLeft else { return Effects() }
        return try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
            try connection.settlePostponed(now: clock.now(), limit: limit)
        }
    }
}

/// Inserts of commands that wait for others, or have an ordering key.
extension Connection {
    /// Inserts a command that waits for parents, or has an ordering key.
    func insert(
        related draft: CommandDraft, _ pending: SQLiteStore.PendingInsert, turn: Int64, now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError> {
        if let problem = try prepareForRelations() { return .failure(problem) }
        var dependencies: [DependencyRow] = []
        let remote = Set(pending.remote.map(\.parent))
        for dependency in draft.dependencies where !remote.contains(dependency.parent) {
            guard let parent = try find(dependency.parent) else {
                return .failure(.noParent(dependency.parent))
            }
            let flags = try parent.relations.contains(.node) ? node(parent.command.turn)?.flags ?? [] : []
            switch DependencyRow.State.initialState(dependency.condition, ParentOutcome(parent.command.status, flags)) {
            case .unsatisfiable: return .failure(.neverRuns(after: parent, dependency.condition))
            case let state:
                dependencies.append(
                    DependencyRow(
                        parent: parent.command.turn, child: turn, condition: dependency.condition, state: state))
            }
        }
        let open = dependencies.count { $0.state == .open } + pending.remote.openCount
        var row = StoredCommand(draft, digest: pending.digest, id: pending.id, turn: turn, now: now)
        if !draft.dependencies.isEmpty { row.relations.insert(.node) }
        if open > 0 { row.command.status = .blocked }
        var rows = self
        if let key = row.key, try !Lanes.enter(key, turn, limit: draft.keyLimit, &rows) {
            row.command.status = .blocked
        }
        row.recordCreation(&changes)
        var inserted = [(row, payload: draft.payload)]
        try insert(&inserted, areRelated: true)
        if !draft.dependencies.isEmpty { try insert(NodeRow(turn: turn, pending: open)) }
        try pending.remote.insert(for: row, &rows)
        for dependency in dependencies {
            try insert(dependency)
            try markParent(dependency.parent)
        }
        // A flow stays as long as a command outside of it depends on one of its nodes.
        for dependency in dependencies {
            guard let flow = try node(dependency.parent)?.flow else { continue }
            try insert(DependencyRow(parent: flow, child: turn, condition: .end, state: .satisfied))
            try markParent(flow)
        }
        var submission = Submission(id: pending.id, isExisting: false, turn: turn)
        submission.isBlocked = row.command.status == .blocked
        return .success(submission)
    }

    /// Inserts a flow, whose nodes get the next turns in the order of the plan.
    /// - Parameter ids: of the flow, of each node, and of each callback.
    func insert(
        _ plan: FlowPlan, _ draft: CommandDraft, digest: [UInt8]?, ids: [CommandID], allowUnknownTypes: Bool,
        now: Timestamp
    ) throws(StoreError) -> Result<FlowSubmission, StoreError> {
        if let problem = try prepareForRelations() { return .failure(problem) }
        for draft in plan.drafts where !allowUnknownTypes {
            guard try isKnown(draft.type) else { return .failure(.unknownType(draft.type, known: knownTypes)) }
        }
        if draft.uniqueKey != nil, let found = try existing(draft, digest, at: now) {
            return found.map { FlowSubmission(submission: $0) }
        }
        let turn = try newTurn()
        var lanes = self
        let waits =
            try draft.orderingKey.map { key throws(StoreError) in
                try !Lanes.enter(key, turn, limit: draft.keyLimit, &lanes)
            } ?? false
        let layout = FlowLayout(plan, draft, digest: digest, ids: ids, turn: turn, waits: waits, now: now)
        var rows: [(StoredCommand, payload: [UInt8])] = []
        for var member in layout.members {
            member.row.recordCreation(&changes)
            rows.append((member.row, member.payload))
            if rows.count == Query.insertSizes[0] { try insert(&rows, areRelated: true) }
            try insert(member.node)
            for dependency in member.dependencies { try insert(dependency) }
        }
        try insert(&rows, areRelated: true)
        try insert(layout.flow)
        return .success(layout.submission)
    }

    /// Before the first command that depends on another, or has an ordering key or a rate limit. From then on the shard
    /// needs a program that writes the effects of ends: one that does not would leave dependants waiting for ever.
    /// - Returns: why the shard cannot have such commands now; nil where it can.
    func prepareForRelations() throws(StoreError) -> StoreError? {
        let needed = Schema.firstWithRelations
        guard version >= needed else {
            return StoreError(
                .overloaded,
                "Shard \(shard) has version \(version), and dependencies and rate limits need version \(needed). The coordinator "
                    + "migrates the store when no worker of the release before runs; try again then.", shard: shard)
        }
        guard !isForRelations else { return nil }
        if try integer("PRAGMA user_version") >= needed {
            isForRelations = true
        } else if let old = try run?.processOfFirstRelease() {
            return StoreError(
                .overloaded,
                "A coordinator or worker of release 0.1.0\(old.pid.map { ", process \($0)," } ?? "") uses the store, and does "
                    + "not know of commands that wait for others or have a rate limit; stop it, and try again.",
                shard: shard)
        } else {
            try execute("PRAGMA user_version = \(needed)")
        }
        return nil
    }
}

extension SQLiteStore {
    package func mend(shard number: Int) throws(StoreError) -> ShardMend {
        guard try !relationProblems(shard: number).isEmpty else { return ShardMend() }
        return try shard(number).write { connection throws(StoreError) in
            var result = ShardMend()
            guard connection.version >= Schema.firstWithRelations else { return result }
            // Before any command changes: the transaction adds its own changes to the rows at its end.
            for status in CommandStatus.allCases {
                for qos in QualityOfService.allCases {
                    try connection.execute(
                        "INSERT OR IGNORE INTO counts VALUES (\(status.rawValue), \(qos.rawValue), 0)")
                }
            }
            for cell in try connection.wrongCounts() {
                result.changes.append("\(cell.name) were counted as \(cell.stored), and are \(cell.real) now")
                try connection.execute(
                    """
                    UPDATE counts SET n = \(cell.real)
                    WHERE status = \(cell.status.rawValue) AND qos = \(cell.qos.rawValue)
                    """)
            }
            var mend = RelationMend(connection, shard: number, now: clock.now())
            try mend.run()
            result.changes += mend.changes
            var check = RelationCheck(connection)
            try check.run()
            result.left = check.problems
            return result
        }
    }
}

/// A number of `counts` that is not that of the rows.
struct WrongCount {
    var status: CommandStatus
    var qos: QualityOfService
    var stored: Int
    var real: Int

    var name: String { "commands in status \(status.name) of quality \(qos.name)" }
}

extension Connection {
    /// Counts everything anew.
    /// - Returns: a sentence for each number that is wrong.
    func relationProblems() throws(StoreError) -> [String] {
        var problems: [String] = []
        for cell in try wrongCounts() {
            problems.append("\(cell.name) are counted as \(cell.stored), and are \(cell.real)")
        }
        var check = RelationCheck(self)
        try check.run()
        return problems + check.problems
    }

    fileprivate func wrongCounts() throws(StoreError) -> [WrongCount] {
        let stored = try counts()
        var real = CommandCounts()
        let statement = try Statement("SELECT status, qos, count(*) FROM command GROUP BY status, qos", sharing: self)
        while try statement.step() { real[try statement.status(0), try statement.qos(1)] = statement.int(2) }
        var wrong: [WrongCount] = []
        for status in CommandStatus.allCases {
            for qos in QualityOfService.allCases where stored[status, qos] != real[status, qos] {
                wrong.append(
                    WrongCount(status: status, qos: qos, stored: stored[status, qos], real: real[status, qos]))
            }
        }
        return wrong
    }
}
