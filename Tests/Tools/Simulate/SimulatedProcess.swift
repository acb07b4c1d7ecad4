internal import CSimulation
internal import Commands
internal import Host
internal import Store
internal import Synchronization
internal import Work

/// A process of a worker: it lives, dies at a point of its own or from outside, and never runs afterwards.
final class SimulatedProcess: Sendable {
    /// From 1.
    let number: Int
    let epoch: Int64
    private let isDead = Atomic(false)
    private let ledger: Ledger
    private let wake: MonotonicSemaphore
    /// Commits that are on their way to the store.
    private let travelling = Mutex<[CommitGroup: [ExecutionWrite]]>([:])

    /// - Parameter wake: signalled at its death.
    init(number: Int, ledger: Ledger, wake: MonotonicSemaphore) {
        self.number = number
        epoch = Int64(number)
        self.ledger = ledger
        self.wake = wake
    }

    var lives: Bool { !isDead.load(ordering: .relaxed) }

    func die() {
        guard lives else { return }
        isDead.store(true, ordering: .relaxed)
        ledger.died(number)
        simulation_kill(Int32(number))
        wake.signal()
    }

    /// Kills the process at a point of its own. Does not return.
    func dieHere() -> Never {
        die()
        simulation_park()
    }

    /// Does not return in a dead process. The threads of operations serve every process, so that they may still run.
    func requireLife() { if !lives { simulation_park() } }

    func travels(_ writes: [ExecutionWrite]?, group: CommitGroup) { travelling.withLock { $0[group] = writes } }
    var travellingWrites: [(group: CommitGroup, writes: [ExecutionWrite])] {
        travelling.withLock { all in all.sorted { $0.key.index < $1.key.index }.map { ($0.key, $0.value) } }
    }
}

/// A worker in its process.
final class SimulatedWorker {
    let process: SimulatedProcess
    let local: LocalWorker
    /// Commands that it was offered and has not resolved.
    var offered: Set<CommandID> = []

    init(_ process: SimulatedProcess, _ local: LocalWorker) {
        self.process = process
        self.local = local
    }
}
