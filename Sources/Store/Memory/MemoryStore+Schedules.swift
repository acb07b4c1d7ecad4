package import Commands

extension MemoryStore {
    package func schedule(_ name: String) throws(StoreError) -> StoredSchedule? {
        try withShard(router.shard(ofSchedule: name)) { $0.schedules[name] }
    }

    package func schedules() throws(StoreError) -> [StoredSchedule] {
        var all: [StoredSchedule] = []
        for shard in 0..<shardCount { all += try withShard(shard) { Array($0.schedules.values) } }
        return all.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    package func changeSchedule(
        _ name: String, _ body: (StoredSchedule?) throws(StoreError) -> StoredSchedule?
    ) throws(StoreError) {
        try withShard(router.shard(ofSchedule: name)) { shard throws(StoreError) in
            shard.schedules[name] = try body(shard.schedules[name])
        }
    }

    package func fireSchedules(
        shard number: Int, _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound {
        let now = clock.now()
        return try withShard(number) { shard throws(StoreError) in
            let found = shard.schedules(scope, now: now, limit: limit)
            var firing = ScheduleFiring(shard, shard: number, isTriggered: scope.isTrigger, now: now)
            for schedule in found { try firing.fire(schedule, decide) }
            shard = firing.rows
            if found.count == limit { firing.round.next = found.last?.name }
            var round = firing.round
            round.effects = round.effects.followed(by: shard.takeEffects())
            return round
        }
    }
}

extension MemoryShard: ScheduleRows {
    func find(_ id: CommandID) -> StoredCommand? { rows[id] }

    mutating func save(_ schedule: StoredSchedule) { schedules[schedule.name] = schedule }

    mutating func cancel(_ row: StoredCommand, shard: Int, reason: String, now: Timestamp) -> Effects {
        cancel(row.id, reason: reason, now: now)?.effects ?? Effects()
    }

    mutating func insert(_ draft: CommandDraft, id: CommandID, now: Timestamp) -> Result<Submission, StoreError> {
        insert(draft, digest: draft.digest, id: id, now: now)
    }

    mutating func insert(
        _ plan: FlowPlan, ids: [CommandID], now: Timestamp
    ) throws(StoreError) -> Result<FlowSubmission, StoreError> {
        do throws(StoreError) { return .success(try submit(plan, ids: ids, now: now)) } catch { return .failure(error) }
    }

    fileprivate func schedules(_ scope: ScheduleScope, now: Timestamp, limit: Int) -> [StoredSchedule] {
        let sorted = schedules.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let found = sorted.filter { schedule in
            switch scope {
            case .due: schedule.state.next.map { $0 <= now } ?? false
            case .held(let after):
                !schedule.state.paused
                    && (after.map { $0.utf8.lexicographicallyPrecedes(schedule.name.utf8) } ?? true)
                    && (schedule.state.next == nil && schedule.state.reason != nil
                        || schedule.state.since > ScheduleScope.clockBound(now))
            case .all(let after):
                !schedule.state.paused && (after.map { $0.utf8.lexicographicallyPrecedes(schedule.name.utf8) } ?? true)
            case .named(let name): schedule.name == name
            }
        }
        return Array(found.prefix(limit))
    }
}
