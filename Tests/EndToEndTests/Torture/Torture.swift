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
    private func drops(_ share: Double, process: Int) -> [String: String?] {
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

    // MARK: Producers and operators

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

    private enum Submission {
        case noops, puts, posts, copies, ordered, flow, batch
        case other(OtherOperation)

        /// Each is drawn before the deck is shuffled anew, so that no run lacks one.
        static let deck =
            [.noops, .puts, .posts, .copies, .ordered, .flow, .noops, .puts, .posts, .copies, .ordered, .flow]
            + [.batch, .batch] + OtherOperation.allCases.map { Submission.other($0) }
    }

    private func produce(_ count: Int) async throws {
        var random = SeededRandom(seed: seed ^ 0xA5A5)
        var deck: [Submission] = []
        var made = 0
        // Submit at least half of the commands, also where a busy machine needs longer for them than for the faults.
        while made < count, isUnderFire.load(ordering: .relaxed) || ledger.entries.count < count / 2 {
            let bulk = random.number(in: 10..<60)
            let first = made
            made += bulk
            // Producers die too, some of them in the middle of a bulk submit.
            let death = random.chance(0.1) ? Duration.milliseconds(Int64(random.number(in: 5..<80))) : nil
            let quality = QualityOfService.allCases[random.number(in: 0..<5)].name
            if deck.isEmpty { deck = Submission.deck.shuffled(using: &random) }
            switch deck.removeLast() {
            case .noops:
                let lines = (0..<bulk).map { index in
                    let limit = index % 3 == 0 ? #","limit":"\#(TortureChecker.limit)""# : ""
                    return #"{"payload":{"milliseconds":\#(random.number(in: 0..<40))},"qos":"\#(quality)"\#(limit)}"#
                }
                try await submit(["noop", "--payload", "-"], lines, number: made, killedAfter: death) { _ in .noop }
            case .puts:
                let chosen = (0..<bulk).map { _ in sources[random.number(in: 0..<sources.count)] }
                let lines = chosen.enumerated().map { index, source in
                    upload(source.path, "\(receiver.origin)/put/\(first + index)", "PUT", quality)
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) { index in
                    .put(path: "/put/\(first + index)", sha256: chosen[index].sha256)
                }
            case .posts:
                let lines = (0..<bulk).map { index in
                    upload(
                        sources[index % sources.count].path, "\(receiver.origin)/post/\(first + index)", "POST", quality
                    )
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) {
                    .post(path: "/post/\(first + $0)")
                }
            case .copies:
                let chosen = (0..<bulk).map { _ in sources[random.number(in: 0..<sources.count)] }
                let lines = chosen.enumerated().map { index, source in
                    upload(source.path, "file://\(copies)/\(first + index)", "PUT", quality)
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) { index in
                    .copy(path: "\(self.copies)/\(first + index)", sha256: chosen[index].sha256)
                }
            case .ordered:
                // A few keys, so that commands of several submissions meet.
                let lines = (0..<bulk).map { index in
                    #"{"payload":{"milliseconds":\#(index % 5)},"qos":"\#(quality)","orderingKey":"key \#(index % 3)"}"#
                }
                try await submit(["noop", "--payload", "-"], lines, number: made, killedAfter: death) { _ in .noop }
            case .flow:
                try await submit(
                    ["flow", "submit", "-"], [Self.flow(nodes: bulk, &random)], number: made, killedAfter: death
                ) { _ in .noop }
            case .batch:
                let lines = (0..<bulk).map { #"{"payload":{"milliseconds":\#($0 % 30)},"qos":"\#(quality)"}"# }
                try await submit(Self.batchArguments, lines, number: made, killedAfter: death) { _ in
                    .batch(members: bulk)
                }
            case .other(let operation):
                let commands = (0..<min(bulk, operation.maxCount)).map { command(operation, first + $0, quality) }
                try await submit(
                    [operation.type, "--payload", "-"], commands.map(\.line), number: made, killedAfter: death
                ) { commands[$0].kind }
            }
        }
    }

    /// A flow of no-ops, each of which waits for up to three earlier ones; some flows share an ordering key.
    private static func flow(nodes: Int, _ random: inout SeededRandom) -> String {
        let texts = (0..<nodes).map { number in
            let parents = number == 0 ? [] : (0..<random.number(in: 0..<4)).map { _ in random.number(in: 0..<number) }
            let after = Set(parents).sorted().map { #""n\#($0)""# }.joined(separator: ",")
            return
                #""n\#(number)":{"type":"noop","payload":{"milliseconds":\#(random.number(in: 0..<20))},"after":[\#(after)]}"#
        }
        let key = random.chance(0.3) ? #""orderingKey":"flows","# : ""
        return #"{\#(key)"nodes":{\#(texts.joined(separator: ","))},"then":{"end":{"type":"noop"}}}"#
    }

    private func upload(_ file: String, _ url: String, _ method: String, _ quality: String) -> String {
        #"{"payload":{"file":"\#(file)","to":"\#(url)","method":"\#(method)"},"qos":"\#(quality)"}"#
    }

    /// - Parameter number: a number that no other submission has.
    @discardableResult
    private func submit(
        _ arguments: [String], _ lines: [String]?, number: Int, killedAfter: Duration? = nil,
        _ kind: (Int) -> TortureLedger.Entry.Kind
    ) async throws -> [CommandID] {
        let child = try installation.start(
            program: "\(Installation.bin)/sluice",
            ["flow", "batch"].contains(arguments.first) ? arguments : ["submit"] + arguments,
            environment: drops(0.2, process: 1_000_000 + number),
            input: lines.map { Array($0.joined(separator: "\n").utf8) })
        if let killedAfter {
            try await Task.sleep(for: killedAfter)
            child.signal(SIGKILL)
        }
        let finished = try await installation.finished(child)
        // Exit code 75 (try again) is allowed. The UUIDs that were printed before it, or before a kill, are
        // acknowledged.
        if finished.code != 0, finished.code != 75, finished.ending != .signalled(SIGKILL) || killedAfter == nil {
            ledger.unexpected("submit ended with \(finished.ending): \(finished.errors)")
        }
        for (index, id) in finished.ids.enumerated() { ledger.acknowledged(id, kind(index)) }
        return finished.ids
    }

    /// Cancels and retries some of the acknowledged commands, at most one each 150 ms.
    private func cancelAndRetry() async throws {
        var random = SeededRandom(seed: seed ^ 0x5A5A)
        var number = 0
        while isUnderFire.load(ordering: .relaxed) {
            try await Task.sleep(for: .milliseconds(150))
            number += 1
            let order = ledger.order
            guard order.count > 50 else { continue }
            // A recent command has probably not ended yet.
            let id = order[random.number(in: order.count - 50..<order.count)]
            if ledger.entries[id]?.kind == .poison { continue }
            if random.chance(0.7) {
                ledger.willCancel(id)
                if try await !request("cancel", id, number) { ledger.wasNotCancelled(id) }
            } else {
                let cancelled = ledger.entries.filter { $0.value.cancelled > 0 }.keys.sorted()
                guard !cancelled.isEmpty else { continue }
                let again = cancelled[random.number(in: 0..<cancelled.count)]
                ledger.willRetry(again)
                if try await !request("retry", again, number) { ledger.wasNotRetried(again) }
            }
        }
    }

    /// Runs `sluice cancel` or `sluice retry`.
    /// - Parameter number: a number that no other request has.
    /// - Returns: false when the request certainly had no effect (exit code 1: the status does not allow it).
    private func request(_ verb: String, _ id: CommandID, _ number: Int) async throws -> Bool {
        // The request itself is in the store; only its hint is dropped.
        let finished = try await installation.sluice(
            verb, "\(id)", environment: drops(0.2, process: 2_000_000 + number))
        if ![0, 1, 75].contains(finished.code) {
            ledger.unexpected("\(verb) ended with \(finished.ending): \(finished.errors)")
        }
        return finished.code != 1
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
