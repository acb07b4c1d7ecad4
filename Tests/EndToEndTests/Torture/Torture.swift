import Commands
import Foundation
import Store
import Synchronization
import TestSupport

/// Processes under fire: a coordinator and three workers that are killed and stopped by a schedule and started again,
/// while producers submit and people cancel and retry.
final class Torture: Sendable {
    static let workers = 3

    private let installation: Installation
    private let receiver: MisbehavingReceiver
    private let ledger: TortureLedger
    private let store: SQLiteStore
    private let seed: UInt64
    private let sources: [(path: String, sha256: String)]
    private let copies: String

    /// The process of each slot: 0 the coordinator, 1… the workers.
    private let slots = Mutex([ChildProcess?](repeating: nil, count: Torture.workers + 1))
    /// Processes that a fault has met. The coordinator may kill one that was stopped, and no other.
    private let struck = Mutex<Set<Int32>>([])
    private let isUnderFire = Atomic(true)
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
        var random = SeededRandom(seed: seed)
        sources = try [0, 1, 700, 4096, 65_536, 200_000].map { size in
            let bytes = random.bytes(size)
            return (try installation.place.file("source-\(size)", bytes), sha256(bytes))
        }
        copies = try installation.place.directory("copies")
    }

    /// Runs the schedule, lets everything end, and ends the processes in good order.
    func run(_ schedule: FaultSchedule, commandsPerKill: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for slot in 0...Self.workers { group.addTask { try await self.keep(slot) } }
            async let poisoned: Void = poison()
            // Everything is drained only when nobody submits any more.
            try await withThrowingTaskGroup(of: Void.self) { world in
                world.addTask { try await self.fire(schedule) }
                world.addTask { try await self.produce(schedule.faults.count * commandsPerKill) }
                world.addTask { try await self.people() }
                try await world.waitForAll()
            }
            try await drain()
            // Who kills must have ended before anybody is asked to end.
            try await poisoned
            try await finish()
            try await group.waitForAll()
        }
    }

    // MARK: Processes

    /// Loses a share of what a process says, the same messages whenever the seed is the same.
    /// - Parameter process: tells it from the others of the run.
    private func drops(_ share: Double, process: Int) -> [String: String?] {
        ["SLUICE_TEST_DROP": "\(share):\(seed &+ UInt64(process))"]
    }

    private func keep(_ slot: Int) async throws {
        var incarnation = 0
        while !isStopping.load(ordering: .relaxed) {
            incarnation += 1
            let environment = drops(0.05, process: slot * 10_000 + incarnation)
            let child =
                slot == 0
                ? try installation.start("coordinator", environment: environment)
                : try installation.start("worker", "--concurrency", "8", "--grace", "5s", environment: environment)
            slots.withLock { $0[slot] = child }
            let ending = await child.end
            // A coordinator that follows a killed one may find its lock still held for a moment.
            let isExpected =
                ending == .signalled(SIGKILL) && struck.withLock { $0.contains(child.pid) } || ending == .exited(0)
                || slot == 0 && ending == .exited(75)
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

    private func fire(_ schedule: FaultSchedule) async throws {
        try await until("the first process of each slot") { self.slots.withLock { $0.allSatisfy { $0 != nil } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fault in schedule.faults {
                try await Task.sleep(for: fault.after)
                switch fault.kind {
                case .kill:
                    // The slot may be between two processes: the kill is made as soon as there is one.
                    let child = try await awaited("a process to kill") {
                        let child = self.slots.withLock { $0[fault.victim] }
                        return self.strike(child, SIGKILL) ? child : nil
                    }
                    killed.add(1, ordering: .relaxed)
                    // Until its end is noted it would pass for one that is ready.
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

    // MARK: The world around

    /// A command at which its worker dies, each time.
    private func poison() async throws {
        let id = try await submit(
            ["noop", "--payload", #"{"milliseconds":20000}"#, "--qos", "userInitiated"], nil, number: 0
        ) { _ in .poison }.first
        guard let id else { return }
        while !isDrained.load(ordering: .relaxed) {
            if let command = try? store.command(id) {
                if command.status == .tooManyTimes { return }
                if command.status == .sent, let seat = command.seat,
                    let session = try? store.sessions().first(where: { $0.seat == seat })
                {
                    let worker = slots.withLock { $0.first { $0?.pid == session.pid } ?? nil }
                    if strike(worker, SIGKILL) {
                        killed.add(1, ordering: .relaxed)
                        _ = await worker?.end
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func produce(_ count: Int) async throws {
        var random = SeededRandom(seed: seed ^ 0xA5A5)
        var made = 0
        // Half of them at least, also where a busy machine takes longer for them than for the faults.
        while isUnderFire.load(ordering: .relaxed) || made < count && ledger.entries.count < count / 2 {
            if made >= count {
                try await Task.sleep(for: .milliseconds(50))
                continue
            }
            let bulk = random.number(in: 10..<60)
            let first = made
            made += bulk
            // Producers die as well, now and then in the middle of a bulk.
            let death = random.chance(0.1) ? Duration.milliseconds(Int64(random.number(in: 5..<80))) : nil
            let quality = QualityOfService.allCases[random.number(in: 0..<5)].name
            switch random.number(in: 0..<4) {
            case 0:
                let lines = (0..<bulk).map { _ in
                    #"{"payload":{"milliseconds":\#(random.number(in: 0..<40))},"qos":"\#(quality)"}"#
                }
                try await submit(["noop", "--payload", "-"], lines, number: made, killedAfter: death) { _ in .noop }
            case 1:
                let chosen = (0..<bulk).map { _ in sources[random.number(in: 0..<sources.count)] }
                let lines = chosen.enumerated().map { index, source in
                    upload(source.path, "\(receiver.origin)/put/\(first + index)", "PUT", quality)
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) { index in
                    .put(path: "/put/\(first + index)", sha256: chosen[index].sha256)
                }
            case 2:
                let lines = (0..<bulk).map { index in
                    upload(
                        sources[index % sources.count].path, "\(receiver.origin)/post/\(first + index)", "POST", quality
                    )
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) {
                    .post(path: "/post/\(first + $0)")
                }
            default:
                let chosen = (0..<bulk).map { _ in sources[random.number(in: 0..<sources.count)] }
                let lines = chosen.enumerated().map { index, source in
                    upload(source.path, "file://\(copies)/\(first + index)", "PUT", quality)
                }
                try await submit(["upload", "--payload", "-"], lines, number: made, killedAfter: death) { index in
                    .copy(path: "\(self.copies)/\(first + index)", sha256: chosen[index].sha256)
                }
            }
        }
    }

    private func upload(_ file: String, _ url: String, _ method: String, _ quality: String) -> String {
        #"{"payload":{"file":"\#(file)","to":"\#(url)","method":"\#(method)"},"qos":"\#(quality)"}"#
    }

    /// - Parameter number: of the submission; no other has it.
    @discardableResult
    private func submit(
        _ arguments: [String], _ lines: [String]?, number: Int, killedAfter: Duration? = nil,
        _ kind: (Int) -> TortureLedger.Entry.Kind
    ) async throws -> [CommandID] {
        let child = try installation.start(
            program: "\(Installation.bin)/sluice", ["submit"] + arguments,
            environment: drops(0.2, process: 1_000_000 + number),
            input: lines.map { Array($0.joined(separator: "\n").utf8) })
        if let killedAfter {
            try await Task.sleep(for: killedAfter)
            child.signal(SIGKILL)
        }
        let finished = try await installation.finished(child)
        // "Try again" is an answer; what was printed before it counts, and before a death.
        if finished.code != 0, finished.code != 75, finished.ending != .signalled(SIGKILL) || killedAfter == nil {
            ledger.unexpected("submit ended with \(finished.ending): \(finished.errors)")
        }
        for (index, id) in finished.ids.enumerated() { ledger.acknowledged(id, kind(index)) }
        return finished.ids
    }

    /// Cancels and retries some of what has been acknowledged.
    private func people() async throws {
        var random = SeededRandom(seed: seed ^ 0x5A5A)
        var number = 0
        while isUnderFire.load(ordering: .relaxed) {
            try await Task.sleep(for: .milliseconds(150))
            number += 1
            let order = ledger.order
            guard order.count > 50 else { continue }
            // A recent one is likely to be still on its way.
            let id = order[random.number(in: order.count - 50..<order.count)]
            if ledger.entries[id]?.kind == .poison { continue }
            if random.chance(0.7) {
                ledger.willCancel(id)
                if try await !wish("cancel", id, number) { ledger.wasNotCancelled(id) }
            } else {
                let cancelled = ledger.entries.filter { $0.value.cancelled > 0 }.keys.sorted()
                guard !cancelled.isEmpty else { continue }
                let again = cancelled[random.number(in: 0..<cancelled.count)]
                ledger.willRetry(again)
                if try await !wish("retry", again, number) { ledger.wasNotRetried(again) }
            }
        }
    }

    /// 1 says that its status does not allow it, 75 to try again.
    /// - Parameter number: of the wish; no other has it.
    /// - Returns: false where it certainly had no effect.
    private func wish(_ verb: String, _ id: CommandID, _ number: Int) async throws -> Bool {
        // The wish itself is in the store; only what tells of it is lost.
        let finished = try await installation.sluice(
            verb, "\(id)", environment: drops(0.2, process: 2_000_000 + number))
        if ![0, 1, 75].contains(finished.code) {
            ledger.unexpected("\(verb) ended with \(finished.ending): \(finished.errors)")
        }
        return finished.code != 1
    }

    // MARK: The end

    /// Every slot has a process that holds its place: the coordinator its lock, each worker a session.
    private var isReady: Bool {
        get throws {
            let seated = Set(try store.sessions().map(\.pid))
            let lock = contents(of: DataDirectory(path: installation.data).run.lock(.coordinator)) ?? []
            return slots.withLock { slots in
                slots.enumerated().allSatisfy { slot, child in
                    guard let child, child.ending == nil else { return false }
                    return slot == 0
                        ? String(decoding: lock, as: UTF8.self) == "\(child.pid)\n" : seated.contains(child.pid)
                }
            }
        }
    }

    /// Who hangs in a seat is killed by the coordinator, also by one that began later. Who was stopped before it had a
    /// session is known to nobody, and goes on.
    private func waitForTheHanging() async throws {
        do {
            try await until("the end of the workers that hang", within: .seconds(60)) {
                let seated = Set(try self.store.sessions().map(\.pid))
                let hanging = self.slots.withLock { $0 }.compactMap { $0 }.filter(\.isStopped)
                for child in hanging where !seated.contains(child.pid) { child.signal(SIGCONT) }
                return !hanging.contains { seated.contains($0.pid) }
            }
        } catch let missed as Missed {
            ledger.unexpected("a worker hangs, and nobody kills it: \(missed)")
            for child in slots.withLock({ $0 }) { child?.signal(SIGCONT) }
        }
    }

    private func drain() async throws {
        try await waitForTheHanging()
        do {
            try await installation.drained(store, within: .seconds(180))
        } catch {
            for status in [CommandStatus.new, .queued, .sent, .error] {
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
        // The last fault may have left a slot between two processes, or with one that cannot take a signal yet.
        try await until("a ready process in each slot") { try self.isReady }
        isStopping.store(true, ordering: .relaxed)
        for slot in (0...Self.workers).reversed() {
            guard let child = slots.withLock({ $0[slot] }) else { continue }
            let asked = "\(Timestamp.now)\(child.isStopped ? ", when it was stopped" : "")"
            child.signal(SIGTERM)
            let ending = try await child.end(within: .seconds(40))
            if ending != .exited(0) {
                let coordinator = slots.withLock { $0[0] }
                ledger.unexpected(
                    "\(child.name) (\(child.pid)) ended with \(ending) when it was asked to at \(asked): "
                        + "\(child.errors.suffix(500)) the coordinator: \(coordinator?.errors.suffix(2000) ?? "-")")
            }
        }
    }
}

extension ChildProcess {
    /// By SIGSTOP; or killed since, and its end is not noted yet.
    fileprivate var isStopped: Bool {
        // “12 (a name with anything in it) T …”
        let facts = String(decoding: contents(of: "/proc/\(pid)/stat") ?? [], as: UTF8.self)
        let state = facts.split(separator: ")").last?.split(separator: " ").first ?? "X"
        return ending == nil && ["T", "Z", "X"].contains(state)
    }
}
