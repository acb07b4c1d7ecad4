import Commands
import Host
import NetworkControl
import Store
import TestSupport
import Testing
import Wire

@testable import Coordination

/// A dispatcher, two workers and some destinations on a virtual clock. Destinations take random times to
/// answer; commands of random qualities of service arrive at random. Everything random comes from the seed.
struct FairnessSimulation: DispatcherFixtures {
    struct Running {
        var command: ReadyCommand
        var seat: Int
        var began: MonotonicTime
        var ends: MonotonicTime
    }

    static let step: Duration = .milliseconds(50)
    static let concurrency = 8
    static let workers = 2
    /// One destination that holds all ordinary slots, and one for each extra slot of the workers.
    static let destinations = 2...(1 + Admission.keptExtras * workers)

    let seed: UInt64
    var random: SeededRandom
    var dispatcher: Dispatcher
    var now = MonotonicTime.zero
    var running: [CommandID: Running] = [:]
    var waiting: [CommandID: ReadyCommand] = [:]
    /// When each destination began to have ready commands and none in flight.
    var idleSince: [Destination: MonotonicTime] = [:]
    let hosts: [Destination]
    let times: [Double]
    var number: Int64 = 0
    var seen = [0, 0]
    var resolved = [0, 0]
    var offered = 0
    var middleSince: MonotonicTime?
    /// When a command began to wait although there is room for it.
    var roomSince: MonotonicTime?
    var complaints: [String] = []

    init(seed: UInt64) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        let count = random.number(in: Range(Self.destinations))
        // Commands without a network, so that no link's limit decides.
        hosts = (0..<count).map { Destination(scheme: "http", host: "127.0.0.\($0 + 1)", port: 80) }
        times = (0..<count).map { _ in [0.05, 0.5, 5, 60][random.number(in: 0..<4)] * (0.5 + random.fraction()) }
        self.random = random
        dispatcher = Dispatcher(shardCount: 8)
        for seat in 0..<Self.workers {
            let hello = Hello(
                pid: 1, startTime: 1, bootID: "b", concurrency: Self.concurrency, types: ["noop"],
                executing: [])
            dispatcher.workerJoined(WorkerRecord(seat: seat, epoch: Int64(seat) + 1, hello: hello))
        }
    }

    mutating func run(seconds: Int) {
        for _ in 0..<(seconds * 20) {
            now += Self.step
            arrive()
            end()
            cut()
            reportStates()
            if now.nanoseconds % 250_000_000 == 0 { tick() }
            start(dispatcher.dispatch(at: at + (now - .zero), now: now))
            check()
        }
    }

    private mutating func arrive() {
        guard random.chance(0.1), waiting.count < 400 else { return }
        let host = hosts[random.number(in: 0..<hosts.count)]
        let qos: QualityOfService = [.userInitiated, .default, .utility, .background][random.number(in: 0..<4)]
        var commands: [ReadyCommand] = []
        for _ in 0..<[1, 4, 40][random.number(in: 0..<3)] {
            number += 1
            commands.append(
                ReadyCommand(
                    id: CommandID(high: UInt64(number), low: UInt64(number % 8)), type: "noop", qos: qos,
                    destination: host, turn: number, createdAt: at + (now - .zero)))
        }
        for command in commands { waiting[command.id] = command }
        dispatcher.insert(commands, now: now)
    }

    private mutating func end() {
        for (id, one) in running.sorted(by: { $0.key < $1.key }) where one.ends <= now {
            running[id] = nil
            resolved[one.seat] += 1
            dispatcher.transition(report(one.command, .success), now: now)
        }
    }

    /// Low transfers continue from where they were.
    private mutating func cut() {
        for order in dispatcher.links.orders where order.verb == .release {
            guard let one = running.removeValue(forKey: order.target.id) else { continue }
            resolved[one.seat] += 1
            waiting[one.command.id] = one.command
            dispatcher.transition(report(one.command, .new), now: now)
            dispatcher.insert([one.command], now: now)
        }
    }

    private mutating func reportStates() {
        for seat in 0..<Self.workers {
            var state = WorkerState()
            state.coordinator = 1
            state.seen = Int64(seen[seat])
            state.resolved = Int64(resolved[seat])
            dispatcher.report(seat: seat, state: state, coordinator: 1, now: now)
        }
    }

    private mutating func tick() {
        for seat in 0..<Self.workers {
            let mine = running.values.filter { $0.seat == seat }.sorted { $0.command.id < $1.command.id }
            let links = hosts.map { host in
                TransferReport.Link(
                    destination: host, direction: .up, bytes: [0, (now - .zero).milliseconds, 0], rate: 0,
                    inFlight: mine.count { $0.command.destination == host }, roundTrip: .milliseconds(1))
            }
            let transfers = mine.map { one in
                var transfer = TransferReport.Transfer(
                    id: one.command.id, claim: 1, link: hosts.firstIndex(of: one.command.destination) ?? 0,
                    qos: one.command.qos)
                transfer.isIdempotent = true
                transfer.isResumable = true
                transfer.acknowledged = (now - one.began).milliseconds
                transfer.offset = transfer.acknowledged
                transfer.total = 1 << 30
                return transfer
            }
            dispatcher.links.report(
                TransferReport(links: links, transfers: transfers), worker: Int64(seat) + 1, now: now)
        }
        dispatcher.networkTick(minuteOfDay: 0, now: now)
    }

    private mutating func start(_ dispatches: [Dispatcher.Dispatch]) {
        for dispatch in dispatches {
            for offer in dispatch.offers.offers {
                guard let command = waiting.removeValue(forKey: offer.id) else {
                    complain("\(offer.id) was offered twice")
                    continue
                }
                seen[dispatch.seat] += 1
                offered += 1
                let host = hosts.firstIndex(of: command.destination) ?? 0
                let time = times[host] * (0.8 + 0.4 * random.fraction())
                running[command.id] = Running(
                    command: command, seat: dispatch.seat, began: now, ends: now + .seconds(time))
                dispatcher.transition(report(command, .queued), now: now)
                dispatcher.transition(report(command, .sent), now: now)
            }
        }
    }

    // MARK: Invariants

    private mutating func check() {
        let slots = Self.concurrency * Self.workers
        let held = Dictionary(grouping: running.values, by: \.command.destination)
        for host in hosts {
            let isIdle = held[host] == nil && waiting.values.contains { $0.destination == host && !isClosed($0) }
            idleSince[host] = isIdle ? idleSince[host] ?? now : nil
            if let since = idleSince[host], now - since > .seconds(1) {
                complain("\(host) has waited for its first slot for \((now - since).seconds) s")
            }
        }
        let others = running.values.count { $0.command.qos.serviceClass != .high }
        if others > slots + Admission.extraSlots * Self.workers { complain("\(others) commands run") }
        for seat in 0..<Self.workers {
            let mine = running.values.filter { $0.seat == seat }
            if mine.count > 2 * Self.concurrency + Admission.extraSlots {
                complain("worker \(seat) runs \(mine.count)")
            }
        }
        // No slot stays idle: while one is free, only destinations wait that have their share or have not
        // answered.
        let both = Self.concurrency * 2
        let hasRoom = (0..<Self.workers).contains { seat in running.values.count { $0.seat == seat } < both - 2 }
        let idle = others < slots * 3 / 4 && hasRoom ? waiting.values.first { mayBegin($0, held, slots) } : nil
        roomSince = idle == nil ? nil : roomSince ?? now
        // A decision shows in the next step.
        if let idle, let since = roomSince, now - since > Self.step * 3 {
            complain("\(slots - others) slots are free, and a \(idle.qos) command of \(idle.destination) waits")
        }
        checkShares(slots)
    }

    /// High QoS gets the link of its destination, and low QoS is paused.
    private func isClosed(_ command: ReadyCommand) -> Bool {
        let key = ReadyKey(destination: command.destination, qos: command.qos)
        return command.qos.serviceClass == .low
            && dispatcher.admission.load(key, dispatcher.links, now: now).allowance.lowLimit == 0
    }

    private func mayBegin(_ command: ReadyCommand, _ held: [Destination: [Running]], _ slots: Int) -> Bool {
        guard command.qos.serviceClass != .high, !isClosed(command) else { return false }
        let own = held[command.destination]?.count { $0.command.qos.serviceClass != .high } ?? 0
        let key = ReadyKey(destination: command.destination, qos: command.qos)
        let slowStart = dispatcher.admission.load(key, dispatcher.links, now: now).allowance.slowStart
        return own < min(slots * 3 / 4, slowStart)
    }

    /// Middle QoS gets half of the slots within 5 s, where low QoS can be cut.
    private mutating func checkShares(_ slots: Int) {
        let middle = running.values.count { $0.command.qos.serviceClass == .middle }
        let hasLow = running.values.contains {
            $0.command.qos.serviceClass == .low && !dispatcher.holdsExtra($0.command.id)
        }
        let held = Dictionary(grouping: running.values, by: \.command.destination)
        let waits =
            hasLow && waiting.values.contains { $0.qos.serviceClass == .middle && mayBegin($0, held, slots) }
        middleSince = waits && middle < slots / 2 ? middleSince ?? now : nil
        if let since = middleSince, now - since > .seconds(5) {
            complain("middle has had \(middle) of \(slots) slots for \((now - since).seconds) s")
        }
    }

    private mutating func complain(_ what: String) {
        if complaints.count < 3 { complaints.append("seed \(seed), \((now - .zero).seconds) s: \(what)") }
    }
}

@Suite struct FairnessTests {
    @Test(.enabled(if: runsSlowTests, "slow"))
    func `with any seed every destination starts within a second, and every class gets its share`() {
        var random = SeededRandom.announced("fairness")
        for _ in RandomRounds("fairness", 20...200, within: .seconds(20)) {
            var simulation = FairnessSimulation(seed: random.next())
            simulation.run(seconds: 30)
            #expect(simulation.offered > 20)
            #expect(simulation.complaints.isEmpty)
            if !simulation.complaints.isEmpty { break }
        }
    }
}
