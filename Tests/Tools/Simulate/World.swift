internal import CSimulation
internal import Commands
internal import Host
internal import Logging
internal import Operations
internal import Store
internal import Synchronization
internal import Wire
internal import Work

/// One run: a store, its workers, and a thin dispatcher that plays the coordinator. It offers ready commands, promotes what is
/// due, reaps dead workers and starts others. It runs on the first thread of the simulation.
final class World {
    private enum Action {
        case submit
        case second
        case reap(SimulatedWorker)
        case start
        /// A commit of a dead worker reaches the store.
        case arrive([ExecutionWrite], CommitGroup, epoch: Int64)
    }

    /// Results that arrive on other threads.
    final class Inbox: Sendable {
        struct Result: Sendable {
            var process: Int
            var id: CommandID
            var reports: [StatusReport]
            var requests: [ClaimedCommand]
        }

        private let results = Mutex<[Result]>([])
        let wake = MonotonicSemaphore(value: 0)

        func put(_ result: Result) {
            results.withLock { $0.append(result) }
            wake.signal()
        }

        func take() -> [Result] {
            results.withLock { all in
                defer { all = [] }
                return all
            }
        }
    }

    let store: MemoryStore
    let ledger: Ledger
    let plan: Plan
    let broken: Break?
    let faults: CommitFaults
    private var workload: Workload
    var random: RandomStream
    let inbox = Inbox()
    private var agenda: [(at: Duration, action: Action)] = []
    var workers: [SimulatedWorker] = []
    private var epochs = 0
    /// Commands that a failure of their link has released wait, as the coordinator makes them wait.
    var holds: [CommandID: (until: Duration, count: Int)] = [:]
    var rounds = 0

    /// Longer than the longest backoff, and than any chain of a run.
    static let bound = Duration.seconds(3 * 3600)
    private static let seat = 0

    init(_ plan: Plan, broken: Break?, fail: @escaping @Sendable (Violation) -> Never) {
        self.plan = plan
        self.broken = broken
        let types: Set = [ScriptedOperation.plain, ScriptedOperation.prepared]
        store = MemoryStore(shardCount: plan.shards, types: CommandType.builtIn.union(types))
        ledger = Ledger(store, fail: fail)
        faults = CommitFaults(plan, broken: broken)
        workload = Workload(plan, store, ledger)
        random = RandomStream(seed: plan.seed, stream: 11)
    }

    var now: Duration { .nanoseconds(simulation_now()) }

    // MARK: Phases

    /// Faults happen for a time; then each command must end.
    func run() {
        let stalls = plan.rate(.stall)
        simulation_set_stalls(UInt32(stalls * 65536), Duration.seconds(2).nanoseconds)
        for _ in 0..<plan.workers { start() }
        for time in workload.times() { plan(.submit, at: time) }
        plan(.second, at: .seconds(1))
        turn(until: plan.faultTime)

        faults.calm()
        simulation_set_stalls(0, 0)
        tell(workload.finish().requests)
        auditShards()
        let end = now + Self.bound
        while now < end, !isAtRest {
            tell(workload.settleAll().requests)
            turn(until: min(now + .seconds(30), end))
        }
        ledger.auditAll(isSettled: true)
        for row in store.allCommands() { ledger.require(Oracles.hasEnded(row, within: Self.bound)) }
        stop()
    }

    private var isAtRest: Bool {
        agenda.allSatisfy { if case .second = $0.action { true } else { false } }
            && store.allCommands().allSatisfy { $0.status.isFinal && $0.status != .inDoubt }
    }

    private var sessions: [Session] {
        let all: any CommandStore = store
        return (try? all.sessions()) ?? []
    }

    /// Ends the workers. No session is left.
    private func stop() {
        workers = []
        let end = now + .seconds(60)
        while now < end, !sessions.isEmpty { simulation_sleep(1_000_000_000) }
        if let session = sessions.first {
            ledger.require(
                Violation(oracle: "O11", words: "the session of process \(session.epoch) is left"))
        }
    }

    // MARK: Turns

    private func plan(_ action: Action, at time: Duration) {
        let index = agenda.firstIndex { $0.at > time } ?? agenda.endIndex
        agenda.insert((time, action), at: index)
    }

    private func turn(until end: Duration) {
        while now < end {
            while let first = agenda.first, first.at <= now {
                agenda.removeFirst()
                perform(first.action)
            }
            receive()
            let due = sweep()
            let next = min(end, agenda.first?.at ?? end, due ?? end, now + .seconds(5))
            _ = inbox.wake.wait(timeout: max(next - now, .milliseconds(1)))
            // One round for all that has come.
            while inbox.wake.wait(timeout: .zero) {}
        }
    }

    private func perform(_ action: Action) {
        switch action {
        case .submit: if !faults.hasCalmed { workload.submit() }
        case .second: second()
        case .reap(let worker): reap(worker)
        case .start: start()
        case .arrive(let writes, let group, let epoch):
            ledger.count("late commits")
            _ = try? faults.commit(
                writes, to: store, group: group, session: (Self.seat, epoch), CommitAttempt(timeout: .zero))
        }
        auditShards()
    }

    func auditShards() { for shard in 0..<store.shardCount { ledger.audit(shard: shard) } }

    private func second() {
        plan(.second, at: now + .seconds(1))
        guard !faults.hasCalmed else { return }
        func happens(_ fault: Plan.Fault) -> Bool { random.chance(plan.rate(fault)) }
        if happens(.death), let worker = random.pick(workers), worker.process.lives, faults.mayDie() {
            worker.process.die()
        }
        if happens(.forgetting) { for worker in workers { worker.offered = [] } }
        if happens(.cancel) { tell(workload.cancel()?.requests ?? []) }
        if happens(.retry) { tell(workload.retry()?.requests ?? []) }
        if happens(.requalify) { workload.requalify() }
        if happens(.release) { release() }
        // Its transitions go with a command.
        auditShards()
        if happens(.prune) { workload.prune() }
        if broken == .reap, random.chance(0.1), let worker = random.pick(workers) {
            release(of: worker)
            // It lives, and may claim nothing more.
            plan(.start, at: now + .seconds(1))
        }
    }

    // MARK: Workers

    private func start() {
        epochs += 1
        let process = SimulatedProcess(number: epochs, ledger: ledger, wake: inbox.wake)
        let own = WorkerStore(store, of: process, faults, ledger)
        let operations = [ScriptedOperation.plain, ScriptedOperation.prepared].map {
            ScriptedOperation(type: $0, process: process, plan: plan, faults: faults, ledger: ledger)
        }
        simulation_set_process(Int32(process.number))
        defer { simulation_set_process(0) }
        let local = try? LocalWorker(
            store: own, registry: OperationRegistry(operations), epoch: process.epoch,
            observer: QuietObserver(), logger: Logger(label: "simulate") { _ in SwiftLogNoOpLogHandler() })
        if let local { workers.append(SimulatedWorker(process, local)) }
    }

    private func kill(_ worker: SimulatedWorker) {
        worker.process.die()
        bury()
    }

    /// Notices deaths: the reap and the next worker come later.
    private func bury() {
        for worker in workers where !worker.process.lives {
            let isLate = random.chance(plan.rate(.lateReap)) && !faults.hasCalmed
            plan(.reap(worker), at: now + random.time(upTo: isLate ? .seconds(20) : .seconds(1)))
            plan(.start, at: now + random.time(upTo: .seconds(5)))
            for (group, writes) in worker.process.travellingWrites where random.chance(plan.rate(.lateCommit)) {
                let arrival = now + random.time(upTo: .seconds(20))
                plan(.arrive(writes, group, epoch: worker.process.epoch), at: arrival)
            }
        }
        workers.removeAll { !$0.process.lives }
    }

    private func reap(_ worker: SimulatedWorker) {
        ledger.count("reaps")
        let started = random.chance(0.5) ? ledger.started(by: worker.process.number) : nil
        release(of: worker, started)
    }

    private func release(of worker: SimulatedWorker, _ started: StartedExecutions? = nil) {
        store.reap(
            seat: Self.seat, epoch: worker.process.epoch,
            DeathVerdict(charges: random.chance(0.8), started: started, reason: "its worker died")
        ) { tell($0.requests) }
    }

    /// Tells the workers of cancellation requests.
    func tell(_ requests: [ClaimedCommand]) {
        for request in requests {
            let worker = workers.first { $0.process.epoch == request.epoch }
            worker?.local.cancel(CommandClaim(id: request.id, claim: request.claim))
        }
    }

    /// The network stops an execution that may be made again.
    private func release() {
        let claimed = (0..<store.shardCount).flatMap { (try? store.claimed(shard: $0)) ?? [] }
        guard let command = random.pick(claimed), let row = store.command(command.id),
            row.idempotent || row.status == .queued
        else { return }
        let worker = workers.first { $0.process.epoch == command.epoch }
        worker?.local.release(CommandClaim(id: command.id, claim: command.claim), reason: "simulated: the link is poor")
    }

    private func receive() {
        bury()
        for result in inbox.take() {
            workers.first { $0.process.number == result.process }?.offered.remove(result.id)
            tell(result.requests)
            if result.reports.isEmpty {
                // Its shard was locked, or another worker has it. The coordinator offers it again later.
                let hold = holds[result.id] ?? (now, 0)
                holds[result.id] = (max(hold.until, now + .milliseconds(100)), hold.count)
            }
            for report in result.reports where report.fault == .link {
                let id = report.event.transition.id
                let count = holds[id]?.count ?? 0
                holds[id] = (now + .seconds(1 << min(count, 6)), count + 1)
            }
        }
    }
}
