package import Commands

/// The calls on schedules. A schedule lies in the shard of the commands that it submits, so that both change in one
/// transaction.
package protocol ScheduleStore: ShardedStore {
    /// Nil where there is none of that name.
    func schedule(_ name: String) throws(StoreError) -> StoredSchedule?
    /// All, in the order of their names.
    func schedules() throws(StoreError) -> [StoredSchedule]
    /// Changes one schedule in a transaction of its own.
    /// - Parameter body: gets the schedule, nil where there is none of that name, and returns the one to store; nil removes
    ///   it.
    func changeSchedule(
        _ name: String, _ body: (StoredSchedule?) throws(StoreError) -> StoredSchedule?
    ) throws(StoreError)
    /// Submits what is due, and moves the schedules on, in one transaction.
    /// - Parameters:
    ///   - scope: the schedules that are looked at.
    ///   - limit: the maximum number of schedules.
    ///   - decide: gets a schedule, the state of its last command, nil without one, and the time of the store's clock
    ///     at which the schedule was found due. Nil leaves the schedule.
    func fireSchedules(
        shard: Int, _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound
    /// ``fireSchedules(shard:_:limit:_:)`` of several shards; each becomes durable alone.
    /// - Parameter each: gets the round of each shard, as soon as it is durable.
    func fireSchedules(
        _ shards: [Int], _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?,
        each: (Int, Result<ScheduleRound, StoreError>) -> Void
    )
}

extension ScheduleStore {
    package func fireSchedules(
        _ shards: [Int], _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?,
        each: (Int, Result<ScheduleRound, StoreError>) -> Void
    ) {
        for shard in shards {
            each(
                shard, Result { () throws(StoreError) in try fireSchedules(shard: shard, scope, limit: limit, decide) })
        }
    }
}

/// The schedules that a round looks at.
package enum ScheduleScope: Sendable, Equatable {
    /// Those whose next time has come.
    case due
    /// Those that a missing zone holds, and those of a clock that was set back since, in the order of their names, behind
    /// this one.
    case held(after: String?)
    /// All that are not paused, in the order of their names, behind this one: the files of zones may have changed.
    case all(after: String?)
    /// One, whether it is due or not.
    case named(String)

    var isTrigger: Bool { if case .named = self { true } else { false } }

    /// A schedule that has decided times behind this one has seen a clock that was set back since.
    static func clockBound(_ now: Timestamp) -> Timestamp { now + ScheduleTiming.maxWaitedStepOfInterval }
}

/// The result of a round over schedules.
package struct ScheduleRound: Sendable {
    /// A schedule that has changed.
    package struct Change: Sendable {
        package var name: String
        package var decision: ScheduleDecision
        /// The commands or flows, one for each time of the decision.
        package var ids: [CommandID]
    }

    package var changes: [Change] = []
    package var effects = Effects()
    /// The name of the last schedule that was looked at; nil where the round has come to the end.
    package var next: String?
    /// Why a schedule could not be read or fired, a sentence each. It stays as it is.
    package var problems: [String] = []
}

extension ScheduleStore {
    /// Submits what a schedule submits now, whatever its times and the commands before it; its next time stays.
    package func fireSchedule(named name: String) throws(StoreError) -> ScheduleRound {
        let shard = router.shard(ofSchedule: name)
        return try fireSchedules(shard: shard, .named(name), limit: 1) { schedule, _, now in
            let state = schedule.state
            var decision = ScheduleDecision(since: state.since, last: state.last)
            decision.fires = [ScheduledTime(nominal: now, notBefore: now)]
            decision.next = state.next
            decision.reason = state.reason
            return decision
        }
    }
}

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
    mutating func cancel(
        _ row: StoredCommand, shard: Int, reason: String, now: Timestamp
    ) throws(StoreError) -> Effects
}

/// A round over the schedules of a shard, within a transaction. Pure: both stores do what this decides.
struct ScheduleFiring<Rows: ScheduleRows> {
    private(set) var rows: Rows
    private let shard: Int
    private let isTriggered: Bool
    private let now: Timestamp
    var round = ScheduleRound()

    /// - Parameter isTriggered: a person fires the schedule, whatever its times.
    init(_ rows: Rows, shard: Int, isTriggered: Bool, now: Timestamp) {
        self.rows = rows
        self.shard = shard
        self.isTriggered = isTriggered
        self.now = now
    }

    mutating func fire(
        _ schedule: StoredSchedule, _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) {
        let last = try schedule.state.lastID.flatMap { id throws(StoreError) in try rows.find(id) }
        let lastState = try last.map { row throws(StoreError) -> ScheduledCommandState in
            let waits = try row.key.map { key throws(StoreError) in try rows.isWaiter(key, row.command.turn) } ?? false
            // A command in doubt holds the lane, so that those behind it wait for a person.
            if row.command.status == .inDoubt, schedule.definition.laneKey != nil { return .running }
            return ScheduledCommandState(status: row.command.status, waitsInLane: waits)
        }
        guard let decision = decide(schedule, lastState, now), decision.changes(schedule.state) else { return }
        var ids: [CommandID] = []
        for time in decision.fires {
            switch try submit(schedule, at: time, after: last) {
            case .success(let id): ids.append(id)
            case .failure(let error):
                // The schedule goes on with its other times, and the time counts as one that did not fire.
                round.problems.append(
                    "The schedule “\(schedule.name)” could not submit what was due at \(time.nominal): \(error.message)"
                )
            }
        }
        // The new one waits in the lane.
        if decision.cancelsLast, !ids.isEmpty, let last {
            let reason = "its schedule “\(schedule.name)” fires again"
            round.effects.append(try rows.cancel(last, shard: shard, reason: reason, now: now))
        }
        // A triggered command does not hide one that runs.
        let keepsLast = ids.isEmpty || isTriggered && lastState != nil && lastState != .ended
        var changed = schedule
        changed.state = schedule.state.applying(decision, id: keepsLast ? schedule.state.lastID : ids.last)
        let refused = Int64(decision.fires.count - ids.count)
        changed.state.fired -= refused
        changed.state.skipped += refused
        try rows.save(changed)
        round.changes.append(ScheduleRound.Change(name: schedule.name, decision: decision, ids: ids))
    }

    /// How often an interval expression may submit at one time.
    private static var maxPasses: Int { 16 }

    /// A command that has the key of the time and is not newer than the last one is of an earlier pass, before the clock was
    /// set back. An interval expression then submits with another key. A newer one shows that the row of the schedule is a
    /// restored one, and stands.
    private mutating func submit(
        _ schedule: StoredSchedule, at time: ScheduledTime, after last: StoredCommand?
    ) throws(StoreError) -> Result<CommandID, StoreError> {
        let key = schedule.definition.uniqueKey(of: time.nominal)
        let isRepeatable = schedule.definition.expression.isInterval && !isTriggered
        for pass in 1..<Self.maxPasses {
            let result = try submit(schedule, at: time, key: pass == 1 ? key : "\(key)+\(pass)")
            let existing: CommandID? =
                switch result {
                case .success(let submission): submission.isExisting ? submission.id : nil
                case .failure(let error): error.code == .conflict ? error.id : nil
                }
            guard isRepeatable, let existing, let last, let row = try rows.find(existing),
                row.command.turn <= last.command.turn
            else { return result.map(\.id) }
        }
        return .failure(StoreError(.conflict, "the clock was set back to this time too often"))
    }

    private mutating func submit(
        _ schedule: StoredSchedule, at time: ScheduledTime, key: String
    ) throws(StoreError) -> Result<Submission, StoreError> {
        let byte = UniqueKey.shardByte(of: schedule.name)
        let definition = schedule.definition
        switch schedule.action {
        case .command(let scheduled):
            var draft = scheduled.draft(at: time)
            draft.notBefore = time.notBefore
            draft.uniqueKey = key
            draft.orderingKey = definition.laneKey
            if let problem = draft.problem { return .failure(problem) }
            let result = try rows.insert(draft, id: CommandID(now: now, shardByte: byte), now: now)
            if case .success(let submission) = result, !submission.isExisting,
                let ready = draft.ready(submission, now: now),
                try rows.command(turn: submission.turn)?.isReady ?? false
            {
                round.effects.ready.append(ready)
            }
            return result
        case .flow(let scheduled):
            var flow = scheduled.flow(at: time)
            flow.uniqueKey = key
            flow.orderingKey = definition.laneKey
            let plan: FlowPlan
            do throws(FlowError) { plan = try FlowPlan(flow) } catch {
                return .failure(StoreError(.invalid, error.description))
            }
            if let problem = plan.draft.problem ?? plan.problem { return .failure(problem) }
            let ids = (0...plan.nodes.count + flow.callbacks.count).map { _ in CommandID(now: now, shardByte: byte) }
            let result = try rows.insert(plan, ids: ids, now: now)
            if case .success(let submission) = result { round.effects.ready += submission.ready }
            return result.map(\.submission)
        }
    }
}
