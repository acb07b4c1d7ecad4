package import Commands

extension PostgreSQLStore {
    package func schedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        let page = try read { transaction throws(StoreError) in
            SchedulePage(
                try transaction.read(SchedulePage.named, router.shard(ofSchedule: name), name).rows { row in
                    ScheduleRow(row)
                })
        }
        if !page.unreadable.isEmpty { throw StoreError(.invalid, StoredSchedule.problem(name)) }
        return page.found.first
    }

    package func schedules() throws(StoreError) -> [StoredSchedule] {
        let page = try read { transaction throws(StoreError) in
            SchedulePage(try transaction.read(SchedulePage.all).rows { row in ScheduleRow(row) })
        }
        return page.found
    }

    package func changeSchedule(
        _ name: String, _ body: (StoredSchedule?) throws(StoreError) -> StoredSchedule?
    ) throws(StoreError) {
        _ = try change(shard: router.shard(ofSchedule: name)) { shard throws(StoreError) in
            let rows = try shard.transaction.read(SchedulePage.named, shard.number, name).rows { row in
                ScheduleRow(row)
            }
            // One that cannot be read can be put again.
            let old = SchedulePage(rows).found.first
            if let new = try body(old) {
                if new != old { try shard.save(new) }
            } else {
                try shard.transaction.write(SchedulePage.remove, shard.number, name)
            }
        }
    }

    package func fireSchedules(
        shard number: Int, _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound {
        try check(number)
        let now = clock.now()
        // Without a lock where nothing is to be done.
        let isNeeded = try read { transaction throws(StoreError) in
            try transaction.schedules(number, scope, now: now, limit: 1).count > 0
        }
        guard isNeeded else { return ScheduleRound() }
        let (round, others) = try change(shard: number, timeout: WriteTimeout.foreground) { shard throws(StoreError) in
            let page = try shard.transaction.schedules(number, scope, now: now, limit: limit)
            var firing = ScheduleFiring(shard, shard: number, isTriggered: scope.isTrigger, now: now)
            for name in page.unreadable {
                let problem = StoredSchedule.problem(name)
                firing.round.problems.append(problem)
                try shard.transaction.write(SchedulePage.hold, number, name, problem)
            }
            for schedule in page.found { try firing.fire(schedule, decide) }
            if page.count == limit { firing.round.next = page.last }
            return firing.round
        }
        var result = round
        result.effects = round.effects.followed(by: others)
        return result
    }

    private static let shardsWithSchedules = PostgreSQLStatement(
        "shards-with-schedules",
        """
        SELECT w.shard FROM unnest($1::int8[]::int2[]) w(shard) JOIN LATERAL (
            SELECT 1 FROM schedule s WHERE s.shard = w.shard AND s.next IS NOT NULL AND s.next <= $2 LIMIT 1) s ON true
        """)

    private static let shardsWithHeld = PostgreSQLStatement(
        "shards-with-held-schedules",
        "SELECT DISTINCT s.shard FROM schedule s WHERE s.shard = ANY($1::int8[]::int2[]) AND \(SchedulePage.isHeld)")

    package func fireSchedules(
        _ shards: [Int], _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?,
        each: (Int, Result<ScheduleRound, StoreError>) -> Void
    ) {
        var due = Set(shards)
        let now = clock.now()
        let found = try? read { transaction throws(StoreError) -> [Int]? in
            switch scope {
            case .due: try transaction.read(Self.shardsWithSchedules, shards, now).rows { row in row[0] as Int }
            case .held(nil):
                try transaction.read(Self.shardsWithHeld, shards, ScheduleScope.clockBound(now)).rows { row in
                    row[0] as Int
                }
            case .held, .all, .named: nil
            }
        }
        if let found { due = Set(found) }
        for shard in shards {
            guard due.contains(shard) else {
                each(shard, .success(ScheduleRound()))
                continue
            }
            each(
                shard, Result { () throws(StoreError) in try fireSchedules(shard: shard, scope, limit: limit, decide) })
        }
    }
}

/// The columns of a schedule, whose JSON is not parsed yet.
private struct ScheduleRow {
    var name: String
    /// Nil where it cannot be read.
    var schedule: StoredSchedule?

    init(_ row: borrowing PostgreSQLRow) {
        name = row[0]
        let (definitionText, actionText): (String, String) = (row[1], row[2])
        guard let definition = try? SchedulePut(JSONValue(parsing: Array(definitionText.utf8))).definition,
            let action = (try? JSONValue(parsing: Array(actionText.utf8))).flatMap({ ScheduleAction($0) })
        else { return }
        var schedule = StoredSchedule(
            definition: definition, action: action,
            state: ScheduleState(
                since: row[3], next: row[4] as Timestamp?, last: row[5] as Timestamp?, lastID: row[6] as CommandID?,
                fired: row[7], skipped: row[8], paused: row[9], reason: row[10] as String?))
        schedule.isConfigured = row[11]
        self.schedule = schedule
    }
}

private struct SchedulePage {
    var found: [StoredSchedule] = []
    /// Names.
    var unreadable: [String] = []
    /// The name of the last row.
    var last: String?
    var count: Int { found.count + unreadable.count }

    init(_ rows: [ScheduleRow]) {
        for row in rows {
            last = row.name
            if let schedule = row.schedule { found.append(schedule) } else { unreadable.append(row.name) }
        }
    }

    private static let columns =
        "name, definition, action, since, next, last, last_id, fired, skipped, paused, reason, configured"

    static let named = PostgreSQLStatement(
        "schedule", "SELECT \(columns) FROM schedule WHERE shard = $1 AND name = $2")
    static let all = PostgreSQLStatement("schedules", "SELECT \(columns) FROM schedule ORDER BY name")
    static let due = PostgreSQLStatement(
        "due-schedules",
        """
        SELECT \(columns) FROM schedule WHERE shard = $1 AND next IS NOT NULL AND next <= $2 ORDER BY next LIMIT $3
        """)
    static let held = PostgreSQLStatement(
        "held-schedules",
        """
        SELECT \(columns) FROM schedule WHERE shard = $1 AND \(isHeld) AND name > $3 ORDER BY name LIMIT $4
        """)
    /// - Parameter $2: ``ScheduleScope/clockBound(_:)``.
    static let isHeld = "NOT paused AND (reason IS NOT NULL AND next IS NULL OR since > $2)"
    static let after = PostgreSQLStatement(
        "schedules-after",
        "SELECT \(columns) FROM schedule WHERE shard = $1 AND name > $2 AND NOT paused ORDER BY name LIMIT $3")
    static let save = PostgreSQLStatement(
        "save-schedule",
        """
        INSERT INTO schedule(shard, \(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        ON CONFLICT (shard, name) DO UPDATE SET definition = excluded.definition, action = excluded.action,
            since = excluded.since, next = excluded.next, last = excluded.last, last_id = excluded.last_id,
            fired = excluded.fired, skipped = excluded.skipped, paused = excluded.paused, reason = excluded.reason,
            configured = excluded.configured
        """)
    /// Keeps a schedule that cannot be read from being due.
    static let hold = PostgreSQLStatement(
        "hold-schedule", "UPDATE schedule SET next = NULL, reason = $3 WHERE shard = $1 AND name = $2")
    static let remove = PostgreSQLStatement("remove-schedule", "DELETE FROM schedule WHERE shard = $1 AND name = $2")
}

extension PostgreSQLTransaction {
    fileprivate func schedules(
        _ shard: Int, _ scope: ScheduleScope, now: Timestamp, limit: Int
    ) throws(StoreError) -> SchedulePage {
        let rows: [ScheduleRow] =
            switch scope {
            case .due: try read(SchedulePage.due, shard, now, limit).rows { row in ScheduleRow(row) }
            case .held(let after):
                try read(SchedulePage.held, shard, ScheduleScope.clockBound(now), after ?? "", limit).rows { row in
                    ScheduleRow(row)
                }
            case .all(let after):
                try read(SchedulePage.after, shard, after ?? "", limit).rows { row in ScheduleRow(row) }
            case .named(let name): try read(SchedulePage.named, shard, name).rows { row in ScheduleRow(row) }
            }
        return SchedulePage(rows)
    }
}

extension PostgreSQLShard {
    func save(_ schedule: StoredSchedule) throws(StoreError) {
        let state = schedule.state
        try transaction.write(
            SchedulePage.save, number, schedule.name, schedule.definition.json.text, schedule.action.json.text,
            state.since, state.next, state.last, state.lastID, state.fired, state.skipped, state.paused, state.reason,
            schedule.isConfigured)
    }
}
