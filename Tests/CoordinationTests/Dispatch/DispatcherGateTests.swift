import Commands
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

/// What holds commands back, and what lets one of them through: links, pauses, floors.
@Suite struct DispatcherGateTests: DispatcherFixtures {
    @Test func `three quick failures take a link offline, one probe at a time brings it back`() {
        var dispatcher = dispatcher(concurrency: 8)
        let commands = (1...8).map { ready(Int64($0), to: host) }
        dispatcher.insert(commands)
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).count == 4, "what a link may have that nobody knows")
        func fail(_ command: ReadyCommand, now: Int64) {
            dispatcher.transition(report(command, .new, fault: .link, reason: "refused"), now: now)
        }
        for command in commands.prefix(2) { fail(command, now: 0) }
        #expect(level(dispatcher) == .unknown)
        fail(commands[2], now: 0)
        #expect(level(dispatcher) == .offline)
        fail(commands[3], now: 0)
        dispatcher.insert(Array(commands.prefix(4)))
        dispatcher.networkTick(minuteOfDay: 0, now: 1)
        #expect(value(dispatcher.dispatch(at: at, now: 1)).isEmpty)
        let firstProbe = value(dispatcher.nextProbe(of: host) ?? 0)
        #expect((800_000_000...1_200_000_000).contains(firstProbe), "a second later, give or take a fifth")
        var state = WorkerState()
        state.coordinator = 9
        state.seen = 4
        state.resolved = 4
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: 1)
        let probe = dispatcher.dispatch(at: at, now: firstProbe)
        #expect(numbers(probe).count == 1)
        #expect(value(dispatcher.dispatch(at: at, now: 5 * Self.second)).isEmpty, "one at a time")
        let failed = ready(Int64(numbers(probe)[0]), to: host)
        dispatcher.transition(report(failed, .error, fault: .command), now: 5 * Self.second)
        #expect(level(dispatcher) == .offline, "a 500 is no success")
        state.seen = 5
        state.resolved = 5
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: 5 * Self.second)
        let again = value(dispatcher.nextProbe(of: host) ?? 0)
        #expect(again >= 5 * Self.second)
        let next = dispatcher.dispatch(at: at, now: again)
        #expect(numbers(next).count == 1)
        dispatcher.transition(report(ready(Int64(numbers(next)[0]), to: host), .success), now: 7 * Self.second)
        #expect(level(dispatcher) != .offline)
        #expect(numbers(dispatcher.dispatch(at: at, now: 7 * Self.second)).count == 2)
        #expect(dispatcher.takeWanted().count == 4, "the others need not wait any longer")
    }

    @Test func `an offline destination hides nobody else's work`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.links.restore(
            LinkHistory(reference: 0, flows: 1, limit: 4, offline: "refused"), of: LinkKey(host, .up), now: 0)
        dispatcher.insert((1...300).map { ready(Int64($0), to: host) } + [ready(900)])
        let offered = numbers(dispatcher.dispatch(at: at, now: 0))
        #expect(offered.contains(900))
        #expect(offered.count == 2, "the probe and the other")
    }

    @Test func `a link takes no more of middle and low quality than its limit, and high passes by`() {
        var dispatcher = dispatcher(concurrency: 16)
        dispatcher.insert((1...10).map { ready(Int64($0), to: host) })
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).count == 4)
        dispatcher.insert([ready(20, .userInitiated, to: host), ready(21)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: 0))) == [20, 21])
    }

    @Test func `more destinations than places have no more than there are`() {
        var policy = NetworkPolicy()
        policy.globalLimit = 8
        var dispatcher = dispatcher(concurrency: 64, links: LinkAdmission(policy: policy))
        dispatcher.insert(
            (1...20).map { ready(Int64($0), to: Destination(scheme: "http", host: "h\($0)", port: 80)) })
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).count == 8)
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        // High quality has places of its own.
        dispatcher.insert([ready(30, .userInitiated, to: host)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [30])
    }

    @Test func `high quality has no more than there are either, and none waits for another destination's`() {
        var policy = NetworkPolicy()
        policy.globalLimit = 4
        var dispatcher = dispatcher(concurrency: 64, links: LinkAdmission(policy: policy))
        let other = Destination(scheme: "http", host: "b", port: 80)
        dispatcher.insert((1...20).map { ready(Int64($0), .userInitiated, to: host) })
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2, 3, 4])
        dispatcher.insert((31...32).map { ready(Int64($0), .userInitiated, to: other) })
        dispatcher.insert([ready(41, .userInitiated), ready(42, to: host)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: 0))) == [31, 41, 42])
    }

    @Test func `loopback has slots for all as soon as its server has shown that it takes them`() {
        var dispatcher = dispatcher(concurrency: 16)
        let local = Destination(scheme: "http", host: "127.0.0.1", port: 80)
        dispatcher.insert((1...30).map { ready(Int64($0), to: local) })
        var counts: [Int] = []
        for turn in 0..<3 {
            let now = Int64(turn) * Self.second
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

    /// Where a person has set limits of the host.
    private func limited(_ limits: DestinationLimits, concurrency: Int) -> Dispatcher {
        var policy = NetworkPolicy()
        policy.destinations[host] = limits
        return dispatcher(concurrency: concurrency, links: LinkAdmission(policy: policy))
    }

    @Test func `a quality that may not begin is kept out of the way of its class`() {
        var dispatcher = limited(DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120)), concurrency: 8)
        dispatcher.insert([ready(1, .background, to: host), ready(2, .utility, to: host)])
        dispatcher.networkTick(minuteOfDay: 30, now: 0)
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
        dispatcher.networkTick(minuteOfDay: 60, now: Self.second)
        #expect(numbers(dispatcher.dispatch(at: at, now: Self.second)) == [1])
    }

    @Test func `hours hold before the first command of a destination`() {
        var dispatcher = limited(DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120)), concurrency: 8)
        dispatcher.networkTick(minuteOfDay: 30, now: 0)
        // Of the destination nothing is known yet; utility of the same class may go.
        dispatcher.insert([ready(1, .background, to: host), ready(2, .utility, to: host)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
        dispatcher.transition(report(ready(2, .utility, to: host), .queued), now: 0)
        dispatcher.transition(report(ready(2, .utility, to: host), .success), now: 0)
        dispatcher.insert([ready(3, .background, to: host)])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        dispatcher.networkTick(minuteOfDay: 60, now: Self.second)
        #expect(numbers(dispatcher.dispatch(at: at, now: Self.second)) == [1, 3])
    }

    @Test func `neither the floor nor a kept place goes beyond maxConcurrency`() {
        var dispatcher = limited(DestinationLimits(maxConcurrency: 1), concurrency: 8)
        dispatcher.insert([ready(1, to: host)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        dispatcher.insert([ready(2, .background, to: host, age: 61_000)])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
    }

    @Test func `where maxConcurrency counts the places, what has waited a minute has the next, and then waits again`() {
        var dispatcher = limited(DestinationLimits(maxConcurrency: 1), concurrency: 8)
        let low = (11...13).map { ready($0, .utility, to: host, age: 61_000) }
        dispatcher.insert((1...9).map { ready($0, to: host) } + low)
        /// Numbers of those that run one after the other, so many seconds each.
        func run(_ count: Int64) -> [UInt64] {
            (0..<count).flatMap { turn -> [UInt64] in
                let now = 10 * turn * Self.second
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

    @Test func `where maxConcurrency counts the slots, a command that comes back waits for its turn`() {
        var dispatcher = limited(DestinationLimits(maxConcurrency: 1), concurrency: 8)
        let low = ready(1, .utility, to: host)
        dispatcher.insert([low])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        start([low], in: &dispatcher, now: 0)
        dispatcher.transition(report(low, .new, reason: "preempted"), now: 0)
        dispatcher.insert([ready(2, to: host), low])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
    }

    @Test func `a suspect has its floor as well`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, suspect: true, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2])
    }

    private func level(_ dispatcher: Dispatcher) -> LinkLevel {
        dispatcher.links.controller.level(of: LinkKey(host, .up))
    }

    @Test func `pauses hold back a quality, a destination, or everything`() {
        var dispatcher = dispatcher(concurrency: 8)
        dispatcher.pause(Pauses.parse([SettingKey.pause(qos: .background, destination: nil): "now"]))
        dispatcher.insert([ready(1, .background), ready(2, .utility)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
        dispatcher.pause(Pauses.parse([SettingKey.pause(qos: nil, destination: host): "now"]))
        dispatcher.insert([ready(3, to: host), ready(4)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: 0))) == [1, 4])
        dispatcher.pause(Pauses.parse([SettingKey.pause(qos: nil, destination: nil): "now"]))
        dispatcher.insert([ready(5), ready(6, to: host)])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        dispatcher.pause([])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: 0))) == [3, 5, 6])
    }

    @Test func `a class that has waited a minute behind higher ones gets one place`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, age: 61_000), ready(3, .background, age: 61_000)])
        // The window is full with the middle one; the floor lets one low through, and no second.
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2])
        #expect(value(dispatcher.dispatch(at: at, now: Self.second)).isEmpty)
    }

    @Test func `what was cut does not come back by the floor before it has waited again`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1, to: host), ready(2, .background, to: host, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2])
        let low = ready(2, .background, to: host, age: 61_000)
        dispatcher.transition(report(low, .queued), now: 0)
        dispatcher.transition(report(low, .sent), now: 0)
        dispatcher.transition(report(low, .new), now: Self.second)
        dispatcher.insert([low])
        #expect(numbers(dispatcher.dispatch(at: at, now: 2 * Self.second)).isEmpty)
        #expect(numbers(dispatcher.dispatch(at: at, now: 62 * Self.second)) == [2])
    }

    @Test func `a command whose link failed waits a second before it is offered again, and longer each time`() {
        var dispatcher = dispatcher(concurrency: 8)
        let command = ready(1, to: host)
        dispatcher.insert([command])
        var now: Int64 = 0
        for seconds in [1.0, 2, 4, 8] {
            #expect(numbers(dispatcher.dispatch(at: at, now: now)) == [1])
            start([command], in: &dispatcher, now: now)
            dispatcher.transition(report(command, .new, fault: .link, reason: "refused"), now: now)
            dispatcher.insert([command], now: now)
            #expect(value(dispatcher.dispatch(at: at, now: now + Int64(0.74 * seconds * 1e9))).isEmpty)
            #expect(dispatcher.takeWanted().isEmpty)
            now += Int64(1.26 * seconds * 1e9)
            #expect(value(dispatcher.dispatch(at: at, now: now)).isEmpty)
            #expect(dispatcher.takeWanted() == [command.id], "the store is asked whether it is ready still")
            dispatcher.insert([command], now: now)
        }
    }

    @Test func `what was preempted, drained or reaped does not wait`() {
        var dispatcher = dispatcher(concurrency: 8)
        let command = ready(1, to: host)
        dispatcher.insert([command])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        start([command], in: &dispatcher, now: 0)
        dispatcher.transition(report(command, .new, reason: "preempted"), now: 0)
        dispatcher.insert([command])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
    }

    @Test func `a low transfer keeps its slot beside high quality that has all of its own`() {
        let (low, high) = (low, high)
        var (dispatcher, traffic) = beside(low, high)
        dispatcher.transition(report(low[0], .new, reason: "preempted"), now: traffic.now)
        dispatcher.insert([low[0]])
        #expect(numbers(dispatcher.dispatch(at: at, now: traffic.now)) == [1])
    }

    @Test func `where the limit has fallen beside high quality, a broken transfer stands still for less than a minute`()
    {
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
        while offered.isEmpty, traffic.now < stalled + 300 * Self.second {
            traffic.flow(low[1...3] + high, seconds: 1, through: &dispatcher)
            offered = numbers(dispatcher.dispatch(at: at, now: traffic.now))
        }
        #expect(offered == [1])
        #expect(traffic.now - stalled < 60 * Self.second)
    }

    private var low: [ReadyCommand] { (1...6).map { ready(Int64($0), .utility, to: host) } }
    private var high: [ReadyCommand] { (11...14).map { ready(Int64($0), .userInitiated, to: host) } }

    /// Four low transfers run, and beside them high ones that have all of their own slots.
    private func beside(_ low: [ReadyCommand], _ high: [ReadyCommand]) -> (Dispatcher, Traffic) {
        var policy = NetworkPolicy()
        policy.globalLimit = 8
        policy.good.limit = 4
        var dispatcher = dispatcher(concurrency: 8, links: LinkAdmission(policy: policy))
        dispatcher.insert(low)
        var traffic = Traffic(to: host)
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2, 3, 4])
        start(Array(low.prefix(4)), in: &dispatcher, now: 0)
        traffic.flow(Array(low.prefix(4)), seconds: 5, through: &dispatcher)
        dispatcher.insert(high)
        #expect(numbers(dispatcher.dispatch(at: at, now: traffic.now)).count == 4)
        start(high, in: &dispatcher, now: traffic.now)
        traffic.flow(low.prefix(4) + high, seconds: 30, through: &dispatcher)
        return (dispatcher, traffic)
    }

    /// What workers report of a link, of which each transfer gets 6.4 Mbit/s, and a low one beside high ones a tenth.
    private struct Traffic {
        let host: Destination
        private(set) var now: Int64 = 0
        private var bytes: [Int64] = [0, 0, 0]
        private var acknowledged: [CommandID: Int64] = [:]

        init(to host: Destination) { self.host = host }

        /// These run for so many seconds.
        mutating func flow(_ commands: [ReadyCommand], seconds: Int, through dispatcher: inout Dispatcher) {
            for _ in 0..<(4 * seconds) {
                now += DispatcherGateTests.second / 4
                let hasHigh = commands.contains { $0.qos.serviceClass == .high }
                for command in commands {
                    let share: Int64 = hasHigh && command.qos.serviceClass == .low ? 20_000 : 200_000
                    acknowledged[command.id, default: 0] += share
                    bytes[command.qos.serviceClass.rawValue] += share
                }
                let link = Transfers.Link(
                    destination: host, direction: .up, bytes: bytes, rate: Int64(commands.count) * 800_000,
                    inFlight: commands.count, roundTrip: 50_000)
                let transfers = commands.map { command in
                    var transfer = Transfers.Transfer(id: command.id, claim: 1, link: 0, qos: command.qos)
                    transfer.isIdempotent = true
                    transfer.isResumable = true
                    transfer.acknowledged = acknowledged[command.id, default: 0]
                    transfer.offset = transfer.acknowledged
                    transfer.total = 1 << 30
                    transfer.roundTrip = 50_000
                    transfer.minRoundTrip = 50_000
                    return transfer
                }
                dispatcher.links.report(Transfers(links: [link], transfers: transfers), worker: 1, now: now)
                dispatcher.networkTick(minuteOfDay: 0, now: now)
            }
        }
    }

    private func start(_ commands: [ReadyCommand], in dispatcher: inout Dispatcher, now: Int64) {
        for command in commands {
            dispatcher.transition(report(command, .queued), now: now)
            dispatcher.transition(report(command, .sent), now: now)
        }
    }

    @Test func `the floor opens no hours`() {
        var dispatcher = limited(DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120)), concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, to: host, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
    }
}
