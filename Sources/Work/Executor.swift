internal import CLinux
internal import Commands
internal import Logging
internal import Store
internal import Synchronization
internal import Wire

/// Executes commands: claims through the committers, runs operations, commits their ends, collects reports.
///
/// Called from the loop (offers, control), from the committers' threads (what was committed) and from the operations'
/// tasks (what has ended); one lock guards the state, and nothing blocks under it.
final class Executor: Sendable {
    /// Why an operation was told to stop.
    enum Stop: Sendable {
        case cancelled
        case preempted
        case drained

        var reason: String {
            switch self {
            case .cancelled: "cancelled"
            case .preempted: "preempted by a command of high quality of service"
            case .drained: "released by a worker that was asked to stop"
            }
        }
    }

    /// `@unchecked Sendable`: what can change is touched only under the executor's lock. A class, because a command is
    /// several hundred bytes that a dictionary would move at each access.
    private final class Running: @unchecked Sendable {
        let command: Command
        let payload: [UInt8]
        let operation: any Operation
        let meter: TransferMeter
        var task: Task<Void, Never>?
        var stop: Stop?
        var fault: Failure.Fault?
        var isEnding = false
        /// Its task is made or about to be: who stops it then leaves the end to the task.
        var hasBegun = false
        /// Resumed when `sent` is committed; false: it is not ours any more.
        var sent: CheckedContinuation<Bool, Never>?
        var reported = TransferMeter.Reading()

        init(command: Command, payload: [UInt8], operation: any Operation) {
            self.command = command
            self.payload = payload
            self.operation = operation
            meter = TransferMeter(offset: command.offset, total: command.total)
        }
    }

    /// Cumulative bytes to a destination.
    private struct Tally {
        /// Of executions that have ended.
        var ended: Int64 = 0
        /// Of all, when it was last reported.
        var reported: Int64 = 0
    }

    private struct State {
        var places: Places
        var running: [CommandID: Running] = [:]
        var reports: [StatusReport] = []
        var reportsAreAwaited = false
        var tallies: [Destination: Tally] = [:]
        var whenIdle: CheckedContinuation<Void, Never>?
    }

    /// What must be done outside the lock.
    private struct Actions {
        var writes: [ExecutionWrite] = []
        var tasks: [Task<Void, Never>] = []
        var starts: [CommandID] = []
        var resumes: [(CheckedContinuation<Bool, Never>, Bool)] = []
        var idle: CheckedContinuation<Void, Never>?
        var wakesReporter = false
    }

    private let registry: OperationRegistry
    private let committers: [Committer]
    private let seat: Int
    private let logger: Logger
    private let wakeReporter: @Sendable () -> Void
    private let state: Mutex<State>

    /// - Parameter wakeReporter: called when there is something for ``takeReports()``; cheap, from any thread.
    init(
        registry: OperationRegistry, committers: [Committer], concurrency: Int, seat: Int, logger: Logger,
        wakeReporter: @escaping @Sendable () -> Void
    ) {
        self.registry = registry
        self.committers = committers
        self.seat = seat
        self.logger = logger
        self.wakeReporter = wakeReporter
        state = Mutex(State(places: Places(concurrency: concurrency)))
    }

    // MARK: From the loop

    func offered(_ offers: Offers, coordinator: Int64, now: Int64) {
        change { state, _ in state.places.offered(offers, coordinator: coordinator, now: now) }
    }

    func adopt(coordinator: Int64) { change { state, _ in state.places.adopt(coordinator: coordinator) } }

    func control(_ control: ControlState) {
        change { state, actions in
            state.places.pause(control.pauses)
            for cancel in control.cancels where state.running[cancel.id]?.command.claim == cancel.claim {
                Self.stop(cancel.id, .cancelled, &state, &actions)
            }
        }
    }

    func tick(now: Int64) { change { state, _ in state.places.tick(now: now) } }

    /// The coordinator is silent: nothing new is claimed.
    func forgetOffers() { change { state, _ in state.places.forgetAll() } }

    /// What the coordinator is told in every report.
    var workerState: WorkerState { state.withLock { $0.places.state } }

    var executing: [Hello.Held] {
        state.withLock { state in
            state.running.values.map { Hello.Held(id: $0.command.id, claim: $0.command.claim) }
        }
    }

    /// The transitions committed since the last call, and the state behind them.
    func takeReports() -> (WorkerState, [StatusReport]) {
        state.withLock { state in
            state.reportsAreAwaited = false
            defer { state.reports = [] }
            return (state.places.state, state.reports)
        }
    }

    /// What has moved since the last call: bytes by destination, and the transfers that have got on.
    /// - Parameter elapsed: seconds since then.
    func takeTransfers(elapsed: Double) -> Transfers {
        let (transfers, offsets) = state.withLock { state -> (Transfers, [(Int, ExecutionWrite)]) in
            var links: [Destination: Transfers.Link] = [:]
            var transfers: [Transfers.Transfer] = []
            var offsets: [(Int, ExecutionWrite)] = []
            // What has ended since the last call counts too: the last bytes of a transfer belong to its link.
            for (destination, tally) in state.tallies where tally.ended != tally.reported {
                links[destination] = Transfers.Link(
                    destination: destination, direction: .up, bytes: tally.ended, rate: 0, inFlight: 0)
            }
            for (id, running) in state.running {
                let reading = running.meter.reading
                let before = running.reported
                guard reading.bytes > 0 || reading.offset > 0 else { continue }
                let destination = running.command.destination
                var link =
                    links[destination]
                    ?? Transfers.Link(
                        destination: destination, direction: .up, bytes: state.tallies[destination]?.ended ?? 0,
                        rate: 0, inFlight: 0)
                link.bytes += reading.bytes
                link.inFlight += 1
                links[destination] = link
                guard reading != before else { continue }
                running.reported = reading
                transfers.append(
                    .init(
                        id: id, claim: running.command.claim, offset: reading.offset, total: reading.total,
                        rate: Int64(Double(reading.bytes - before.bytes) / elapsed)))
                if reading.offset != before.offset {
                    let write = ExecutionWrite.offset(
                        id, claim: running.command.claim, offset: reading.offset, total: reading.total)
                    offsets.append((id.shard(of: committers.count), write))
                }
            }
            for (destination, link) in links {
                let before = state.tallies[destination]?.reported ?? 0
                links[destination]?.rate = Int64(Double(link.bytes - before) / elapsed)
                state.tallies[destination, default: Tally()].reported = link.bytes
            }
            return (Transfers(links: Array(links.values), transfers: transfers), offsets)
        }
        for (shard, write) in offsets { committers[shard].ride(write) }
        return transfers
    }

    // MARK: Draining

    /// Begins nothing more, releases what has not begun, stops low quality at once.
    func drain() {
        change { state, actions in
            for id in state.places.drain() {
                Self.end(id, .released(reason: Stop.drained.reason, ambiguous: false), &state, &actions)
            }
            for (id, running) in state.running where running.command.qos.serviceClass == .low {
                Self.stop(id, .drained, &state, &actions)
            }
        }
    }

    /// The grace is over: stops the rest.
    func stopAll() {
        change { state, actions in
            for id in Array(state.running.keys) { Self.stop(id, .drained, &state, &actions) }
        }
    }

    /// Returns when nothing is held any more.
    func idle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.places.heldCount == 0 { return true }
                state.whenIdle = continuation
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    // MARK: From the committers

    func committed(_ batch: Committer.Batch, shard: Int) {
        guard let outcomes = batch.outcomes else { return failed(batch, shard: shard) }
        let now = Int64(clinux_monotonic())
        change { state, actions in
            for (write, outcome) in zip(batch.writes, outcomes) {
                settle(write, outcome, shard: shard, now: now, &state, &actions)
            }
        }
    }

    private func failed(_ batch: Committer.Batch, shard: Int) {
        logger.error(
            "A commit failed: \(batch.error?.message ?? "no reason given")",
            metadata: ["shard": "\(shard)", "writes": "\(batch.writes.count)"])
        change { state, actions in
            for write in batch.writes {
                switch write {
                case .claim(let id, _): state.places.refused(id)
                case .sent, .offset, .end: forget(write.id, &state, &actions)
                }
            }
        }
    }

    private func settle(
        _ write: ExecutionWrite, _ outcome: ExecutionOutcome, shard: Int, now: Int64, _ state: inout State,
        _ actions: inout Actions
    ) {
        switch (write, outcome) {
        case (.claim(let id, _), .claimed(let command, let payload, let transitions)):
            guard let operation = registry[command.type] else {
                // Offered by mistake; nothing has begun.
                state.places.claimed(id, preemptible: false, now: now)
                state.places.ended(id)
                actions.writes.append(
                    .end(id, claim: command.claim, .released(reason: "no operation here", ambiguous: false)))
                return
            }
            state.running[id] = Running(command: command, payload: payload, operation: operation)
            state.places.claimed(id, preemptible: command.idempotent, now: now)
            report(transitions, of: command, retries: command.retries, shard: shard, &state)
            if state.places.state.phase == .draining {
                _ = state.places.drain()
                Self.end(id, .released(reason: Stop.drained.reason, ambiguous: false), &state, &actions)
            }
        case (.claim(let id, _), _):
            state.places.refused(id)
        case (.sent(let id, _), .done(let transitions, let retries)):
            guard let running = state.running[id] else { return }
            report(transitions, of: running.command, retries: retries, shard: shard, &state)
            if let sent = running.sent { actions.resumes.append((sent, true)) }
            running.sent = nil
        case (.sent(let id, _), .refused):
            // A wish stands; its owner fulfils it.
            guard let running = state.running[id] else { return }
            if running.stop == nil { running.stop = .cancelled }
            if let sent = running.sent { actions.resumes.append((sent, false)) }
            running.sent = nil
        case (.end(let id, _, _), .done(let transitions, let retries)):
            guard let running = state.running.removeValue(forKey: id) else { return state.places.settled(id) }
            report(transitions, of: running.command, retries: retries, fault: running.fault, shard: shard, &state)
            retire(running, &state)
            state.places.settled(id)
        case (.offset, _):
            break
        case (.sent(let id, _), _), (.end(let id, _, _), _):
            logger.warning(
                "Another execution has taken over; this one reports nothing.", metadata: ["command": "\(id)"])
            forget(id, &state, &actions)
        }
    }

    private func report(
        _ transitions: [Transition], of command: Command, retries: Int, fault: Failure.Fault? = nil, shard: Int,
        _ state: inout State
    ) {
        for transition in transitions {
            let event = StatusEvent(
                transition: transition, type: command.type, qos: command.qos, destination: command.destination,
                retries: retries, shard: shard)
            state.reports.append(StatusReport(event: event, fault: fault))
        }
    }

    /// The command is not ours any more: its operation is stopped, and nothing is written.
    private func forget(_ id: CommandID, _ state: inout State, _ actions: inout Actions) {
        state.places.settled(id)
        guard let running = state.running.removeValue(forKey: id) else { return }
        if let sent = running.sent { actions.resumes.append((sent, false)) }
        if let task = running.task { actions.tasks.append(task) }
        retire(running, &state)
    }

    private func retire(_ running: Running, _ state: inout State) {
        let bytes = running.meter.reading.bytes
        if bytes > 0 { state.tallies[running.command.destination, default: Tally()].ended += bytes }
    }

    // MARK: The life of an execution

    private static func stop(_ id: CommandID, _ stop: Stop, _ state: inout State, _ actions: inout Actions) {
        guard let running = state.running[id], !running.isEnding, running.stop == nil else { return }
        running.stop = stop
        if let task = running.task {
            actions.tasks.append(task)
        } else if !running.hasBegun {
            end(id, ending(of: nil, stop: stop, began: false), &state, &actions)
        }
    }

    private static func end(_ id: CommandID, _ ending: Ending, _ state: inout State, _ actions: inout Actions) {
        guard let running = state.running[id], !running.isEnding else { return }
        running.isEnding = true
        if case .failure(let failure) = ending { running.fault = failure.fault }
        state.places.ended(id)
        actions.writes.append(.end(id, claim: running.command.claim, ending))
    }

    /// What an execution that was told to stop, or failed, comes to.
    private static func ending(of error: (any Error)?, stop: Stop?, began: Bool) -> Ending {
        let ambiguous = (error as? Failure)?.ambiguous ?? began
        switch stop {
        case .cancelled: return .cancelled(reason: Stop.cancelled.reason)
        case .preempted, .drained: return .released(reason: stop?.reason ?? "", ambiguous: ambiguous)
        case nil: break
        }
        switch error {
        case let failure as Failure: return .failure(failure)
        case let error?: return .failure(Failure(.command, reason: "\(error)", ambiguous: began))
        case nil: return .released(reason: "stopped", ambiguous: began)
        }
    }

    private func begin(_ id: CommandID) {
        let running = state.withLock { state in state.running[id].flatMap { $0.isEnding ? nil : $0 } }
        guard let running else { return }
        let task = Task { await self.execute(running) }
        let stops = state.withLock { _ in
            running.task = task
            return running.stop != nil
        }
        if stops { task.cancel() }
    }

    private func execute(_ running: Running) async {
        let execution = Execution(command: running.command, payload: running.payload, meter: running.meter)
        let id = execution.id
        var began = false
        do {
            if running.operation.preparesBeforeSending {
                try await running.operation.prepare(execution)
                guard await commitSent(execution) else {
                    return finish(id) { Self.ending(of: nil, stop: $0, began: false) }
                }
            }
            began = true
            let result = try await running.operation.execute(execution)
            finish(id) { _ in .success(result: result) }
        } catch {
            let began = began
            finish(id) { Self.ending(of: error, stop: $0, began: began) }
        }
    }

    private func commitSent(_ execution: Execution) async -> Bool {
        let shard = execution.id.shard(of: committers.count)
        return await withCheckedContinuation { continuation in
            let isOurs = state.withLock { state in
                guard state.running[execution.id] != nil else { return false }
                state.running[execution.id]?.sent = continuation
                return true
            }
            guard isOurs else { return continuation.resume(returning: false) }
            committers[shard].add(.sent(execution.id, claim: execution.claim))
        }
    }

    private func finish(_ id: CommandID, _ ending: (Stop?) -> Ending) {
        change { state, actions in
            guard let running = state.running[id] else { return }
            Self.end(id, ending(running.stop), &state, &actions)
        }
    }

    /// Changes the state, lets the places decide, and acts outside the lock.
    private func change(_ body: (inout State, inout Actions) -> Void) {
        var actions = Actions()
        state.withLock { state in
            body(&state, &actions)
            let decision = state.places.begin(now: Int64(clinux_monotonic()))
            for offer in decision.claims {
                let prepares = registry[offer.type]?.preparesBeforeSending ?? true
                actions.writes.append(.claim(offer.id, sent: !prepares))
            }
            for id in decision.preempts { Self.stop(id, .preempted, &state, &actions) }
            for id in decision.starts { state.running[id]?.hasBegun = true }
            actions.starts = decision.starts
            if !state.reports.isEmpty, !state.reportsAreAwaited {
                state.reportsAreAwaited = true
                actions.wakesReporter = true
            }
            if state.places.heldCount == 0, let idle = state.whenIdle {
                actions.idle = idle
                state.whenIdle = nil
            }
        }
        act(actions)
    }

    private func act(_ actions: Actions) {
        for (continuation, value) in actions.resumes { continuation.resume(returning: value) }
        for task in actions.tasks { task.cancel() }
        add(actions.writes)
        for id in actions.starts { begin(id) }
        if actions.wakesReporter { wakeReporter() }
        actions.idle?.resume()
    }

    /// Hands each committer its writes at once, so that they meet in one commit.
    private func add(_ writes: [ExecutionWrite]) {
        guard writes.count > 1 else {
            if let write = writes.first { committers[write.id.shard(of: committers.count)].add(write) }
            return
        }
        var byShard = [[ExecutionWrite]](repeating: [], count: committers.count)
        for write in writes { byShard[write.id.shard(of: committers.count)].append(write) }
        for (shard, writes) in byShard.enumerated() where !writes.isEmpty { committers[shard].add(writes) }
    }
}
