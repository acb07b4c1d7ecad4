internal import CSimulation
internal import Commands
internal import Host
internal import Store
internal import Synchronization
internal import TestSupport

/// The store as one worker sees it: its commits take time, fail, or end with an unknown outcome. A dead process reaches it no
/// more.
final class WorkerStore: ForwardingStore {
    private let store: MemoryStore
    private let process: SimulatedProcess
    private let faults: CommitFaults
    private let ledger: Ledger

    init(_ store: MemoryStore, of process: SimulatedProcess, _ faults: CommitFaults, _ ledger: Ledger) {
        self.store = store
        self.process = process
        self.faults = faults
        self.ledger = ledger
    }

    var target: any CommandStore & StoreHealth {
        process.requireLife()
        return store
    }

    func apply(
        _ writes: () -> [ExecutionWrite], group: CommitGroup, seat: Int, epoch: Int64, _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        process.requireLife()
        let fault = faults.next()
        if fault.isLocked {
            ledger.count("locked shards")
            simulation_sleep(attempt.timeout.nanoseconds)
            throw StoreError(.busy, "simulated: the shard is locked", shard: group.shards.first)
        }
        let writes = writes()
        process.travels(writes, group: group)
        simulation_sleep(fault.latency.nanoseconds)
        if fault.diesBefore { process.dieHere() }
        process.travels(nil, group: group)
        if fault.isLost {
            ledger.count("lost commits")
            let code: StoreError.Code = fault.isUnknown ? .unknown : .failed
            throw StoreError(code, "simulated: the commit failed", shard: group.shards.first)
        }
        let outcomes = try faults.commit(
            writes, to: store, group: group, session: (seat, epoch), attempt)
        for shard in group.shards { ledger.audit(shard: shard) }
        if fault.diesAfter { process.dieHere() }
        simulation_sleep(fault.answerLatency.nanoseconds)
        if fault.isUnknown {
            ledger.count("unknown commits")
            throw StoreError(.unknown, "simulated: the outcome of the commit is unknown", shard: group.shards.first)
        }
        return outcomes
    }
}

/// The fate of commits, and the rules that a broken store leaves out.
final class CommitFaults: Sendable {
    /// The fate of one commit.
    struct Fault: Sendable {
        var isLocked = false
        var isLost = false
        var isUnknown = false
        var diesBefore = false
        var diesAfter = false
        /// To the store, and back.
        var latency = Duration.zero
        var answerLatency = Duration.zero
    }

    private let plan: Plan
    private let broken: Break?
    private let random: Mutex<RandomStream>
    private let isCalm = Atomic(false)
    private let deaths = Atomic(0)

    init(_ plan: Plan, broken: Break?) {
        self.plan = plan
        self.broken = broken
        random = Mutex(RandomStream(seed: plan.seed, stream: 3))
    }

    /// From now on commits succeed.
    func calm() { isCalm.store(true, ordering: .relaxed) }
    var hasCalmed: Bool { isCalm.load(ordering: .relaxed) }

    /// Whether one more death is within the budget.
    func mayDie() -> Bool {
        deaths.wrappingAdd(1, ordering: .relaxed).newValue <= plan.maxDeaths
    }

    /// Draws the fate of the next commit.
    func next() -> Fault {
        let drawn = random.withLock { random in
            var fault = Fault()
            fault.latency = .microseconds(random.number(100...8_000))
            if random.chance(plan.rate(.slowCommit)) { fault.latency += random.time(upTo: .seconds(4)) }
            if random.chance(plan.rate(.slowCommit) / 4) { fault.answerLatency += random.time(upTo: .seconds(4)) }
            fault.isLocked = random.chance(plan.rate(.lockedShard))
            fault.isLost = random.chance(plan.rate(.lostCommit))
            fault.isUnknown = random.chance(plan.rate(.madeCommit))
            fault.diesBefore = random.chance(plan.rate(.commitDeath))
            fault.diesAfter = random.chance(plan.rate(.commitDeath))
            return fault
        }
        guard !hasCalmed else { return Fault(latency: .milliseconds(1)) }
        guard drawn.diesBefore || drawn.diesAfter, !mayDie() else { return drawn }
        var fault = drawn
        (fault.diesBefore, fault.diesAfter) = (false, false)
        return fault
    }

    /// One transaction, without the rule that is broken.
    func commit(
        _ writes: [ExecutionWrite], to store: MemoryStore, group: CommitGroup, session: (seat: Int, epoch: Int64),
        _ attempt: CommitAttempt
    ) throws(StoreError) -> CommitOutcome {
        func apply(_ writes: [ExecutionWrite]) throws(StoreError) -> CommitOutcome {
            var attempt = attempt
            if broken == .repetition { attempt.isRepetition = false }
            return try store.apply({ writes }, group: group, seat: session.seat, epoch: session.epoch, attempt)
        }
        let made = try apply(writes)
        guard let broken else { return made }
        var outcomes = Array(made)
        var effects = made.effects
        for (index, write) in writes.enumerated() {
            guard let row = store.command(write.id), row.status.isClaimed else { continue }
            switch (broken, write, made[index]) {
            case (.claim, .claim, .refused):
                outcomes[index] = .claimed(row, payload: store.payload(row.id) ?? [], [])
            case (.fence, _, .replaced):
                let again = try apply([write.with(claim: row.claim)])
                outcomes[index] = again[0]
                effects.append(again.effects)
            default: break
            }
        }
        return CommitOutcome(outcomes, effects)
    }
}

extension ExecutionWrite {
    /// The same write by an execution with another claim.
    fileprivate func with(claim: Int) -> ExecutionWrite {
        switch self {
        case .claim: self
        case .sent(let id, _): .sent(id, claim: claim)
        case .offset(let id, _, let offset, let total): .offset(id, claim: claim, offset: offset, total: total)
        case .saveCheckpoint(let id, _, let state): .saveCheckpoint(id, claim: claim, state: state)
        case .end(let id, _, let result): .end(id, claim: claim, result)
        }
    }
}
