package import Commands

extension SQLiteStore {
    package func schedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        try shards[router.shard(ofSchedule: name)].use { connection throws(StoreError) in
            connection.version < Schema.firstWithRelations ? nil : try connection.schedule(name)
        }
    }

    package func schedules() throws(StoreError) -> [StoredSchedule] {
        var all: [StoredSchedule] = []
        for shard in 0..<shardCount {
            all += try shards[shard].use { connection throws(StoreError) in
                guard connection.version >= Schema.firstWithRelations else { return [] }
                return try connection.schedules(connection.statement(.allSchedules)).found
            }
        }
        return all.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    package func changeSchedule(
        _ name: String, _ body: (StoredSchedule?) throws(StoreError) -> StoredSchedule?
    ) throws(StoreError) {
        try shards[router.shard(ofSchedule: name)].write { connection throws(StoreError) in
            if let problem = try connection.prepareForRelations() { throw problem }
            // One that cannot be read can be put again.
            let old = try connection.schedules(connection.statement(.schedule, name)).found.first
            if let new = try body(old) {
                guard new != old else { return }
                try connection.save(new)
            } else {
                try connection.removeSchedule(name)
            }
        }
    }

    package func fireSchedules(
        shard number: Int, _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound {
        let now = clock.now()
        let shard = try self.shard(number)
        // Outside a write transaction, so that no write waits where there is nothing to do.
        let isNeeded = try shard.use { connection throws(StoreError) in
            guard connection.version >= Schema.firstWithRelations else { return false }
            return try connection.hasSchedule(scope, now: now)
        }
        guard isNeeded else { return ScheduleRound() }
        let (round, others) = try shard.change(timeout: WriteTimeout.background) { connection throws(StoreError) in
            var firing = ScheduleFiring(connection, shard: number, isTriggered: scope.isTrigger, now: now)
            let page = try connection.schedules(scope, now: now, limit: limit)
            for name in page.unreadable {
                let problem = StoredSchedule.problem(name)
                firing.round.problems.append(problem)
                try connection.hold(name, reason: problem)
            }
            for schedule in page.found { try firing.fire(schedule, decide) }
            if page.count == limit { firing.round.next = page.last }
            return firing.round
        }
        var result = round
        result.effects = round.effects.followed(by: others)
        return result
    }
}

extension Connection {
    fileprivate func hasSchedule(_ scope: ScheduleScope, now: Timestamp) throws(StoreError) -> Bool {
        switch scope {
        case .due: try statement(.hasDueSchedule, now).hasRow()
        case .held(let after):
            try statement(.hasHeldSchedule, ScheduleScope.clockBound(now), after ?? "").hasRow()
        case .all(let after): try statement(.hasSchedule, after ?? "").hasRow()
        case .named: true
        }
    }

    fileprivate func schedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        let page = try schedules(statement(.schedule, name))
        if !page.unreadable.isEmpty { throw StoreError(.invalid, StoredSchedule.problem(name)) }
        return page.found.first
    }

    fileprivate struct SchedulePage {
        var found: [StoredSchedule] = []
        /// Names.
        var unreadable: [String] = []
        /// The name of the last row.
        var last: String?
        var count: Int { found.count + unreadable.count }
    }

    fileprivate func schedules(
        _ scope: ScheduleScope, now: Timestamp, limit: Int
    ) throws(StoreError) -> SchedulePage {
        switch scope {
        case .due: try schedules(statement(.dueSchedules, now, limit))
        case .held(let after):
            try schedules(statement(.heldSchedules, ScheduleScope.clockBound(now), after ?? "", limit))
        case .all(let after): try schedules(statement(.schedulesAfter, after ?? "", limit))
        case .named(let name): try schedules(statement(.schedule, name))
        }
    }

    fileprivate func schedules(_ statement: Statement) throws(StoreError) -> SchedulePage {
        defer { statement.reset() }
        var page = SchedulePage()
        while try statement.step() {
            page.last = statement.text(0)
            if let schedule = try StoredSchedule(statement) {
                page.found.append(schedule)
            } else {
                page.unreadable.append(statement.text(0))
            }
        }
        return page
    }

    /// Keeps a schedule that cannot be read from being due.
    fileprivate func hold(_ name: String, reason: String) throws(StoreError) {
        try statement(.holdSchedule, name, reason).run()
    }

    func save(_ schedule: StoredSchedule) throws(StoreError) {
        let state = schedule.state
        try statement(
            .saveSchedule, schedule.name, schedule.definition.json.text, schedule.action.json.text, state.since,
            state.next, state.last, state.lastID, state.fired, state.skipped, state.paused, state.reason,
            schedule.isConfigured
        ).run()
    }

    fileprivate func removeSchedule(_ name: String) throws(StoreError) {
        try statement(.removeSchedule, name).run()
    }
}

extension StoredSchedule {
    static func problem(_ name: String) -> String {
        "The schedule “\(name)” cannot be read: its row is damaged, or a newer program has put it; put it again."
    }

    /// Nil for a row that cannot be read.
    fileprivate init?(_ row: Statement) throws(StoreError) {
        guard let definition = try? SchedulePut(JSONValue(parsing: Array(row.text(1).utf8))).definition,
            let action = (try? JSONValue(parsing: Array(row.text(2).utf8))).flatMap({ ScheduleAction($0) })
        else { return nil }
        self.init(
            definition: definition, action: action,
            state: ScheduleState(
                since: row.time(3), next: row.optionalTime(4), last: row.optionalTime(5), lastID: try row.optionalID(6),
                fired: row.int64(7), skipped: row.int64(8), paused: row.bool(9), reason: row.optionalText(10)))
        isConfigured = row.bool(11)
    }
}

extension Connection: ScheduleRows {
    func insert(
        _ draft: CommandDraft, id: CommandID, now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError> {
        let pending = SQLiteStore.PendingInsert(index: 0, id: id, digest: draft.digest)
        let results = try insert([draft], [pending], allowUnknownTypes: true, now: now)
        return results.first ?? .failure(StoreError(.failed, "The draft was not processed."))
    }

    func cancel(
        _ row: StoredCommand, shard: Int, reason: String, now: Timestamp
    ) throws(StoreError) -> Effects {
        var row = row
        var effects = Effects()
        switch row.cancel(reason: reason, now: now, &changes) {
        case .cancelled(let transition): effects.events = [row.event(transition, shard: shard)]
        case .requested: if row.command.status.isClaimed { effects.requests = [row.claimed] }
        case .ended: return effects
        }
        try save(row)
        return effects
    }

    func insert(
        _ plan: FlowPlan, ids: [CommandID], now: Timestamp
    ) throws(StoreError) -> Result<FlowSubmission, StoreError> {
        let draft = plan.draft
        return try insert(plan, draft, digest: draft.digest, ids: ids, allowUnknownTypes: true, now: now)
    }
}

/// The statements of schedules.
extension Query {
    private static let scheduleColumns =
        "name, definition, action, since, next, last, last_id, fired, skipped, paused, reason, configured"

    /// ?1 is a time that only a clock that was set back since has passed; ?2 the name of the last that was read.
    private static let heldBySchedule =
        "FROM schedule WHERE paused = 0 AND (reason IS NOT NULL AND next IS NULL OR since > ?1) AND name > ?2"

    static let schedule = Query("SELECT \(scheduleColumns) FROM schedule WHERE name = ?1")
    static let allSchedules = Query("SELECT \(scheduleColumns) FROM schedule ORDER BY name")
    static let schedulesAfter = Query(
        "SELECT \(scheduleColumns) FROM schedule WHERE name > ?1 AND paused = 0 ORDER BY name LIMIT ?2")
    static let dueSchedules = Query(
        """
        SELECT \(scheduleColumns) FROM schedule WHERE next IS NOT NULL AND next <= ?1 ORDER BY next LIMIT ?2
        """)
    static let hasDueSchedule = Query("SELECT 1 FROM schedule WHERE next IS NOT NULL AND next <= ?1 LIMIT 1")
    static let heldSchedules = Query("SELECT \(scheduleColumns) \(heldBySchedule) ORDER BY name LIMIT ?3")
    static let hasHeldSchedule = Query("SELECT 1 \(heldBySchedule) LIMIT 1")
    static let hasSchedule = Query("SELECT 1 FROM schedule WHERE name > ?1 AND paused = 0 LIMIT 1")
    static let saveSchedule = Query(
        """
        INSERT OR REPLACE INTO schedule(\(scheduleColumns))
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        """)
    static let holdSchedule = Query("UPDATE schedule SET next = NULL, reason = ?2 WHERE name = ?1")
    static let removeSchedule = Query("DELETE FROM schedule WHERE name = ?1")
}
