internal import CSimulation
internal import Commands
internal import Host
internal import Operations
internal import Synchronization

/// An operation whose executions do what the seed, the command and the claim say. It asks the ledger before each step that a
/// real operation would send in.
struct ScriptedOperation: CommandOperation {
    /// Its claims commit `sent` too.
    static let plain = "scripted"
    /// It prepares, and commits `sent` afterwards.
    static let prepared = "prepared"

    let type: String
    let process: SimulatedProcess
    let plan: Plan
    let faults: CommitFaults
    let ledger: Ledger

    var preparesBeforeSending: Bool { type == Self.prepared }

    func prepare(_ execution: CommandExecution) async throws {
        var random = random(execution, stream: 5)
        try await wait(random.time(upTo: .seconds(1)), &random)
        if !faults.hasCalmed, plan.features.contains(.failures), random.chance(0.1) {
            throw CommandFailure(.command, reason: "simulated: the source cannot be read", delivery: .refused)
        }
    }

    func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        process.requireLife()
        let claim = CommandClaim(id: execution.id, claim: execution.claim)
        ledger.begin(claim, in: process.number)
        defer { ledger.end(claim, in: process.number) }
        var random = random(execution, stream: 7)
        for step in 1...random.number(1...5) {
            try await wait(random.time(upTo: faults.hasCalmed ? .milliseconds(100) : .seconds(5)), &random)
            dieByChance(&random)
            ledger.step(claim, in: process.number)
            execution.progress(offset: Int64(step), total: 5)
            guard random.chance(0.2) else { continue }
            try await execution.saveCheckpoint([UInt8(step)])
            process.requireLife()
            ledger.count("checkpoints")
        }
        if !faults.hasCalmed, plan.features.contains(.failures), random.chance(0.4) { throw failure(&random) }
        return random.chance(0.3) ? Array("{}".utf8) : nil
    }

    private func random(_ execution: CommandExecution, stream: UInt64) -> RandomStream {
        RandomStream(seed: plan.seed ^ execution.id.low &+ UInt64(execution.claim), stream: stream)
    }

    /// Waits as operations do: in a task, or in a blocking call, which does not see a stop before it returns.
    private func wait(_ time: Duration, _ random: inout RandomStream) async throws {
        if random.chance(0.5) {
            try await Task.sleep(for: time)
        } else {
            simulation_sleep(time.nanoseconds)
        }
        process.requireLife()
        // Some operations are slow to see it.
        if Task.isCancelled, random.chance(0.8) { throw CancellationError() }
    }

    private func dieByChance(_ random: inout RandomStream) {
        let dies = random.chance(plan.rate(.stepDeath))
        if dies, !faults.hasCalmed, faults.mayDie() {
            ledger.count("deaths at a step")
            process.dieHere()
        }
    }

    private func failure(_ random: inout RandomStream) -> any Error {
        struct UnexpectedError: Error {}
        let faults: [CommandFailure.Fault] = [.link, .reset, .destination, .credential, .final]
        guard let fault = random.chance(0.4) ? .command : random.pick(faults), random.chance(0.9) else {
            return UnexpectedError()
        }
        ledger.count("failures")
        let retryAfter: Duration? = random.chance(0.2) ? random.time(upTo: .seconds(60)) : nil
        return CommandFailure(
            fault, reason: "simulated: \(fault)", delivery: random.chance(0.5) ? .refused : .unknown,
            retryAfter: retryAfter)
    }
}

/// The executions are observed by their operation.
struct QuietObserver: ExecutionObserver {
    func started(_ execution: CommandExecution) async {}
    func saved(_ checkpoint: [UInt8]) async {}
    func progressed(offset: Int64, total: Int64) {}
}
