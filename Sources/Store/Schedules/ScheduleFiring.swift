internal import Commands

/// The rows that a round over schedules reads and changes. Both stores have them.
protocol ScheduleRows: RelationRows {
    mutating func find(_ id: CommandID) throws(StoreError) -> StoredCommand?
    /// Inserts a command, unless one holds its unique key.
    mutating func insert(
        _ draft: CommandDraft, id: CommandID, now: Timestamp
    ) throws(StoreError) -> Result<Submission, StoreError>
    /// Inserts a flow, unless one holds its unique key.
    mutating func insert(
        _ plan: FlowPlan, ids: [CommandID], now: Timestamp
    ) throws(StoreError) -> Result<FlowSubmission, StoreError>
    mutating func save(_ schedule: StoredSchedule) throws(StoreError)
}

/// A round over the schedules of a shard, within a transaction. Pure: both stores do what this decides.
struct ScheduleFiring<Rows: ScheduleRows> {
    private(set) var rows: Rows
    private let shard: Int
    private let now: Timestamp
    var round = ScheduleRound()

    init(_ rows: Rows, shard: Int, now: Timestamp) {
        self.rows = rows
        self.shard = shard
        self.now = now
    }

    mutating func fire(
        _ schedule: StoredSchedule, _ decide: (StoredSchedule, ScheduledCommandState?) -> ScheduleDecision?
    ) throws(StoreError) {
        let last = try schedule.state.lastID.flatMap { id throws(StoreError) in try rows.find(id) }
        let lastState = try last.map { row throws(StoreError) in
            let waits = try row.key.map { key throws(StoreError) in try rows.isWaiter(key, row.command.turn) } ?? false
            return ScheduledCommandState(status: row.command.status, waitsInLane: waits)
        }
        guard let decision = decide(schedule, lastState), decision.changes(schedule.state) else { return }
        if decision.cancelsLast, var last {
            switch last.cancel(reason: "its schedule “\(schedule.name)” fires again", now: now, &rows.changes) {
            case .cancelled(let transition):
                round.effects.events.append(last.event(transition, shard: shard))
                try rows.save(last)
            case .requested:
                if last.command.status.isClaimed { round.effects.requests.append(last.claimed) }
                try rows.save(last)
            case .ended: break
            }
        }
        var ids: [CommandID] = []
        for time in decision.fires {
            switch try submit(schedule, at: time) {
            case .success(let id): ids.append(id)
            case .failure(let error):
                // The schedule goes on with its other times, and the time counts as one that did not fire.
                round.problems.append(
                    "The schedule “\(schedule.name)” could not submit what was due at \(time.nominal): \(error.message)"
                )
            }
        }
        var changed = schedule
        changed.state = schedule.state.applying(decision, id: ids.last ?? schedule.state.lastID)
        let refused = Int64(decision.fires.count - ids.count)
        changed.state.fired -= refused
        changed.state.skipped += refused
        try rows.save(changed)
        round.changes.append(ScheduleRound.Change(name: schedule.name, decision: decision, ids: ids))
    }

    private mutating func submit(
        _ schedule: StoredSchedule, at time: ScheduledTime
    ) throws(StoreError) -> Result<CommandID, StoreError> {
        let byte = UniqueKey.shardByte(of: schedule.name)
        let definition = schedule.definition
        switch schedule.action {
        case .command(let scheduled):
            var draft = scheduled.draft(at: time)
            draft.notBefore = time.notBefore
            draft.uniqueKey = definition.uniqueKey(of: time.nominal)
            draft.orderingKey = definition.laneKey
            if let problem = draft.problem { return .failure(problem) }
            let result = try rows.insert(draft, id: CommandID(now: now, shardByte: byte), now: now)
            if case .success(let submission) = result, let ready = draft.ready(submission, now: now),
                try rows.command(turn: submission.turn)?.isReady ?? false
            {
                round.effects.ready.append(ready)
            }
            return result.map(\.id)
        case .flow(let scheduled):
            var flow = scheduled.flow(at: time)
            flow.uniqueKey = definition.uniqueKey(of: time.nominal)
            flow.orderingKey = definition.laneKey
            let plan: FlowPlan
            do throws(FlowError) { plan = try FlowPlan(flow) } catch {
                return .failure(StoreError(.invalid, error.description))
            }
            if let problem = plan.draft.problem ?? plan.problem { return .failure(problem) }
            let ids = (0...plan.nodes.count + flow.callbacks.count).map { _ in CommandID(now: now, shardByte: byte) }
            let result = try rows.insert(plan, ids: ids, now: now)
            if case .success(let submission) = result { round.effects.ready += submission.ready }
            return result.map(\.submission.id)
        }
    }
}
