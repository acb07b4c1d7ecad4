package import Commands
package import Host
package import Store

/// A store whose calls go to another one, except those that it makes itself.
package protocol ForwardingStore: CommandStore, StoreHealth {
    /// Asked before each call.
    var target: any CommandStore & StoreHealth { get }
}

// MARK: ShardedStore

extension ForwardingStore {
    package var shardCount: Int { target.shardCount }
    package var clock: any StoreClock { target.clock }
    package func commitGroup(of shard: Int) -> CommitGroup { target.commitGroup(of: shard) }
}

// MARK: SubmitStore

extension ForwardingStore {
    package func submit(_ drafts: [CommandDraft], allowUnknownTypes: Bool) -> [Result<Submission, StoreError>] {
        target.submit(drafts, allowUnknownTypes: allowUnknownTypes)
    }
    package func submit(_ flow: FlowPlan, allowUnknownTypes: Bool) throws(StoreError) -> FlowSubmission {
        try target.submit(flow, allowUnknownTypes: allowUnknownTypes)
    }
    package func open(_ batch: BatchDraft, allowUnknownTypes: Bool) throws(StoreError) -> CommandID {
        try target.open(batch, allowUnknownTypes: allowUnknownTypes)
    }
    package func seal(_ batch: CommandID) throws(StoreError) { try target.seal(batch) }
    package func types() throws(StoreError) -> Set<String> { try target.types() }
    package func record(types: Set<String>) throws(StoreError) { try target.record(types: types) }
}

// MARK: ReadingStore

extension ForwardingStore {
    package func command(_ id: CommandID) throws(StoreError) -> Command? { try target.command(id) }
    package func payload(_ id: CommandID) throws(StoreError) -> [UInt8]? { try target.payload(id) }
    package func result(_ id: CommandID) throws(StoreError) -> [UInt8]? { try target.result(id) }
    package func timeline(_ id: CommandID, before seq: Int64?, limit: Int) throws(StoreError) -> [Transition] {
        try target.timeline(id, before: seq, limit: limit)
    }
    package func page(
        _ filter: CommandFilter, order: CommandOrder, after: CommandID?, limit: Int, until: MonotonicTime?
    )
        throws(StoreError) -> CommandPage
    { try target.page(filter, order: order, after: after, limit: limit, until: until) }
    package func find(_ part: CommandIDPart, limit: Int) throws(StoreError) -> [Command] {
        try target.find(part, limit: limit)
    }
    package func commands(ofRequestKeys prefix: String) throws(StoreError) -> [String: CommandID] {
        try target.commands(ofRequestKeys: prefix)
    }
    package func counts() throws(StoreError) -> CommandCounts { try target.counts() }
    package func events(shard: Int, after seq: Int64, limit: Int) throws(StoreError) -> EventPage {
        try target.events(shard: shard, after: seq, limit: limit)
    }
    package func lastTransition(shard: Int) throws(StoreError) -> Int64 { try target.lastTransition(shard: shard) }
    package func flow(_ id: CommandID) throws(StoreError) -> FlowState? { try target.flow(id) }
    package func batch(_ id: CommandID) throws(StoreError) -> BatchState? { try target.batch(id) }
    package func flowNodes(_ flow: CommandID, after position: Int64, limit: Int) throws(StoreError) -> [FlowNodeState] {
        try target.flowNodes(flow, after: position, limit: limit)
    }
    package func dependencies(of id: CommandID, limit: Int) throws(StoreError) -> CommandDependencies? {
        try target.dependencies(of: id, limit: limit)
    }
    package func orderingKey(of id: CommandID) throws(StoreError) -> OrderingKeyState? {
        try target.orderingKey(of: id)
    }
    package func parentResults(of id: CommandID, after position: Int64, limit: Int) throws(StoreError) -> [ParentResult]
    {
        try target.parentResults(of: id, after: position, limit: limit)
    }
    package func openFlows(shard: Int, limit: Int) throws(StoreError) -> [FlowState] {
        try target.openFlows(shard: shard, limit: limit)
    }
    package func openBatches(shard: Int, limit: Int) throws(StoreError) -> [CommandID] {
        try target.openBatches(shard: shard, limit: limit)
    }
    package func relationOverview(shard: Int) throws(StoreError) -> RelationOverview {
        try target.relationOverview(shard: shard)
    }
    package func relationProblems(shard: Int) throws(StoreError) -> [String] {
        try target.relationProblems(shard: shard)
    }
}

// MARK: QueueStore

extension ForwardingStore {
    package func ready(shard: Int, key: ReadyKey, afterTurn: Int64, limit: Int) throws(StoreError) -> [ReadyCommand] {
        try target.ready(shard: shard, key: key, afterTurn: afterTurn, limit: limit)
    }
    package func limitedKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> { try target.limitedKeys(shard: shard) }
    package func readyCounts(shard: Int) throws(StoreError) -> [String: Int] { try target.readyCounts(shard: shard) }
    package func readyKeys(shard: Int) throws(StoreError) -> Set<ReadyKey> { try target.readyKeys(shard: shard) }
    package func waitingQueues(of destinations: [Destination], shard: Int) throws(StoreError) -> [WaitingQueue.Name:
        WaitingQueue]
    { try target.waitingQueues(of: destinations, shard: shard) }
    package func ready(shard: Int, ids: [CommandID]) throws(StoreError) -> [ReadyCommand] {
        try target.ready(shard: shard, ids: ids)
    }
    package func takeReadyAgain(shard: Int, limit: Int) throws(StoreError) -> [ReadyCommand] {
        try target.takeReadyAgain(shard: shard, limit: limit)
    }
    package func hasReadyAgain(shard: Int) throws(StoreError) -> Bool { try target.hasReadyAgain(shard: shard) }
    package func promoteDue(shard: Int, limit: Int) throws(StoreError) -> PromotedCommands {
        try target.promoteDue(shard: shard, limit: limit)
    }
    package func shiftBackoffs(shard: Int, by jump: Duration, writtenBefore: Timestamp?) throws(StoreError) {
        try target.shiftBackoffs(shard: shard, by: jump, writtenBefore: writtenBefore)
    }
    package func clampWaits(shard: Int) throws(StoreError) { try target.clampWaits(shard: shard) }
    package func lastTurn(shard: Int, outside times: Range<Timestamp>) throws(StoreError) -> Int64 {
        try target.lastTurn(shard: shard, outside: times)
    }
    package func passedDeadlines(shard: Int, limit: Int) throws(StoreError) -> Set<ReadyKey> {
        try target.passedDeadlines(shard: shard, limit: limit)
    }
    package func expire(shard: Int, limit: Int, causes: [ReadyKey: String]) throws(StoreError) -> Expiry {
        try target.expire(shard: shard, limit: limit, causes: causes)
    }
    package func claimed(shard: Int) throws(StoreError) -> [ClaimedCommand] { try target.claimed(shard: shard) }
    package func cancellationRequests(shard: Int) throws(StoreError) -> [ClaimedCommand] {
        try target.cancellationRequests(shard: shard)
    }
    package func outbox(shard: Int, after number: Int64, limit: Int) throws(StoreError) -> [ShardMessage] {
        try target.outbox(shard: shard, after: number, limit: limit)
    }
    package func receive(_ messages: [ShardMessage], shard: Int) throws(StoreError) -> Effects {
        try target.receive(messages, shard: shard)
    }
    package func remove(_ messages: [ShardMessage], shard: Int) throws(StoreError) {
        try target.remove(messages, shard: shard)
    }
    package func countHeldBack(shard: Int, type: String, destination: Destination) throws(StoreError) -> Int {
        try target.countHeldBack(shard: shard, type: type, destination: destination)
    }
    package func endWaits(shard: Int, type: String, destination: Destination, after: HeldBackPosition?, limit: Int)
        throws(StoreError) -> (count: Int, next: HeldBackPosition?)
    { try target.endWaits(shard: shard, type: type, destination: destination, after: after, limit: limit) }
}

// MARK: ExecutionStore

extension ForwardingStore {
    package func open(_ session: Session, shard: Int) throws(StoreError) { try target.open(session, shard: shard) }
    package func close(seat: Int, epoch: Int64) throws(StoreError) { try target.close(seat: seat, epoch: epoch) }
    package func sessionReading() throws(StoreError) -> SessionReading { try target.sessionReading() }
    package func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        try target.apply(writes, group: group, seat: seat, epoch: epoch, attempt)
    }
    package func settle(shard: Int, limit: Int) throws(StoreError) -> Effects {
        try target.settle(shard: shard, limit: limit)
    }
    package func reap(
        seat: Int, epoch: Int64, _ verdict: DeathVerdict, released: (Effects) -> Void
    ) throws(StoreError) {
        try target.reap(seat: seat, epoch: epoch, verdict, released: released)
    }
}

// MARK: RequestStore

extension ForwardingStore {
    package func cancel(_ id: CommandID, ifNewest newest: Int64?, reason: String) throws(StoreError)
        -> CancelOutcome
    { try target.cancel(id, ifNewest: newest, reason: reason) }
    package func cancel(_ ids: [CommandID], shard: Int, reason: String) throws(StoreError) -> Effects {
        try target.cancel(ids, shard: shard, reason: reason)
    }
    package func retry(_ id: CommandID, ifNewest newest: Int64?, by actor: String) throws(StoreError)
        -> Effects?
    { try target.retry(id, ifNewest: newest, by: actor) }
    package func resolve(_ id: CommandID, ifNewest newest: Int64?, as status: CommandStatus, by actor: String)
        throws(StoreError) -> Effects?
    { try target.resolve(id, ifNewest: newest, as: status, by: actor) }
    package func requalify(_ id: CommandID, ifNewest newest: Int64?, qos: QualityOfService) throws(StoreError)
        -> Bool
    { try target.requalify(id, ifNewest: newest, qos: qos) }
}

// MARK: SettingStore

extension ForwardingStore {
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try target.set(settings, timeout: timeout)
    }
    package func update(_ key: String, timeout: Duration, _ change: (String?) -> String?) throws(StoreError) {
        try target.update(key, timeout: timeout, change)
    }
    package func setting(_ key: String) throws(StoreError) -> String? { try target.setting(key) }
    package func settings(prefix: String) throws(StoreError) -> [String: String] { try target.settings(prefix: prefix) }
    package var isClockHeld: Bool { target.isClockHeld }
}

// MARK: PruningStore

extension ForwardingStore {
    package func cleanUp(shard: Int, limit: Int, _ cleanup: (Leftover) -> CommandDraft?) throws(StoreError)
        -> Int
    { try target.cleanUp(shard: shard, limit: limit, cleanup) }
    package func prune(shard: Int, before: Timestamp, statuses: Set<CommandStatus>, limit: Int) throws(StoreError)
        -> PruneResult
    { try target.prune(shard: shard, before: before, statuses: statuses, limit: limit) }
}

// MARK: ScheduleStore

extension ForwardingStore {
    package func schedule(_ name: String) throws(StoreError) -> StoredSchedule? { try target.schedule(name) }
    package func schedules() throws(StoreError) -> [StoredSchedule] { try target.schedules() }
    package func changeSchedule(_ name: String, _ body: (StoredSchedule?) throws(StoreError) -> StoredSchedule?)
        throws(StoreError)
    { try target.changeSchedule(name, body) }
    package func fireSchedules(
        shard: Int, _ scope: ScheduleScope, limit: Int,
        _ decide: (StoredSchedule, ScheduledCommandState?, Timestamp) -> ScheduleDecision?
    ) throws(StoreError) -> ScheduleRound {
        try target.fireSchedules(shard: shard, scope, limit: limit, decide)
    }
}

// MARK: UploadStore

extension ForwardingStore {
    package func apply(_ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool) throws(StoreError) -> [Result<
        UploadChange, StoreError
    >] { try target.apply(writes, group: group, isRepetition: isRepetition) }
    package func upload(_ id: CommandID) throws(StoreError) -> Upload? { try target.upload(id) }
    package func upload(idempotencyKey: String) throws(StoreError) -> Upload? {
        try target.upload(idempotencyKey: idempotencyKey)
    }
    package func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID? {
        try target.holder(of: key, shardByte: shardByte)
    }
    package func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]? { try target.uploadBody(id) }
    package func uploads(shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int)
        throws(StoreError)
        -> [Upload]
    { try target.uploads(shard: shard, state: state, order: order, after: after, limit: limit) }
    package func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload] {
        try target.dueUploads(shard: shard, limit: limit)
    }
    package func storeID() throws(StoreError) -> String? { try target.storeID() }
}

// MARK: StoreHealth

extension ForwardingStore {
    package var problems: [StoreError] { target.problems }
    package var overloads: [StoreError] { target.overloads }
    package var backupTime: Timestamp? { target.backupTime }
    package func copyWarning() -> String? { target.copyWarning() }
    package func requireOriginal() throws(StoreError) { try target.requireOriginal() }
    package func durability() throws(StoreError) -> String { try target.durability() }
}

// MARK: InboxStore

extension ForwardingStore {
    package func isInInbox(_ id: CommandID) throws(StoreError) -> Bool { try target.isInInbox(id) }
    package var hasInbox: Bool { target.hasInbox }
    package func moveInbox(
        _ look: InboxLook, limit: Int, _ check: ([InboxEntry]) throws(StoreError) -> [InboxVerdict]
    ) throws(StoreError) -> InboxRound { try target.moveInbox(look, limit: limit, check) }
}
