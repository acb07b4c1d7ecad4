import Commands
import Foundation
import Host
import Store
import Synchronization
import TestSupport

/// Runs a coordinator, three workers and a door, and does to them what a schedule says (``FaultSchedule``), while producers
/// submit commands, a client uploads, and other processes cancel and retry commands. The schedule of faults and requests
/// follows the clock; everything else awaits events.
final class Torture: Sendable {
    static let workers = 3
    /// The coordinator, the workers and the door.
    static let slots = workers + 2

    let installation: Installation
    let receiver: MisbehavingReceiver
    let ledger: TortureLedger
    let clock: SteppedClock
    /// Every process that opens the store passes it, but the services.
    let gate = TortureGate()
    /// Nil during a restore, which no process may see.
    let opened: Mutex<SQLiteStore?>
    let seed: UInt64
    let sources: [(path: String, sha256: String)]
    let copies: String

    let fleet = TortureFleet(slots: Torture.slots)
    let doorPort: Int
    let isUnderFire = Atomic(true)
    let isDrained = Atomic(false)
    let isStopping = Atomic(false)
    /// How many faults of each kind have hit something.
    let hits = Mutex<[FaultSchedule.Name: Int]>([:])
    /// The newest backup, and the number of acknowledged commands when it was begun.
    let newestBackup = Mutex<(path: String, begun: Int)?>(nil)
    /// The true times of the restores.
    let restores = Mutex<[Timestamp]>([])
    /// Whether no process has missed a change of the clock, so that no age may have passed by the end.
    let agesHold = Atomic(true)

    init(
        _ installation: Installation, receiver: MisbehavingReceiver, ledger: TortureLedger, clock: SteppedClock,
        seed: UInt64
    ) throws {
        self.installation = installation
        self.receiver = receiver
        self.ledger = ledger
        self.clock = clock
        opened = Mutex(try installation.files())
        self.seed = seed
        doorPort = try freePort()
        var random = SeededRandom(seed: seed)
        sources = try [0, 1, 700, 4096, 65_536, 200_000].map { size in
            let bytes = random.bytes(size)
            return (try installation.directory.file("source-\(size)", bytes), sha256(bytes))
        }
        copies = try installation.directory.makeDirectory("copies")
        try prepareOperations(data: installation.data)
    }

    /// Runs the schedule, waits until every command has ended, and ends the processes in order.
    func run(_ schedule: FaultSchedule, commandsPerFault: Int) async throws {
        try await putSchedules()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for slot in 0..<Self.slots { group.addTask { try await self.superviseSlot(slot) } }
            async let poisoned: Void = poison()
            // The drain can end only after the last submit.
            try await withThrowingTaskGroup(of: Void.self) { actors in
                actors.addTask { try await self.inject(schedule) }
                actors.addTask { try await self.produce(schedule.faults.count * commandsPerFault) }
                actors.addTask { try await self.uploadThroughDoor() }
                actors.addTask { try await self.cancelAndRetry() }
                actors.addTask { try await self.holdUniqueKeys() }
                try await actors.waitForAll()
            }
            try clock.set(.zero)
            try await awaitSchedules()
            try await pauseSchedules()
            try await sealBatches(reading { $0 })
            try await drain()
            // The last kill comes before the first SIGTERM.
            try await poisoned
            try await finish()
            try await group.waitForAll()
        }
    }

    // MARK: The poison command

    /// Submits a command, and kills the worker at each of its executions.
    private func poison() async throws {
        let id = try await submit(
            ["noop", "--payload", #"{"milliseconds":20000}"#, "--qos", "userInitiated"], nil, number: 0
        ) { _ in .poison }.first
        guard let id else { return }
        while let worker = try await killExecutor(of: id) {
            hit(.kill)
            _ = await worker.end
        }
    }

    /// Waits until a worker executes the command, and kills it.
    /// - Returns: the worker; nil once the command was given up or every command has ended.
    private func killExecutor(of id: CommandID) async throws -> ChildProcess? {
        var victim: ChildProcess?
        try await until("the next execution of the poison command", within: .seconds(1200)) {
            if self.isDrained.load(ordering: .relaxed) { return true }
            let pid = try? await self.reading { store -> Int32? in
                guard let command = try store.command(id) else { return nil }
                // A restore may take it back to an earlier moment.
                if command.status == .tooManyTimes, !self.isUnderFire.load(ordering: .relaxed) { return 0 }
                guard command.status == .sent, let seat = command.seat else { return nil }
                return try store.sessions().first { $0.seat == seat }?.pid
            }
            guard let pid = pid ?? nil else { return false }
            if pid == 0 { return true }
            guard let worker = self.fleet.process(pid), self.fleet.strike(worker, SIGKILL) else { return false }
            victim = worker
            return true
        }
        return victim
    }

    // MARK: The end

    static let door = slots - 1
    var doorOrigin: String { "http://127.0.0.1:\(doorPort)" }

    /// Whether every slot has a ready process: coordinator and door hold their locks, and each worker has a session.
    var isReady: Bool {
        get async throws {
            let seated = try await reading { Set(try $0.sessions().map(\.pid)) }
            let run = DataDirectory(path: installation.data).run
            func holds(_ lock: RunDirectory.Lock, _ child: ChildProcess) -> Bool {
                String(decoding: contents(of: run.lock(lock)) ?? [], as: UTF8.self) == "\(child.pid)\n"
            }
            return fleet.processes.enumerated().allSatisfy { slot, child in
                guard let child, child.ending == nil else { return false }
                return switch slot {
                case 0: holds(.coordinator, child)
                case Self.door: holds(.door, child)
                default: seated.contains(child.pid)
                }
            }
        }
    }

    /// Waits until the coordinator has killed the stopped workers; a coordinator that started later kills
    /// them too. A worker that was stopped before it had a session is unknown to the coordinator, so this
    /// continues it.
    private func waitForStoppedWorkers() async throws {
        do {
            try await until("the end of the stopped workers", within: .seconds(60)) {
                let seated = try await self.reading { Set(try $0.sessions().map(\.pid)) }
                let hanging = self.fleet.processes.compactMap { $0 }.filter(\.isStopped)
                for child in hanging where !seated.contains(child.pid) { child.signal(SIGCONT) }
                return !hanging.contains { seated.contains($0.pid) }
            }
        } catch let missed as Missed {
            ledger.unexpected("a worker is stopped, and the coordinator does not kill it: \(missed)")
            for child in fleet.processes { child?.signal(SIGCONT) }
        }
    }

    private func drain() async throws {
        try await waitForStoppedWorkers()
        let store = try await reading { $0 }
        do {
            try await installation.drained(store, within: .seconds(180))
        } catch {
            for status in CommandStatus.allCases where !status.isFinal {
                for command in try store.list(CommandFilter(status: status), after: nil, limit: 20) {
                    ledger.unexpected(
                        "\(command.id) is still \(status): \(command.type) to \(command.destination), seat "
                            + "\(command.seat.map(String.init) ?? "none"), \(command.reason ?? "no reason")")
                }
            }
        }
        if !ledger.unexpected.isEmpty { print(installation.logs) }
        isDrained.store(true, ordering: .relaxed)
    }

    private func finish() async throws {
        // After the last fault a slot may be empty, or have a process that cannot handle a signal yet.
        try await until("a ready process in each slot", within: .seconds(60)) { try await self.isReady }
        isStopping.store(true, ordering: .relaxed)
        for slot in (0..<Self.slots).reversed() {
            guard let child = fleet.processes[slot] else { continue }
            let asked = "\(Timestamp.now)\(child.isStopped ? ", when it was stopped" : "")"
            child.signal(SIGTERM)
            let ending = try await child.end(within: .seconds(40))
            if ending != .exited(0) {
                let coordinator = fleet.processes[0]
                ledger.unexpected(
                    "\(child.name) (\(child.pid)) ended with \(ending) after SIGTERM at \(asked): "
                        + "\(child.errors.suffix(500)) the coordinator: \(coordinator?.errors.suffix(2000) ?? "-")")
            }
        }
    }
}
