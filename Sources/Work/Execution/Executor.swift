internal import Commands
internal import Host
internal import Logging
internal import Membership
internal import Operations
internal import Store
internal import Synchronization
internal import Wire

/// Executes commands: claims them through the committers, runs their operations, commits their ends, collects
/// reports.
///
/// The loop calls it (offers, control), as do the committers' threads (what was committed) and the
/// operations' tasks (what has ended). Each call is a change for the ``FlatCombiner``: the calling thread
/// makes it, or leaves it to the thread that is at work already. So a change may come into force a moment
/// after the call has returned.
final class Executor: Sendable {
    struct State {
        var slots: SlotScheduler
        var totals: [LinkName: LinkTotals] = [:]
        /// Reports of transfers so far.
        var rounds = 0
        var paces = PaceTable()
        /// When an execution last succeeded there.
        var successes: [Destination: MonotonicTime] = [:]
        var whenIdle: [@Sendable () -> Void] = []
        /// Tasks to cancel at the end of this round of changes.
        var cancellations: [Task<Void, Never>] = []
        /// The log of started executions; nil where it cannot be kept.
        var intentLog: IntentLog?
        /// For the committers, at the end of this round of changes.
        var writes: [ExecutionWrite] = []
        /// For the coordinator.
        var reports: [StatusReport] = []
        /// On commands that this worker does not hold; for the coordinator.
        var effects = Effects()
        var meter = ExecutionMeter()
        var linkMeter = LinkMeter()
    }

    /// The loop takes this.
    private struct Outbox {
        var state: WorkerState
        var reports: [StatusReport] = []
        var effects = Effects()
        var commitTime = Duration.zero
        var isAwaited = false
    }

    let registry: OperationRegistry
    let committers: ExecutionCommitters
    /// Nil leaves payloads as they are.
    private let references: PayloadReferences?
    private let uploads: SpooledUploads?
    let observer: (any ExecutionObserver)?
    let logger: Logger
    private let wakeReporter: @Sendable () -> Void
    let publish: @Sendable (Published) -> Void
    private let operationExecutor: (any TaskExecutor)?
    let canceller = SerialThread(named: "sluice-cancel")
    private let combiner: FlatCombiner<State>
    private let outbox: Mutex<Outbox>
    let commitErrors = Mutex(StoreErrorLog())

    /// - Parameters:
    ///   - wakeReporter: called when ``takeReports()`` has something to return; cheap, from any thread.
    ///   - operationExecutor: runs the operations; nil for the cooperative pool, whose threads no operation may
    ///     block.
    ///   - references: resolves references to results in payloads; nil leaves payloads as they are.
    ///   - observer: hears of the steps of executions; nil: they are not observed.
    ///   - publish: sends an event of an execution, from any thread.
    init(
        registry: OperationRegistry, committers: ExecutionCommitters, concurrency: Int, logger: Logger,
        intentLog: sending IntentLog?, references: PayloadReferences? = nil,
        uploads: SpooledUploads? = nil,
        operationExecutor: (any TaskExecutor)? = nil, observer: (any ExecutionObserver)? = nil,
        wakeReporter: @escaping @Sendable () -> Void,
        publish: @escaping @Sendable (Published) -> Void = { _ in }
    ) {
        self.registry = registry
        self.committers = committers
        self.references = references
        self.uploads = uploads
        self.observer = observer
        self.logger = logger
        self.wakeReporter = wakeReporter
        self.publish = publish
        self.operationExecutor = operationExecutor
        var slots = SlotScheduler(concurrency: concurrency)
        if intentLog == nil { slots.maxSuspects = 1 }
        outbox = Mutex(Outbox(state: slots.state))
        combiner = FlatCombiner(State(slots: slots, intentLog: intentLog))
    }

    // MARK: From the loop

    func offered(_ offers: Offers, coordinator: Int64, now: MonotonicTime) {
        change { $0.slots.offered(offers, coordinator: coordinator, now: now) }
    }

    func adopt(coordinator: Int64) {
        change { state in
            state.slots.adopt(coordinator: coordinator)
            state.paces.coordinatorChanged()
        }
    }

    /// - Parameter isHandover: the coordinator is new and has not decided on the transfers of every worker.
    func control(_ control: ControlState, isHandover: Bool = false) {
        change { state in
            state.slots.pause(control.pauses)
            for cancel in control.cancels { state.stop(cancel.id, claim: cancel.claim, .cancelled) }
            for stop in control.stops {
                let reason: StopReason =
                    switch stop.verb {
                    case .release: .releasedByNetwork(reason: stop.reason)
                    case .cancel: .cancelledByNetwork(reason: stop.reason)
                    }
                state.stop(stop.target.id, claim: stop.target.claim, reason)
            }
            state.paces.paces = control.paces
            state.paces.isCoordinatorSilent = false
            if !isHandover { state.paces.coordinatorHasDecided() }
            state.applyPaces()
        }
    }

    func tick(now: MonotonicTime) {
        change { state in
            let limit = now - State.successMemory
            state.successes = state.successes.filter { $0.value > limit }
            for id in state.slots.tick(now: now) { state.stop(id, .overdue) }
        }
    }

    /// The coordinator is silent: this worker claims nothing new, and low quality goes on at a safe rate.
    func coordinatorIsSilent() {
        change { state in
            state.slots.forgetAll()
            guard !state.paces.isCoordinatorSilent else { return }
            state.paces.isCoordinatorSilent = true
            state.applyPaces()
        }
    }

    /// Part of every report to the coordinator.
    var workerState: WorkerState { outbox.withLock { $0.state } }
    var commitTime: CommitTime { CommitTime(outbox.withLock { $0.commitTime }) }

    /// The transitions committed since the last call, the state behind them, and the effects on commands that this worker
    /// does not hold.
    func takeReports() -> (WorkerState, [StatusReport], Effects) {
        outbox.withLock { outbox in
            outbox.isAwaited = false
            defer {
                outbox.reports = []
                outbox.effects = Effects()
            }
            return (outbox.state, outbox.reports, outbox.effects)
        }
    }

    /// Calls `body`, on any thread, with the commands that are claimed at this moment.
    func claimedCommands(_ body: @escaping @Sendable ([CommandClaim]) -> Void) {
        change { state in
            body(state.slots.held.executions.map { CommandClaim(id: $0.id, claim: $0.claim) })
        }
    }

    // MARK: Draining

    /// From now on nothing starts; releases what has not started, and stops low quality at once. A command of low
    /// quality that is not idempotent would be in doubt: it has the grace of the others.
    func drain() {
        change { state in
            state.releaseUnstarted()
            state.stopAll { $0.qos.serviceClass == .low && $0.idempotent }
        }
    }

    /// The grace is over: stops the rest.
    func stopAll() { change { $0.stopAll { _ in true } } }

    /// Calls `body`, on any thread, when the worker holds no command any more.
    func whenIdle(_ body: @escaping @Sendable () -> Void) { change { $0.whenIdle.append(body) } }

    /// The types of the commands that run.
    func runningTypes(_ body: @escaping @Sendable ([String]) -> Void) {
        change { state in body(state.slots.held.begun.map(\.command.type)) }
    }

    // MARK: The task of an execution

    /// How long after a reset others at the destination show whether they go on.
    static let resetTimeout: Duration = .milliseconds(500)

    private func execute(_ execution: CommandExecution, _ operation: any CommandOperation) async {
        let outcome: Result<[UInt8]?, any Error>
        do {
            // All threads may have been busy since it was given its slot.
            if Task.isCancelled { throw ExecutionNotBegun() }
            let execution = try references?.resolved(execution, for: operation) ?? execution
            try uploads?.restore(execution.payload)
            if operation.preparesBeforeSending {
                try await operation.prepare(execution)
                guard await commitSent(execution) else { throw CancellationError() }
            }
            await observer?.started(execution)
            outcome = .success(try await operation.execute(execution))
        } catch {
            let error = await execution.counted(error)
            if (error as? CommandFailure)?.fault == .reset { await awaitOtherResets(execution) }
            outcome = .failure(error)
        }
        change { $0.end(execution, outcome) }
    }

    /// Notes that the connection was reset, and waits until the executions beside it show whether theirs are
    /// reset too: a destination that restarts, or a link that breaks, resets all of them within moments.
    private func awaitOtherResets(_ execution: CommandExecution) async {
        let hasOthers = await withCheckedContinuation { continuation in
            change { continuation.resume(returning: $0.slots.held.connectionReset(execution, now: .now)) }
        }
        // A stop ends the wait.
        if hasOthers { try? await Task.sleep(for: Self.resetTimeout) }
    }

    /// - Returns: false where the command is in other hands, or its cancellation is requested.
    private func commitSent(_ execution: CommandExecution) async -> Bool {
        await withCheckedContinuation { continuation in
            change { state in
                guard state.slots.held.commitSent(execution, continuation) else {
                    return continuation.resume(returning: false)
                }
                state.writes.append(.sent(execution.id, claim: execution.claim))
            }
        }
    }

    /// - Throws: `CancellationError` where the execution has ended, or the command is in other hands.
    func save(_ checkpoint: [UInt8], of command: CommandClaim) async throws {
        let isSaved = await withCheckedContinuation { continuation in
            change { state in
                guard state.slots.held.saveCheckpoint(command, continuation) else {
                    return continuation.resume(returning: false)
                }
                state.writes.append(.saveCheckpoint(command.id, claim: command.claim, state: checkpoint))
            }
        }
        guard isSaved else { throw CancellationError() }
    }

    // MARK: Rounds of changes

    func change(_ change: @escaping @Sendable (inout State) -> Void) {
        combiner.combine(change) { state in settle(&state) }
    }

    /// Lets the scheduler decide, and hands out the writes and reports that the changes have brought.
    private func settle(_ state: inout State) {
        while begin(&state) {}
        let workerState = state.slots.state
        let wakes = outbox.withLock { outbox in
            let isNews =
                !state.reports.isEmpty || outbox.state.locked != workerState.locked || !state.effects.isEmpty
            outbox.state = workerState
            outbox.commitTime = state.slots.commitDuration
            guard isNews else { return false }
            outbox.reports.append(contentsOf: state.reports)
            if !state.effects.isEmpty { outbox.effects.append(state.effects) }
            defer { outbox.isAwaited = true }
            return !outbox.isAwaited
        }
        state.reports.removeAll(keepingCapacity: true)
        if !state.effects.isEmpty { state.effects = Effects() }
        if wakes { wakeReporter() }
        if state.slots.held.count == 0, !state.whenIdle.isEmpty {
            for body in state.whenIdle { body() }
            state.whenIdle = []
        }
        if !state.cancellations.isEmpty {
            // A cancellation handler of an operation may block, and this thread may be the loop's.
            let tasks = state.cancellations
            state.cancellations = []
            canceller.perform { for task in tasks { task.cancel() } }
        }
    }

    /// Ends the thread that cancels tasks.
    func close() { canceller.close() }

    /// Claims, starts and preempts as the scheduler decides.
    /// - Returns: whether slots are free again, because the shards of some claims are locked.
    private func begin(_ state: inout State) -> Bool {
        let decision = state.slots.begin(now: .now)
        var hasFreedSlots = false
        for offer in decision.claims {
            guard !committers[offer.id].isLocked else {
                state.slots.held.refused(offer.id)
                hasFreedSlots = true
                continue
            }
            let prepares = registry[offer.type]?.preparesBeforeSending ?? true
            state.writes.append(.claim(offer.id, turn: offer.turn, sent: !prepares))
        }
        for preemption in decision.preemptions { state.perform(preemption.action) }
        committers.add(state.writes)
        state.writes.removeAll(keepingCapacity: true)
        for start in decision.starts {
            let logEntry = state.logStart(of: start.execution.id)
            let task = Task(executorPreference: operationExecutor) {
                await self.execute(start.execution, start.operation)
            }
            state.slots.held.started(start, task: task, logEntry: logEntry)
        }
        return hasFreedSlots
    }
}
