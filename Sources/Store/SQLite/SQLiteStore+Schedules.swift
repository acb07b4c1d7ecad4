package import Commands

extension SQLiteStore {
    package func schedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        try shard(ofSchedule: name).use { connection throws(StoreError) in
            connection.version < Schema.firstWithRelations ? nil : try connection.schedule(name)
        }
    }

    package func schedules() throws(StoreError) -> [StoredSchedule] {
        var all: [StoredSchedule] = []
        for shard in 0..<shardCount {
            all += try shards[shard].use { connection throws(StoreError) in
                guard connection.version >= Schema.firstWithRelations else { return [] }
                return try connection.schedules(.allSchedules, limit: .max) { _ in }.found
            }
        }
        return all.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    package func changeSchedule(
        _ name: String, _ body: (StoredSchedule?) throws(StoreError) -> StoredSchedule?
    ) throws(StoreError) {
        try shard(ofSchedule: name).write { connection throws(StoreError) in
            if let problem = try connection.prepareForRelations() { throw problem }
            let old = try connection.schedule(name)
            if let new = try body(old) {
                guard new != old else { return }
                try connection.save(new)
            } else if old != nil {
                try connection.removeSchedule(name)
            }
        }
    }

    package func fireSchedules(
        shard number: Int, _ scope: ScheduleScope, now: Timestamp, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound {
        let shard = try self.shard(number)
        // Outside a write transaction, so that no write waits where there is nothing to do.
        let isNeeded = try shard.use { connection throws(StoreError) in
            guard connection.version >= Schema.firstWithRelations else { return false }
            return try connection.hasSchedule(scope, now: now)
        }
        guard isNeeded else { return ScheduleRound() }
        let (round, others) = try shard.change(timeout: WriteTimeout.background) { connection throws(StoreError) in
            var firing = ScheduleFiring(connection, shard: number, now: now)
            let (found, problems) = try connection.schedules(scope, now: now, limit: limit)
            firing.round.problems = problems
            for schedule in found { try firing.fire(schedule, decide) }
            if found.count == limit, scope != .held { firing.round.next = found.last?.name }
            return firing.round
        }
        var result = round
        result.effects = round.effects.followed(by: others)
        return result
    }

    private func shard(ofSchedule name: String) -> Shard {
        shards[Int(UniqueKey.shardByte(of: name)) & (shardCount - 1)]
    }
}

extension Connection {
    fileprivate func hasSchedule(_ scope: ScheduleScope, now: Timestamp) throws(StoreError) -> Bool {
        let statement: Statement
        switch scope {
        case .due:
            statement = try self.statement(.hasDueSchedule)
            statement.bind(now, at: 1)
        case .held:
            statement = try self.statement(.hasHeldSchedule)
            statement.bind(ScheduleScope.clockBound(now), at: 1)
        case .all(let after):
            statement = try self.statement(.hasSchedule)
            statement.bind(after ?? "", at: 1)
        case .named: return true
        }
        defer { statement.reset() }
        return try statement.step()
    }

    fileprivate func schedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        let (found, problems) = try schedules(.schedule, limit: 1) { $0.bind(name, at: 1) }
        if let problem = problems.first { throw StoreError(.corrupt, problem, shard: shard) }
        return found.first
    }

    fileprivate func schedules(
        _ scope: ScheduleScope, now: Timestamp, limit: Int
    ) throws(StoreError) -> (found: [StoredSchedule], problems: [String]) {
        switch scope {
        case .due: try schedules(.dueSchedules, limit: limit) { $0.bind(now, at: 1) }
        case .held: try schedules(.heldSchedules, limit: limit) { $0.bind(ScheduleScope.clockBound(now), at: 1) }
        case .all(let after): try schedules(.schedulesAfter, limit: limit) { $0.bind(after ?? "", at: 1) }
        case .named(let name): try schedules(.schedule, limit: limit) { $0.bind(name, at: 1) }
        }
    }

    fileprivate func schedules(
        _ query: Query, limit: Int, _ bind: (Statement) -> Void
    ) throws(StoreError) -> (found: [StoredSchedule], problems: [String]) {
        let statement = try statement(query)
        bind(statement)
        statement.bind(limit, at: 2)
        defer { statement.reset() }
        var found: [StoredSchedule] = []
        var problems: [String] = []
        while try statement.step() {
            if let schedule = try StoredSchedule(statement) {
                found.append(schedule)
            } else {
                problems.append(
                    "The schedule “\(statement.text(0))” cannot be read: its row is damaged, or a newer program has put it; put it "
                        + "again.")
            }
        }
        return (found, problems)
    }

    func save(_ schedule: StoredSchedule) throws(StoreError) {
        let statement = try statement(.saveSchedule)
        let state = schedule.state
        statement.bind(schedule.name, at: 1)
        statement.bind(schedule.definition.json.text, at: 2)
        statement.bind(schedule.action.json.text, at: 3)
        statement.bind(state.since, at: 4)
        statement.bind(state.next, at: 5)
        statement.bind(state.last, at: 6)
        statement.bind(state.lastID, at: 7)
        statement.bind(state.fired, at: 8)
        statement.bind(state.skipped, at: 9)
        statement.bind(state.paused, at: 10)
        statement.bind(state.reason, at: 11)
        try statement.run()
    }

    fileprivate func removeSchedule(_ name: String) throws(StoreError) {
        let statement = try statement(.removeSchedule)
        statement.bind(name, at: 1)
        try statement.run()
    }
}

extension StoredSchedule {
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
    }
}
