import Commands
import Host
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

/// The limits of commands: links, pauses and hours; and the floor that lets one of them through.
@Suite struct DispatcherGateTests: DispatcherFixtures {
    @Test func `three quick failures take a link offline, one probe at a time brings it back`() {
        var dispatcher = dispatcher(concurrency: 8)
        let commands = (1...8).map { ready(Int64($0), to: host) }
        dispatcher.insert(commands)
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)).count == 4, "the first limit of an unknown link")
        func fail(_ command: ReadyCommand, now: MonotonicTime) {
            dispatcher.transition(report(command, .new, fault: .link, reason: "refused"), now: now)
        }
        for command in commands.prefix(2) { fail(command, now: .zero) }
        #expect(level(dispatcher) == .unknown)
        fail(commands[2], now: .zero)
        #expect(level(dispatcher) == .offline)
        fail(commands[3], now: .zero)
        dispatcher.insert(Array(commands.prefix(4)))
        dispatcher.networkTick(minuteOfDay: 0, now: after(nanoseconds: 1))
        #expect(value(dispatcher.dispatch(at: at, now: after(nanoseconds: 1))).isEmpty)
        let firstProbe = value(dispatcher.nextProbe(of: host) ?? .zero)
        #expect((after(0.8)...after(1.2)).contains(firstProbe), "a second later, give or take a fifth")
        var state = WorkerState()
        state.coordinator = 9
        state.seen = 4
        state.resolved = 4
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: after(nanoseconds: 1))
        let probe = dispatcher.dispatch(at: at, now: firstProbe)
        #expect(numbers(probe).count == 1)
        #expect(value(dispatcher.dispatch(at: at, now: after(5))).isEmpty, "one at a time")
        let failed = ready(Int64(numbers(probe)[0]), to: host)
        dispatcher.transition(report(failed, .error, fault: .command), now: after(5))
        #expect(level(dispatcher) == .offline, "a 500 is not a success")
        state.seen = 5
        state.resolved = 5
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: after(5))
        let again = value(dispatcher.nextProbe(of: host) ?? .zero)
        #expect(again >= after(5))
        let next = dispatcher.dispatch(at: at, now: again)
        #expect(numbers(next).count == 1)
        dispatcher.transition(report(ready(Int64(numbers(next)[0]), to: host), .success), now: after(7))
        #expect(level(dispatcher) != .offline)
        #expect(numbers(dispatcher.dispatch(at: at, now: after(7))).count == 2)
        #expect(dispatcher.takeWanted().count == 4, "the others need not wait any longer")
    }

    @Test func `an offline destination does not hide the work of others`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.links.restore(
            LinkHistory(reference: 0, flows: 1, limit: 4, offline: .failures("refused")), of: LinkKey(host, .up),
            now: .zero)
        dispatcher.insert((1...300).map { ready(Int64($0), to: host) } + [ready(900)])
        let offered = numbers(dispatcher.dispatch(at: at, now: .zero))
        #expect(offered.contains(900))
        #expect(offered.count == 2, "the probe and the other")
    }

    @Test func `a link takes no more middle and low QoS than its limit, and high QoS is not bound by it`() {
        var dispatcher = dispatcher(concurrency: 16)
        dispatcher.insert((1...10).map { ready(Int64($0), to: host) })
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)).count == 4)
        dispatcher.insert([ready(20, .userInitiated, to: host), ready(21)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: .zero))) == [20, 21])
    }

    @Test func `more destinations than slots get no more than all slots together`() {
        var policy = NetworkPolicy()
        policy.globalLimit = 8
        var dispatcher = dispatcher(concurrency: 64, links: LinkAdmission(policy: policy))
        dispatcher.insert(
            (1...20).map { ready(Int64($0), to: Destination(scheme: "http", host: "h\($0)", port: 80)) })
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)).count == 8)
        #expect(value(dispatcher.dispatch(at: at, now: .zero)).isEmpty)
        // High QoS has slots of its own.
        dispatcher.insert([ready(30, .userInitiated, to: host)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [30])
    }

    @Test func `high QoS gets no more than all slots either, and no destination waits for another`() {
        var policy = NetworkPolicy()
        policy.globalLimit = 4
        var dispatcher = dispatcher(concurrency: 64, links: LinkAdmission(policy: policy))
        let other = Destination(scheme: "http", host: "b", port: 80)
        dispatcher.insert((1...20).map { ready(Int64($0), .userInitiated, to: host) })
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1, 2, 3, 4])
        dispatcher.insert((31...32).map { ready(Int64($0), .userInitiated, to: other) })
        dispatcher.insert([ready(41, .userInitiated), ready(42, to: host)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: .zero))) == [31, 41, 42])
    }

    @Test func `loopback has slots for all as soon as its server has shown that it takes them`() {
        var dispatcher = dispatcher(concurrency: 16)
        let local = Destination(scheme: "http", host: "127.0.0.1", port: 80)
        dispatcher.insert((1...30).map { ready(Int64($0), to: local) })
        var counts: [Int] = []
        for turn in 0..<3 {
            let now = after(Double(turn))
            let offered = numbers(dispatcher.dispatch(at: at, now: now)).map { ready(Int64($0), to: local) }
            counts.append(offered.count)
            start(offered, in: &dispatcher, now: now)
            for command in offered { dispatcher.transition(report(command, .success), now: now) }
            var state = WorkerState()
            state.coordinator = 9
            state.seen = Int64(counts.reduce(0, +))
            state.resolved = state.seen
            dispatcher.report(seat: 0, state: state, coordinator: 9, now: now)
        }
        #expect(counts == [4, 6, 8])
        #expect(!Destination(scheme: "http", host: "127.evil.com", port: 80).isLoopback)
    }

    /// A dispatcher whose host limits a person has set.
    private func limited(_ limits: DestinationLimits, concurrency: Int) -> Dispatcher {
        var policy = NetworkPolicy()
        policy.destinations[host] = limits
        return dispatcher(concurrency: concurrency, links: LinkAdmission(policy: policy))
    }

    @Test func `a quality of service that may not start does not hold back its class`() {
        var dispatcher = limited(DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120)), concurrency: 8)
        dispatcher.insert([ready(1, .background, to: host), ready(2, .utility, to: host)])
        dispatcher.networkTick(minuteOfDay: 30, now: .zero)
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [2])
        dispatcher.networkTick(minuteOfDay: 60, now: after(1))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(1))) == [1])
    }

    @Test func `hours apply from the first command of a destination`() {
        var dispatcher = limited(DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120)), concurrency: 8)
        dispatcher.networkTick(minuteOfDay: 30, now: .zero)
        // The destination is not known yet; utility, of the same class, may go.
        dispatcher.insert([ready(1, .background, to: host), ready(2, .utility, to: host)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [2])
        dispatcher.transition(report(ready(2, .utility, to: host), .queued), now: .zero)
        dispatcher.transition(report(ready(2, .utility, to: host), .success), now: .zero)
        dispatcher.insert([ready(3, .background, to: host)])
        #expect(value(dispatcher.dispatch(at: at, now: .zero)).isEmpty)
        dispatcher.networkTick(minuteOfDay: 60, now: after(1))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(1))) == [1, 3])
    }

    @Test func `neither the floor nor a reserved slot exceeds maxConcurrency`() {
        var dispatcher = limited(DestinationLimits(maxConcurrency: 1), concurrency: 8)
        dispatcher.insert([ready(1, to: host)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1])
        dispatcher.insert([ready(2, .background, to: host, age: 61_000)])
        #expect(value(dispatcher.dispatch(at: at, now: .zero)).isEmpty)
    }

    @Test
    func `under maxConcurrency, a command that has waited a minute gets the next slot, and the next one waits again`() {
        var dispatcher = limited(DestinationLimits(maxConcurrency: 1), concurrency: 8)
        let low = (11...13).map { ready($0, .utility, to: host, age: 61_000) }
        dispatcher.insert((1...9).map { ready($0, to: host) } + low)
        /// Numbers of the commands that run one after the other, each for some seconds.
        func run(_ count: Int64) -> [UInt64] {
            (0..<count).flatMap { turn -> [UInt64] in
                let now = after(10 * Double(turn))
                let next = numbers(dispatcher.dispatch(at: at, now: now))
                for number in next {
                    dispatcher.transition(
                        report(ready(Int64(number), number > 10 ? .utility : .default, to: host), .success), now: now)
                }
                return next
            }
        }
        #expect(run(8) == [11, 1, 2, 3, 4, 5, 12, 6])
    }

    @Test func `under maxConcurrency, a command that comes back waits for its turn`() {
        var dispatcher = limited(DestinationLimits(maxConcurrency: 1), concurrency: 8)
        let low = ready(1, .utility, to: host)
        dispatcher.insert([low])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1])
        start([low], in: &dispatcher, now: .zero)
        dispatcher.transition(report(low, .new, reason: "preempted"), now: .zero)
        dispatcher.insert([ready(2, to: host), low])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [2])
    }

    @Test func `a jump of the wall clock makes no command older and changes no order`() {
        let jump = Duration.seconds(8 * 86_400)
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background)])
        dispatcher.wallClockJumped(ClockJumps.Jump(by: jump, wall: at + jump, shardCount: dispatcher.shardCount))
        // By the clock, both have waited for eight days.
        #expect(numbers(dispatcher.dispatch(at: at + jump, now: .zero)) == [1])
        var late = ready(3, shard: 1)
        late.createdAt = at + jump
        dispatcher.insert([late])
        dispatcher.wallClockJumped(ClockJumps.Jump(by: .zero - jump, wall: at, shardCount: dispatcher.shardCount))
        dispatcher.insert([ready(4, shard: 2)])
        dispatcher.transition(report(ready(1), .success), now: after(1))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(1))).first == 3)
    }

    @Test func `a command that a clock ahead has dated counts as made now`() {
        var dispatcher = dispatcher(concurrency: 1)
        _ = dispatcher.dispatch(at: at, now: .zero)
        var ahead = ready(1)
        ahead.createdAt = at + .seconds(86_400)
        dispatcher.insert([ready(9)])
        #expect(numbers(dispatcher.dispatch(at: at + .seconds(1), now: after(1))) == [9])
        dispatcher.insert([ahead])
        var later = ready(2, shard: 1)
        later.createdAt = at + .seconds(2)
        dispatcher.insert([later])
        dispatcher.transition(report(ready(9), .success), now: after(2))
        #expect(numbers(dispatcher.dispatch(at: at + .seconds(2), now: after(2))).first == 1)
    }

    @Test func `the floor applies to suspects as well`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, suspect: true, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1, 2])
    }

    private func level(_ dispatcher: Dispatcher) -> LinkLevel {
        dispatcher.links.controller.level(of: LinkKey(host, .up))
    }

    @Test func `pauses hold back a quality, a destination, or everything`() {
        var dispatcher = dispatcher(concurrency: 8)
        dispatcher.pause(Pause.parse([SettingKey.pause(qos: .background, destination: nil): "now"]))
        dispatcher.insert([ready(1, .background), ready(2, .utility)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [2])
        dispatcher.pause(Pause.parse([SettingKey.pause(qos: nil, destination: host): "now"]))
        dispatcher.insert([ready(3, to: host), ready(4)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: .zero))) == [1, 4])
        dispatcher.pause(Pause.parse([SettingKey.pause(qos: nil, destination: nil): "now"]))
        dispatcher.insert([ready(5), ready(6, to: host)])
        #expect(value(dispatcher.dispatch(at: at, now: .zero)).isEmpty)
        dispatcher.pause([])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: .zero))) == [3, 5, 6])
    }

    @Test func `a class that has waited a minute behind higher ones gets one slot`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, age: 61_000), ready(3, .background, age: 61_000)])
        // The middle command fills the window; the floor lets one low command through, and no second.
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1, 2])
        #expect(value(dispatcher.dispatch(at: at, now: after(1))).isEmpty)
    }

    @Test func `a command that was cut gets the floor only after it has waited again`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1, to: host), ready(2, .background, to: host, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1, 2])
        let low = ready(2, .background, to: host, age: 61_000)
        dispatcher.transition(report(low, .queued), now: .zero)
        dispatcher.transition(report(low, .sent), now: .zero)
        dispatcher.transition(report(low, .new), now: after(1))
        dispatcher.insert([low])
        #expect(numbers(dispatcher.dispatch(at: at, now: after(2))).isEmpty)
        #expect(numbers(dispatcher.dispatch(at: at, now: after(62))) == [2])
    }

    @Test func `a command whose link failed waits a second before it is offered again, and longer each time`() {
        var dispatcher = dispatcher(concurrency: 8)
        let command = ready(1, to: host)
        dispatcher.insert([command])
        var now = MonotonicTime.zero
        for seconds in [1.0, 2, 4, 8] {
            #expect(numbers(dispatcher.dispatch(at: at, now: now)) == [1])
            start([command], in: &dispatcher, now: now)
            dispatcher.transition(report(command, .new, fault: .link, reason: "refused"), now: now)
            dispatcher.insert([command], now: now)
            #expect(value(dispatcher.dispatch(at: at, now: now + .seconds(0.74 * seconds))).isEmpty)
            #expect(dispatcher.takeWanted().isEmpty)
            now += .seconds(1.26 * seconds)
            #expect(value(dispatcher.dispatch(at: at, now: now)).isEmpty)
            #expect(dispatcher.takeWanted() == [command.id], "the store is asked whether it is ready still")
            dispatcher.insert([command], now: now)
        }
    }

    @Test func `a preempted, drained or reaped command does not wait`() {
        var dispatcher = dispatcher(concurrency: 8)
        let command = ready(1, to: host)
        dispatcher.insert([command])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1])
        start([command], in: &dispatcher, now: .zero)
        dispatcher.transition(report(command, .new, reason: "preempted"), now: .zero)
        dispatcher.insert([command])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1])
    }

    /// With 20,000 destinations that fail, the floor would look at as many commands each time.
    @Test func `the floor remembers broken transfers, and no attempt at a destination that does not answer`() {
        var dispatcher = dispatcher()
        let commands = (1...3).map { ready(Int64($0), to: host) }
        for (command, end) in zip(commands, [CommandStatus.new, .success, .new]) {
            dispatcher.insert([command])
            #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [command.id.high])
            dispatcher.transition(report(command, .sent), now: .zero)
            dispatcher.transition(report(command, end, fault: end == .new ? .link : nil), now: .zero)
            let isBroken = command.id == commands[2].id
            #expect(Set(dispatcher.reconnecting.keys) == (isBroken ? [command.id] : []))
        }
    }

    @Test func `a low transfer keeps its slot beside high QoS that holds all of its own`() {
        let (low, high) = (low, high)
        var (dispatcher, traffic) = beside(low, high)
        dispatcher.transition(report(low[0], .new, reason: "preempted"), now: traffic.now)
        dispatcher.insert([low[0]])
        #expect(numbers(dispatcher.dispatch(at: at, now: traffic.now)) == [1])
    }

    @Test func `a broken transfer waits for less than a minute where the limit has fallen beside high QoS`() {
        let (low, high) = (low, high)
        var (dispatcher, traffic) = beside(low, high)
        for _ in 0..<2 {
            for one in high.prefix(2) {
                dispatcher.transition(report(one, .new, fault: .link, reason: "stalled"), now: traffic.now)
            }
            traffic.flow(Array(low.prefix(4)) + high.dropFirst(2), seconds: 3, through: &dispatcher)
            _ = dispatcher.dispatch(at: at, now: traffic.now)
            dispatcher.insert(Array(high.prefix(2)), now: traffic.now)
            #expect(Set(numbers(dispatcher.dispatch(at: at, now: traffic.now))) == [11, 12])
            start(Array(high.prefix(2)), in: &dispatcher, now: traffic.now)
            traffic.flow(Array(low.prefix(4)) + high, seconds: 1, through: &dispatcher)
        }

        dispatcher.transition(report(low[0], .blocked, fault: .command, reason: "locked"), now: traffic.now)
        dispatcher.insert([low[0]])
        let stalled = traffic.now
        #expect(value(dispatcher.dispatch(at: at, now: traffic.now)).isEmpty, "the limit is below what runs")
        var offered: [UInt64] = []
        while offered.isEmpty, traffic.now < stalled + .seconds(300) {
            traffic.flow(low[1...3] + high, seconds: 1, through: &dispatcher)
            offered = numbers(dispatcher.dispatch(at: at, now: traffic.now))
        }
        #expect(offered == [1])
        #expect(traffic.now - stalled < .seconds(60))
    }

    private var low: [ReadyCommand] { (1...6).map { ready(Int64($0), .utility, to: host) } }
    private var high: [ReadyCommand] { (11...14).map { ready(Int64($0), .userInitiated, to: host) } }

    /// Four low transfers run, and beside them high ones in all of their own slots.
    private func beside(_ low: [ReadyCommand], _ high: [ReadyCommand]) -> (Dispatcher, Traffic) {
        var policy = NetworkPolicy()
        policy.globalLimit = 8
        policy.good.limit = 4
        var dispatcher = dispatcher(concurrency: 8, links: LinkAdmission(policy: policy))
        dispatcher.insert(low)
        var traffic = Traffic(to: host)
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1, 2, 3, 4])
        start(Array(low.prefix(4)), in: &dispatcher, now: .zero)
        traffic.flow(Array(low.prefix(4)), seconds: 5, through: &dispatcher)
        dispatcher.insert(high)
        #expect(numbers(dispatcher.dispatch(at: at, now: traffic.now)).count == 4)
        start(high, in: &dispatcher, now: traffic.now)
        traffic.flow(low.prefix(4) + high, seconds: 30, through: &dispatcher)
        return (dispatcher, traffic)
    }

    /// The reports of workers on a link where each transfer gets 6.4 Mbit/s, and a low one beside high ones a
    /// tenth.
    private struct Traffic {
        let host: Destination
        private(set) var now = MonotonicTime.zero
        private var bytes: [Int64] = [0, 0, 0]
        private var acknowledged: [CommandID: Int64] = [:]

        init(to host: Destination) { self.host = host }

        /// These run for some seconds.
        mutating func flow(_ commands: [ReadyCommand], seconds: Int, through dispatcher: inout Dispatcher) {
            for _ in 0..<(4 * seconds) {
                now += .milliseconds(250)
                let hasHigh = commands.contains { $0.qos.serviceClass == .high }
                for command in commands {
                    let share: Int64 = hasHigh && command.qos.serviceClass == .low ? 20_000 : 200_000
                    acknowledged[command.id, default: 0] += share
                    bytes[command.qos.serviceClass.rawValue] += share
                }
                let link = TransferReport.Link(
                    destination: host, direction: .up, bytes: bytes, rate: Int64(commands.count) * 800_000,
                    inFlight: commands.count, roundTrip: .milliseconds(50))
                let transfers = commands.map { command in
                    var transfer = TransferReport.Transfer(id: command.id, claim: 1, link: 0, qos: command.qos)
                    transfer.isIdempotent = true
                    transfer.isResumable = true
                    transfer.acknowledged = acknowledged[command.id, default: 0]
                    transfer.offset = transfer.acknowledged
                    transfer.total = 1 << 30
                    transfer.roundTrip = .milliseconds(50)
                    transfer.minRoundTrip = .milliseconds(50)
                    return transfer
                }
                dispatcher.links.report(TransferReport(links: [link], transfers: transfers), worker: 1, now: now)
                dispatcher.networkTick(minuteOfDay: 0, now: now)
            }
        }
    }

    private func start(_ commands: [ReadyCommand], in dispatcher: inout Dispatcher, now: MonotonicTime) {
        for command in commands {
            dispatcher.transition(report(command, .queued), now: now)
            dispatcher.transition(report(command, .sent), now: now)
        }
    }

    @Test func `a command that each stall of its link leaves further on waits no longer each time`() {
        var dispatcher = dispatcher(concurrency: 1)
        let command = ready(1, to: host)
        for step in Int64(1)...6 {
            let link = TransferReport.Link(
                destination: host, direction: .up, bytes: [0, 0, step * 1000], rate: 1000, inFlight: 1,
                roundTrip: .milliseconds(50))
            var transfer = TransferReport.Transfer(id: command.id, claim: 1, link: 0, qos: command.qos)
            transfer.isResumable = true
            transfer.offset = step * 1000
            transfer.total = 1 << 20
            let now = MonotonicTime.zero + .seconds(step)
            dispatcher.links.report(TransferReport(links: [link], transfers: [transfer]), worker: 1, now: now)
            dispatcher.transition(report(command, .new, fault: .link, reason: "it stalled"), now: now)
        }
        #expect(dispatcher.admission.failureWaits.takeDue(now: after(7.26)) == [command.id])
    }

    @Test func `the floor does not apply outside the hours`() {
        var dispatcher = limited(DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120)), concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, to: host, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1])
        #expect(value(dispatcher.dispatch(at: at, now: .zero)).isEmpty)
    }
}
