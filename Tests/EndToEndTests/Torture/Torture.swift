import Commands
import Foundation
import Store
import Synchronization
import TestSupport

/// Kills, stops and restarts a coordinator, three workers and a door by a schedule, while producers submit commands, a
/// client uploads, and other processes cancel and retry commands. The schedule of faults and requests follows the clock;
/// everything else awaits events.
final class Torture: Sendable {
    static let workers = 3
    /// The coordinator, the workers and the door.
    static let slots = workers + 2

    let installation: Installation
    let receiver: MisbehavingReceiver
    let ledger: TortureLedger
    private let store: SQLiteStore
    let seed: UInt64
    let sources: [(path: String, sha256: String)]
    let copies: String

    /// The process of each slot, as in ``FaultSchedule``.
    private let slots = Mutex([ChildProcess?](repeating: nil, count: Torture.slots))
    private let doorPort: Int
    /// The processes that a fault has hit. The coordinator may kill only a stopped one of them.
    private let struck = Mutex<Set<Int32>>([])
    let isUnderFire = Atomic(true)
    private let isDrained = Atomic(false)
    private let isStopping = Atomic(false)
    private let killed = Atomic(0)
    private let stopped = Atomic(0)

    var kills: Int { killed.load(ordering: .relaxed) }
    var stops: Int { stopped.load(ordering: .relaxed) }

    init(
        _ installation: Installation, receiver: MisbehavingReceiver, ledger: TortureLedger, store: SQLiteStore,
        seed: UInt64
    ) throws {
        self.installation = installation
        self.receiver = receiver
        self.ledger = ledger
        self.store = store
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
    func run(_ schedule: FaultSchedule, commandsPerKill: Int) async throws {
        try await putSchedules()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for slot in 0..<Self.slots { group.addTask { try await self.superviseSlot(slot) } }
            async let poisoned: Void = poison()
            // The drain can end only after the last submit.
            try await withThrowingTaskGroup(of: Void.self) { actors in
                actors.addTask { try await self.inject(schedule) }
                actors.addTask { try await self.produce(schedule.faults.count * commandsPerKill) }
                actors.addTask { try await self.uploadThroughDoor() }
                actors.addTask { try await self.cancelAndRetry() }
                try await actors.waitForAll()
            }
            try await pauseSchedules()
            try await sealBatches(store)
            try await drain()
            // The last kill comes before the first SIGTERM.
            try await poisoned
            try await finish()
            try await group.waitForAll()
        }
    }

    // MARK: Processes

    /// The environment that drops a share of the messages of a process; the same seed drops the same messages.
    /// - Parameter process: a number that no other process of the run has.
    func drops(_ share: Double, process: Int) -> [String: String?] {
        ["SLUICE_TEST_DROP": "\(share):\(seed &+ UInt64(process))"]
    }

    private func superviseSlot(_ slot: Int) async throws {
        var incarnation = 0
        while !isStopping.load(ordering: .relaxed) {
            incarnation += 1
            let environment = drops(0.05, process: slot * 10_000 + incarnation)
            let child =
                switch slot {
                case 0: try installation.start("coordinator", environment: environment)
                case Self.door:
                    try installation.start("door", "--listen", "127.0.0.1:\(doorPort)", environment: environment)
                default:
                    try installation.start("worker", "--concurrency", "8", "--grace", "5s", environment: environment)
                }
            slots.withLock { $0[slot] = child }
            let ending = await child.end
            // A coordinator or a door may still find the lock of a killed one for a moment, and exits with 75.
            let isExpected =
                ending == .signalled(SIGKILL) && struck.withLock { $0.contains(child.pid) } || ending == .exited(0)
                || (slot == 0 || slot == Self.door) && ending == .exited(75)
            if !isExpected {
                ledger.unexpected("\(child.name) ended with \(ending): \(child.errors.suffix(500))")
                if incarnation > 5000 { return }
            }
        }
    }

    private func strike(_ child: ChildProcess?, _ number: Int32) -> Bool {
        guard let child else { return false }
        struck.withLock { _ = $0.insert(child.pid) }
        return child.signal(number)
    }

    private func inject(_ schedule: FaultSchedule) async throws {
        try await until("the first process of each slot") { self.slots.withLock { $0.allSatisfy { $0 != nil } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fault in schedule.faults {
                try await Task.sleep(for: fault.after)
                switch fault.kind {
                case .kill:
                    // The slot may be empty between two processes. Kill the next one as soon as it exists.
                    let child = try await awaited("a process to kill") {
                        let child = self.slots.withLock { $0[fault.victim] }
                        return self.strike(child, SIGKILL) ? child : nil
                    }
                    killed.add(1, ordering: .relaxed)
                    // Before the end is recorded the process would count as ready.
                    _ = await child.end
                case .stop(let pause):
                    guard let child = slots.withLock({ $0[fault.victim] }), strike(child, SIGSTOP) else { continue }
                    stopped.add(1, ordering: .relaxed)
                    guard let pause else { continue }
                    group.addTask {
                        try await Task.sleep(for: pause)
                        child.signal(SIGCONT)
                    }
                }
            }
            try await group.waitForAll()
        }
        isUnderFire.store(false, ordering: .relaxed)
    }

    // MARK: The poison command

    /// Submits a command, and kills the worker at each of its executions.
    private func poison() async throws {
        let id = try await submit(
            ["noop", "--payload", #"{"milliseconds":20000}"#, "--qos", "userInitiated"], nil, number: 0
        ) { _ in .poison }.first
        guard let id else { return }
        while let worker = try await killExecutor(of: id) {
            killed.add(1, ordering: .relaxed)
            _ = await worker.end
        }
    }

    /// Waits until a worker executes the command, and kills it.
    /// - Returns: the worker; nil once the command was given up or every command has ended.
    private func killExecutor(of id: CommandID) async throws -> ChildProcess? {
        var victim: ChildProcess?
        try await until("the next execution of the poison command", within: .seconds(1200)) {
            if self.isDrained.load(ordering: .relaxed) { return true }
            guard let command = try? self.store.command(id) else { return false }
            if command.status == .tooManyTimes { return true }
            guard command.status == .sent, let seat = command.seat,
                let session = try? self.store.sessions().first(where: { $0.seat == seat })
            else { return false }
            let worker = self.slots.withLock { $0.first { $0?.pid == session.pid } ?? nil }
            guard self.strike(worker, SIGKILL) else { return false }
            victim = worker
            return true
        }
        return victim
    }

    // MARK: The end

    private static let door = slots - 1
    var doorOrigin: String { "http://127.0.0.1:\(doorPort)" }

    /// Whether every slot has a ready process: coordinator and door hold their locks, and each worker has a session.
    private var isReady: Bool {
        get throws {
            let seated = Set(try store.sessions().map(\.pid))
            let run = DataDirectory(path: installation.data).run
            func holds(_ lock: RunDirectory.Lock, _ child: ChildProcess) -> Bool {
                String(decoding: contents(of: run.lock(lock)) ?? [], as: UTF8.self) == "\(child.pid)\n"
            }
            return slots.withLock { slots in
                slots.enumerated().allSatisfy { slot, child in
                    guard let child, child.ending == nil else { return false }
                    return switch slot {
                    case 0: holds(.coordinator, child)
                    case Self.door: holds(.door, child)
                    default: seated.contains(child.pid)
                    }
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
                let seated = Set(try self.store.sessions().map(\.pid))
                let hanging = self.slots.withLock { $0 }.compactMap { $0 }.filter(\.isStopped)
                for child in hanging where !seated.contains(child.pid) { child.signal(SIGCONT) }
                return !hanging.contains { seated.contains($0.pid) }
            }
        } catch let missed as Missed {
            ledger.unexpected("a worker is stopped, and the coordinator does not kill it: \(missed)")
            for child in slots.withLock({ $0 }) { child?.signal(SIGCONT) }
        }
    }

    private func drain() async throws {
        try await waitForStoppedWorkers()
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
        isDrained.store(true, ordering: .relaxed)
    }

    private func finish() async throws {
        // After the last fault a slot may be empty, or have a process that cannot handle a signal yet.
        try await until("a ready process in each slot") { try self.isReady }
        isStopping.store(true, ordering: .relaxed)
        for slot in (0..<Self.slots).reversed() {
            guard let child = slots.withLock({ $0[slot] }) else { continue }
            let asked = "\(Timestamp.now)\(child.isStopped ? ", when it was stopped" : "")"
            child.signal(SIGTERM)
            let ending = try await child.end(within: .seconds(40))
            if ending != .exited(0) {
                let coordinator = slots.withLock { $0[0] }
                ledger.unexpected(
                    "\(child.name) (\(child.pid)) ended with \(ending) after SIGTERM at \(asked): "
                        + "\(child.errors.suffix(500)) the coordinator: \(coordinator?.errors.suffix(2000) ?? "-")")
            }
        }
    }
}

extension ChildProcess {
    /// Whether SIGSTOP has stopped the process, or a signal has killed it and its end is not recorded yet.
    fileprivate var isStopped: Bool {
        // The format is “12 (a name with any characters) T …”.
        let status = String(decoding: contents(of: "/proc/\(pid)/stat") ?? [], as: UTF8.self)
        let state = status.split(separator: ")").last?.split(separator: " ").first ?? "X"
        return ending == nil && ["T", "Z", "X"].contains(state)
    }
}
