package import Commands
package import Store

/// The calls of a store at a time of the test's choice. The test has opened the store with a ``SettableClock``.
extension SubmitStore {
    package func submit(
        _ drafts: [CommandDraft], allowUnknownTypes: Bool, now: Timestamp
    ) -> [Result<Submission, StoreError>] {
        at(now) { submit(drafts, allowUnknownTypes: allowUnknownTypes) }
    }

    package func submit(
        _ flow: FlowPlan, allowUnknownTypes: Bool, now: Timestamp
    ) throws(StoreError) -> FlowSubmission {
        try at(now) { () throws(StoreError) in try submit(flow, allowUnknownTypes: allowUnknownTypes) }
    }

    package func open(_ batch: BatchDraft, allowUnknownTypes: Bool, now: Timestamp) throws(StoreError) -> CommandID {
        try at(now) { () throws(StoreError) in try open(batch, allowUnknownTypes: allowUnknownTypes) }
    }

    package func seal(_ batch: CommandID, now: Timestamp) throws(StoreError) {
        try at(now) { () throws(StoreError) in try seal(batch) }
    }
}

extension QueueStore {
    package func promoteDue(
        shard: Int, now: Timestamp, limit: Int
    ) throws(StoreError) -> (ready: [ReadyCommand], next: Timestamp?) {
        try at(now) { () throws(StoreError) in try promoteDue(shard: shard, limit: limit) }
    }

    package func clampWaits(shard: Int, now: Timestamp) throws(StoreError) {
        try at(now) { () throws(StoreError) in try clampWaits(shard: shard) }
    }

    package func passedDeadlines(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> Set<ReadyKey> {
        try at(now) { () throws(StoreError) in try passedDeadlines(shard: shard, limit: limit) }
    }

    package func expire(
        shard: Int, now: Timestamp, limit: Int, causes: [ReadyKey: String] = [:]
    ) throws(StoreError) -> Expiry {
        try at(now) { () throws(StoreError) in try expire(shard: shard, limit: limit, causes: causes) }
    }

    package func receive(_ messages: [ShardMessage], shard: Int, now: Timestamp) throws(StoreError) -> Effects {
        try at(now) { () throws(StoreError) in try receive(messages, shard: shard) }
    }
}

extension ExecutionStore {
    package func settle(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> Effects {
        try at(now) { () throws(StoreError) in try settle(shard: shard, limit: limit) }
    }

    package func apply(
        _ writes: [ExecutionWrite], shard: Int, seat: Int, epoch: Int64, now: Timestamp,
        timeout: Duration = .seconds(10)
    ) throws(StoreError) -> CommitOutcome {
        try at(now) { () throws(StoreError) in
            try apply(writes, shard: shard, seat: seat, epoch: epoch, timeout: timeout)
        }
    }

    package func reap(
        seat: Int, epoch: Int64, charges: Bool, started: StartedExecutions?, reason: String, now: Timestamp,
        released: (Effects) -> Void
    ) throws(StoreError) {
        try at(now) { () throws(StoreError) in
            try reap(
                seat: seat, epoch: epoch, DeathVerdict(charges: charges, started: started, reason: reason),
                released: released)
        }
    }
}

extension RequestStore {
    package func cancel(
        _ id: CommandID, ifNewest newest: Int64? = nil, reason: String, now: Timestamp
    ) throws(StoreError) -> CancelOutcome {
        try at(now) { () throws(StoreError) in try cancel(id, ifNewest: newest, reason: reason) }
    }

    package func cancel(_ ids: [CommandID], shard: Int, reason: String, now: Timestamp) throws(StoreError) -> Effects {
        try at(now) { () throws(StoreError) in try cancel(ids, shard: shard, reason: reason) }
    }

    package func retry(
        _ id: CommandID, ifNewest newest: Int64? = nil, by actor: String = Actor.person, now: Timestamp
    ) throws(StoreError) -> Effects? {
        try at(now) { () throws(StoreError) in try retry(id, ifNewest: newest, by: actor) }
    }

    package func resolve(
        _ id: CommandID, ifNewest newest: Int64? = nil, as status: CommandStatus, by actor: String = Actor.person,
        now: Timestamp
    ) throws(StoreError) -> Effects? {
        try at(now) { () throws(StoreError) in try resolve(id, ifNewest: newest, as: status, by: actor) }
    }

    package func requalify(
        _ id: CommandID, ifNewest newest: Int64? = nil, qos: QualityOfService, now: Timestamp
    ) throws(StoreError) -> Bool {
        try at(now) { () throws(StoreError) in try requalify(id, ifNewest: newest, qos: qos) }
    }
}

extension PruningStore {
    package func cleanUp(
        shard: Int, now: Timestamp, limit: Int, _ cleanup: (Leftover) -> CommandDraft?
    ) throws(StoreError) -> Int {
        try at(now) { () throws(StoreError) in try cleanUp(shard: shard, limit: limit, cleanup) }
    }
}

extension ScheduleStore {
    package func fireSchedules(
        shard: Int, _ scope: ScheduleScope, now: Timestamp, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound {
        try at(now) { () throws(StoreError) in
            try fireSchedules(shard: shard, scope, limit: limit) { schedule, last, _ in decide(schedule, last) }
        }
    }

    package func fireSchedule(named name: String, now: Timestamp) throws(StoreError) -> ScheduleRound {
        try at(now) { () throws(StoreError) in try fireSchedule(named: name) }
    }
}

extension StoreMaintenance {
    package func mend(shard: Int, now: Timestamp) throws(StoreError) -> ShardMend {
        try at(now) { () throws(StoreError) in try mend(shard: shard) }
    }
}

extension UploadStore {
    package func apply(
        _ writes: [UploadWrite], shard: Int, now: Timestamp
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        try at(now) { () throws(StoreError) in try apply(writes, shard: shard) }
    }

    package func holder(of key: UniqueKey, shardByte: UInt8, now: Timestamp) throws(StoreError) -> CommandID? {
        try at(now) { () throws(StoreError) in try holder(of: key, shardByte: shardByte) }
    }

    package func dueUploads(shard: Int, now: Timestamp, limit: Int) throws(StoreError) -> [Upload] {
        try at(now) { () throws(StoreError) in try dueUploads(shard: shard, limit: limit) }
    }
}

extension CommandStore {
    package func carryMessages(
        from shard: Int, except locked: Set<Int>, now: Timestamp
    ) throws(StoreError) -> MessageRound {
        try at(now) { () throws(StoreError) in try carryMessages(from: shard, except: locked) }
    }

    package func retryMembers(
        of batch: CommandID, by actor: String, now: Timestamp
    ) throws(StoreError) -> (count: Int, effects: Effects) {
        try at(now) { () throws(StoreError) in try retryMembers(of: batch, by: actor) }
    }
}
