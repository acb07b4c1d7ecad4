internal import CLinux
internal import Commands
internal import Logging
internal import Store
internal import Synchronization
internal import Wire

/// Executes commands: claims through the committers, runs operations, commits their ends, collects reports.
///
/// Called from the loop (offers, control), from the committers' threads (what was committed) and from the operations'
/// tasks (what has ended). Each call is a change for the ``FlatCombiner``: made by the caller, or by who is at work already,
/// so that it may come into force a moment after the call has returned.
final class Executor: Sendable {
    struct State {
        var slots: SlotScheduler
        var running: [CommandID: Running] = [:]
        var tallies: [LinkName: LinkTotals] = [:]
        /// Reports of what moves so far.
        var rounds = 0
        var paces = Paces()
        /// When something last succeeded there, on the monotonic clock.
        var successes: [Destination: Int64] = [:]
        var whenIdle: [CheckedContinuation<Void, Never>] = []
        /// What has begun; nil where it cannot be kept.
        var startedExecutions: StartedExecutions?
        /// For the committers, when this round of changes is over.
        var writes: [ExecutionWrite] = []
        /// For the coordinator.
        var reports: [StatusReport] = []
    }

    /// What the loop takes from here.
    private struct Outbox {
        var state: WorkerState
        var reports: [StatusReport] = []
        var isAwaited = false
    }

    let registry: OperationRegistry
    let committers: [GroupCommitter]
    let logger: Logger
    private let wakeReporter: @Sendable () -> Void
    private let combiner: FlatCombiner<State>
    private let outbox: Mutex<Outbox>

    /// - Parameter wakeReporter: called when there is something for ``takeReports()``; cheap, from any thread.
    init(
        registry: OperationRegistry, committers: [GroupCommitter], concurrency: Int, logger: Logger,
        startedExecutions: sending StartedExecutions?, wakeReporter: @escaping @Sendable () -> Void
    ) {
        self.registry = registry
        self.committers = committers
        self.logger = logger
        self.wakeReporter = wakeReporter
        var slots = SlotScheduler(concurrency: concurrency)
        if startedExecutions == nil { slots.maxSuspects = 1 }
        outbox = Mutex(Outbox(state: slots.state))
        combiner = FlatCombiner(State(slots: slots, startedExecutions: startedExecutions))
    }

    // MARK: From the loop

    func offered(_ offers: Offers, coordinator: Int64, now: Int64) {
        change { $0.slots.offered(offers, coordinator: coordinator, now: now) }
    }

    func adopt(coordinator: Int64) { change { $0.slots.adopt(coordinator: coordinator) } }

    func control(_ control: ControlState) {
        change { state in
            state.slots.pause(control.pauses)
            for cancel in control.cancels {
                guard let running = state.running[cancel.id], running.command.claim == cancel.claim else { continue }
                Self.stop(running, .cancelled, &state)
            }
            for order in control.orders {
                guard let running = state.running[order.target.id], running.command.claim == order.target.claim else {
                    continue
                }
                Self.stop(
                    running, order.verb == .cut ? .cut(reason: order.reason) : .refused(reason: order.reason), &state)
            }
            state.paces.rates = control.paces
            state.paces.isCoordinatorSilent = false
            state.setPaces()
        }
    }

    func tick(now: Int64) {
        change { state in
            state.successes = state.successes.filter { now - $0.value < State.recently }
            for id in state.slots.tick(now: now) {
                guard let held = state.running[id] else { continue }
                state.end(held, .released(reason: "what its worker executes takes long", ambiguous: false))
            }
        }
    }

    /// The coordinator is silent: nothing new is claimed, and low quality goes on at a safe rate.
    func coordinatorIsSilent() {
        change { state in
            state.slots.forgetAll()
            guard !state.paces.isCoordinatorSilent else { return }
            state.paces.isCoordinatorSilent = true
            state.setPaces()
        }
    }

    /// What the coordinator is told in every report.
    var workerState: WorkerState { outbox.withLock { $0.state } }

    /// The transitions committed since the last call, and the state behind them.
    func takeReports() -> (WorkerState, [StatusReport]) {
        outbox.withLock { outbox in
            outbox.isAwaited = false
            defer { outbox.reports = [] }
            return (outbox.state, outbox.reports)
        }
    }

    /// Calls `body`, on any thread, with what is held at this moment.
    func whatIsHeld(_ body: @escaping @Sendable ([Hello.Held]) -> Void) {
        change { state in body(state.running.values.map { .init(id: $0.command.id, claim: $0.command.claim) }) }
    }

    // MARK: Draining

    /// Begins nothing more, releases what has not begun, stops low quality at once.
    func drain() {
        change { state in
            state.releaseUnstarted()
            for running in state.running.values where running.command.qos.serviceClass == .low {
                Self.stop(running, .drained, &state)
            }
        }
    }

    /// The grace is over: stops the rest.
    func stopAll() {
        change { state in for running in state.running.values { Self.stop(running, .drained, &state) } }
    }

    /// Returns when nothing is held any more.
    func idle() async {
        await withCheckedContinuation { continuation in change { $0.whenIdle.append(continuation) } }
    }

    // MARK: The life of an execution

    /// How long after a cut others show that they go on.
    static let timeout: Duration = .milliseconds(500)

    private static func stop(_ running: Running, _ stop: Running.Stop, _ state: inout State) {
        guard !running.isEnding, running.stop == nil else { return }
        running.stop = stop
        if stop.isRelease { running.meter.release() }
        if let task = running.task {
            task.cancel()
        } else {
            state.end(running, running.ending(of: nil, began: false))
        }
    }

    private func execute(_ running: Running) async {
        let execution = CommandExecution(
            command: running.command, payload: running.payload, checkpoint: running.checkpoint, meter: running.meter,
            pace: running.pace,
            saver: { [self] in
                guard await commit($0, of: running) else { throw CancellationError() }
            })
        var began = false
        do {
            if running.operation.preparesBeforeSending {
                try await running.operation.prepare(execution)
                guard await commitSent(running) else {
                    return change { $0.end(running, running.ending(of: nil, began: false)) }
                }
            }
            began = true
            let result = try await running.operation.execute(execution)
            change { $0.end(running, .success(result: result)) }
        } catch {
            let began = began
            if (error as? CommandFailure)?.fault == .reset { await cut(running) }
            change { $0.end(running, running.ending(of: error, began: began)) }
        }
    }

    /// Notes the cut of its connection, and waits until it shows whether those beside it are cut too: a destination that
    /// restarts, or a link that breaks, cuts all within moments.
    private func cut(_ running: Running) async {
        let isAlone = await withCheckedContinuation { continuation in
            change { continuation.resume(returning: $0.cut(running)) }
        }
        // A stop ends the wait.
        if !isAlone { try? await Task.sleep(for: Self.timeout) }
    }

    /// - Returns: false where the command is not ours any more, or is wished to end.
    private func commitSent(_ running: Running) async -> Bool {
        let id = running.command.id
        return await withCheckedContinuation { continuation in
            change { state in
                guard state.running[id] === running else { return continuation.resume(returning: false) }
                running.sent = continuation
                state.writes.append(.sent(id, claim: running.command.claim))
            }
        }
    }

    /// - Returns: false where the command is not ours any more.
    private func commit(_ checkpoint: [UInt8], of running: Running) async -> Bool {
        let id = running.command.id
        return await withCheckedContinuation { continuation in
            change { state in
                guard state.running[id] === running, !running.isEnding else {
                    return continuation.resume(returning: false)
                }
                running.pendingCheckpoints.append(continuation)
                state.writes.append(.saveCheckpoint(id, claim: running.command.claim, state: checkpoint))
            }
        }
    }

    func change(_ change: @escaping @Sendable (inout State) -> Void) {
        combiner.combine(change) { state in settle(&state) }
    }

    /// Lets the places decide, and hands out what the changes have brought.
    private func settle(_ state: inout State) {
        while begin(&state) {}
        let wakes = outbox.withLock { outbox in
            let isNews = !state.reports.isEmpty || outbox.state.locked != state.slots.state.locked
            outbox.state = state.slots.state
            guard isNews else { return false }
            outbox.reports.append(contentsOf: state.reports)
            defer { outbox.isAwaited = true }
            return !outbox.isAwaited
        }
        state.reports.removeAll(keepingCapacity: true)
        if wakes { wakeReporter() }
        if state.slots.heldCount == 0, !state.whenIdle.isEmpty {
            for continuation in state.whenIdle { continuation.resume() }
            state.whenIdle = []
        }
    }

    /// Claims, begins and preempts as the places decide.
    /// - Returns: whether places are free again, because the shards of some claims are locked.
    private func begin(_ state: inout State) -> Bool {
        let decision = state.slots.begin(now: Int64(clinux_monotonic()))
        var isAgain = false
        for offer in decision.claims {
            guard !committers[offer.id.shard(of: committers.count)].isLocked else {
                state.slots.refused(offer.id)
                isAgain = true
                continue
            }
            let prepares = registry[offer.type]?.preparesBeforeSending ?? true
            state.writes.append(.claim(offer.id, turn: offer.turn, sent: !prepares))
        }
        for id in decision.preempts {
            if let running = state.running[id] { Self.stop(running, .preempted, &state) }
        }
        commit(&state.writes)
        for id in decision.starts {
            guard let running = state.running[id], !running.isEnding else { continue }
            if let startedExecutions = state.startedExecutions {
                running.logEntry = startedExecutions.begin(id)
                if running.logEntry == nil {
                    startedExecutions.remove()
                    state.startedExecutions = nil
                    // From now on a claim counts as begun.
                    state.slots.maxSuspects = 1
                }
            }
            running.task = Task { await self.execute(running) }
        }
        return isAgain
    }

    /// Hands each committer its writes at once, so that they meet in one commit.
    private func commit(_ writes: inout [ExecutionWrite]) {
        if writes.count == 1 {
            committers[writes[0].id.shard(of: committers.count)].add(writes[0])
        } else if !writes.isEmpty {
            var byShard = [[ExecutionWrite]](repeating: [], count: committers.count)
            for write in writes { byShard[write.id.shard(of: committers.count)].append(write) }
            for (shard, writes) in byShard.enumerated() where !writes.isEmpty { committers[shard].add(writes) }
        }
        writes.removeAll(keepingCapacity: true)
    }
}

extension Executor.State {
    /// How long a success speaks for its destination.
    static let recently: Int64 = 60_000_000_000

    /// - Returns: whether nothing else is executed for its destination.
    mutating func cut(_ running: Running) -> Bool {
        let destination = running.command.destination
        let beside = self.running.values.filter {
            $0 !== running && $0.command.destination == destination && $0.task != nil && !$0.isEnding
        }
        running.cut = .init(at: Int64(clinux_monotonic()), beside: beside)
        return beside.isEmpty
    }

    /// A connection that was cut is the command's fault where others at its destination go on or have succeeded since; and
    /// where it was alone there, where one has succeeded within a minute.
    private func othersSucceed(where running: Running) -> Bool {
        let success = successes[running.command.destination]
        guard let cut = running.cut, !cut.beside.isEmpty else { return success != nil }
        return success ?? 0 > cut.at || cut.beside.contains { $0.cut == nil && $0.stop == nil && !$0.isEnding }
    }

    mutating func end(_ running: Running, _ ending: ExecutionResult) {
        let id = running.command.id
        let destination = running.command.destination
        let othersSucceed = othersSucceed(where: running)
        // Two that were cut together hold each other.
        running.cut?.beside = []
        guard self.running[id] === running, !running.isEnding else { return }
        running.isEnding = true
        var ending = ending
        switch ending {
        case .failure(let failure):
            let judged = failure.judged(at: destination, othersSucceed: othersSucceed)
            ending = .failure(judged)
            running.failure = judged
        case .success where destination != .none: successes[destination] = Int64(clinux_monotonic())
        case .success, .released, .cancelled: break
        }
        slots.ended(id)
        if let entry = running.logEntry { startedExecutions?.end(entry) }
        writes.append(.end(id, claim: running.command.claim, ending))
    }

    /// Begins nothing more, and gives back what was claimed and has not begun.
    mutating func releaseUnstarted() {
        for id in slots.drain() {
            guard let held = running[id] else { continue }
            end(held, .released(reason: Running.Stop.drained.reason, ambiguous: false))
        }
    }
}
