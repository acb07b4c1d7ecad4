import Commands
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

@Suite struct DispatcherTests {
    private static let second: Int64 = 1_000_000_000
    private let host = Destination(scheme: "http", host: "a", port: 80)
    private let at = Timestamp(milliseconds: 1_000_000)

    private func ready(
        _ number: Int64, _ qos: QualityOfService = .default, to destination: Destination = .none, type: String = "noop",
        shard: UInt8 = 0, suspect: Bool = false, age: Int64 = 0
    ) -> ReadyCommand {
        ReadyCommand(
            id: CommandID(high: UInt64(number), low: UInt64(shard)), type: type, qos: qos, destination: destination,
            turn: number, createdAt: Timestamp(milliseconds: at.milliseconds - age + number), suspect: suspect)
    }

    private func dispatcher(
        seats: Int = 1, concurrency: Int = 4, types: [String] = ["noop"], links: LinkGovernors = LinkGovernors()
    ) -> Dispatcher {
        var dispatcher = Dispatcher(shardCount: 8, links: links)
        for seat in 0..<seats {
            let hello = Hello(
                pid: 1, startTime: 1, bootID: "b", concurrency: concurrency, grace: .seconds(1), types: types,
                executing: [])
            dispatcher.greet(SeatRecord(seat: seat, epoch: Int64(seat) + 1, hello: hello))
        }
        return dispatcher
    }

    private func numbers(_ dispatches: [Dispatcher.Dispatch]) -> [UInt64] {
        dispatches.flatMap { $0.offers.offers.map(\.id.high) }
    }

    private func report(
        _ command: ReadyCommand, _ status: CommandStatus, fault: Failure.Fault? = nil, reason: String? = nil
    ) -> StatusReport {
        StatusReport(
            event: StatusEvent(
                transition: Transition(
                    seq: 1, id: command.id, status: status, at: at, seat: 0, claim: 1, reason: reason),
                type: command.type, qos: command.qos, destination: command.destination, retries: 0, shard: 0),
            fault: fault)
    }

    @Test func `offers by class first, then by age`() {
        var dispatcher = dispatcher()
        dispatcher.insert([
            ready(1, .background), ready(2, .default), ready(3, .userInitiated), ready(4, .userInteractive),
        ])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [4, 3, 2, 1])
    }

    @Test func `who has become of another quality goes by that`() {
        var dispatcher = dispatcher(concurrency: 1)
        let commands = (1...3000).map { ready($0, .background) }
        dispatcher.insert(commands)
        dispatcher.changed([commands[2999].id])
        dispatcher.insert([ready(3000, .userInteractive)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).first == 3000)
    }

    @Test func `what comes first in its class finds a place in a full queue`() {
        var dispatcher = dispatcher(concurrency: 100)
        dispatcher.insert((1...300).map { ready($0, .userInitiated) })
        dispatcher.insert([ready(900, .userInteractive)])
        #expect(dispatcher.queue.count == 256)
        let offered = numbers(dispatcher.dispatch(at: at, now: 0))
        #expect(offered.first == 900 && offered.count == 200)
        // The one that made way, 256, is read again.
        #expect(dispatcher.refills().map(\.afterTurn) == [255])
    }

    @Test func `a quality that has nothing in a full queue is read`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...256).map { ready($0, .userInitiated) })
        let first = ReadyKey(destination: .none, qos: .userInteractive)
        let last = ReadyKey(destination: .none, qos: .userInitiated)
        dispatcher.found([first, last], shard: 0)
        let refills = dispatcher.refills()
        #expect(refills.map(\.key) == [first])
        dispatcher.refilled(refills[0], [ready(900, .userInteractive)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).first == 900)
    }

    @Test func `what finds no place behind better ones is not read again and again`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...256).map { ready($0, .utility) })
        dispatcher.found([ReadyKey(destination: .none, qos: .background)], shard: 0)
        let refills = dispatcher.refills()
        #expect(refills.count == 1)
        dispatcher.refilled(refills[0], (900...910).map { ready($0, .background) })
        #expect(dispatcher.refills().isEmpty)
    }

    @Test func `a minute of waiting is one step of quality within a class`() {
        var dispatcher = dispatcher()
        dispatcher.insert([
            ready(1, .userInteractive), ready(2, .userInitiated, age: 70_000), ready(3, .utility),
            ready(4, .background, age: 50_000),
        ])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2, 1, 3, 4])
    }

    @Test func `the policy says how long a step is, and how long a class waits for its floor`() {
        var policy = NetworkPolicy()
        policy.agingStep = .seconds(10)
        policy.longestStandstill = .seconds(20)
        var aging = dispatcher(links: LinkGovernors(policy: policy))
        aging.insert([ready(1, .userInteractive), ready(2, .userInitiated, age: 12_000)])
        #expect(numbers(aging.dispatch(at: at, now: 0)) == [2, 1])
        var full = dispatcher(concurrency: 1, links: LinkGovernors(policy: policy))
        full.insert([ready(1), ready(2, .background, age: 21_000)])
        #expect(numbers(full.dispatch(at: at, now: 0)) == [1])
        #expect(numbers(full.dispatch(at: at, now: 0)) == [2])
    }

    @Test func `a seat is offered no more than its window`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...5).map { ready(Int64($0)) })
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        var state = WorkerState()
        state.coordinator = 9
        state.seen = 2
        state.resolved = 1
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: 1)
        #expect(numbers(dispatcher.dispatch(at: at, now: 1)) == [3])
    }

    @Test func `high quality has room when the window is full`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.insert((1...2).map { ready(Int64($0)) })
        _ = dispatcher.dispatch(at: at, now: 0)
        dispatcher.insert([ready(3), ready(4, .userInitiated)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [4])
    }

    @Test func `each worker is preferred for its shards, and none stands idle for that`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 2)
        dispatcher.insert([ready(1, shard: 0), ready(2, shard: 2), ready(3, shard: 1), ready(4, shard: 3)])
        let both = dispatcher.dispatch(at: at, now: 0)
        #expect(both.map { $0.offers.offers.map(\.id.high) } == [[1, 2], [3, 4]])
        var other = self.dispatcher(seats: 2, concurrency: 2)
        other.insert((1...4).map { ready(Int64($0), shard: 0) })
        #expect(value(other.dispatch(at: at, now: 0)).map(\.offers.offers.count) == [2, 2])
    }

    @Test func `destinations take turns`() {
        var dispatcher = dispatcher(concurrency: 4)
        let other = Destination(scheme: "http", host: "b", port: 80)
        dispatcher.insert((1...4).map { ready(Int64($0), to: host) } + (5...8).map { ready(Int64($0), to: other) })
        let offered = Set(numbers(dispatcher.dispatch(at: at, now: 0)))
        #expect(offered == [1, 2, 5, 6])
    }

    @Test func `a type is offered only to those who run it`() {
        var dispatcher = dispatcher(types: ["upload"])
        dispatcher.insert([ready(1), ready(2, type: "upload")])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
    }

    @Test func `holds at most 256 for each destination and class`() {
        var dispatcher = dispatcher()
        dispatcher.insert((1...400).map { ready(Int64($0)) })
        #expect(dispatcher.queue.count == 256)
        dispatcher.insert([ready(1000, to: host)])
        #expect(dispatcher.queue.count == 257)
        // What did not fit is read again from the store, from the first that was refused.
        _ = dispatcher.dispatch(at: at, now: 0)
        for number in 1...4 { dispatcher.transition(report(ready(Int64(number)), .success), now: 0) }
        #expect(value(dispatcher.refills()).isEmpty)
    }

    @Test func `refills when the queue runs low and stops at the end of the store`() throws {
        var dispatcher = dispatcher()
        let key = ReadyKey(destination: .none, qos: .default)
        dispatcher.found([key], shard: 3)
        let refill = try #require(dispatcher.refills().first)
        #expect(refill.shard == 3)
        #expect(refill.afterTurn == 0)
        #expect(value(dispatcher.refills()).isEmpty, "one read at a time")
        dispatcher.refilled(refill, (1...refill.limit).map { ready(Int64($0), shard: 3) })
        let next = try #require(dispatcher.refills().first)
        #expect(next.afterTurn == Int64(refill.limit))
        dispatcher.refilled(next, [])
        #expect(value(dispatcher.refills()).isEmpty)
    }

    @Test func `what is offered is not offered twice, and is forgotten after two seconds`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        dispatcher.insert([ready(1)])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        #expect(value(dispatcher.forgotten(now: Dispatcher.patience)).isEmpty)
        #expect(value(dispatcher.forgotten(now: Dispatcher.patience + 1)) == [ready(1).id])
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: Dispatcher.patience + 1)) == [1])
    }

    @Test func `what is claimed is not forgotten`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1)])
        _ = dispatcher.dispatch(at: at, now: 0)
        dispatcher.transition(report(ready(1), .queued), now: 1)
        #expect(value(dispatcher.forgotten(now: 10 * Self.second)).isEmpty)
        #expect(dispatcher.holder(of: ready(1).id) == 0)
        dispatcher.transition(report(ready(1), .success), now: 1)
        #expect(dispatcher.holder(of: ready(1).id) == nil)
    }

    @Test func `a dead worker's offers are given back`() {
        var dispatcher = dispatcher()
        dispatcher.insert([ready(1), ready(2)])
        _ = dispatcher.dispatch(at: at, now: 0)
        #expect(Set(dispatcher.leave(seat: 0, now: 0)) == [ready(1).id, ready(2).id])
        #expect(dispatcher.seats.isEmpty)
    }

    @Test func `suspects are spread over the workers, a few for each`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 16)
        dispatcher.insert((1...20).map { ready(Int64($0), suspect: true) })
        let first = dispatcher.dispatch(at: at, now: 0)
        #expect(first.map(\.offers.offers.count) == [8, 8])
        let done = first[0].offers.offers[0].id
        dispatcher.transition(report(ready(Int64(done.high)), .success), now: 1)
        #expect(value(dispatcher.dispatch(at: at, now: 1)).map(\.offers.offers.count) == [1])
    }

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
        _ = dispatcher.networkTick(minuteOfDay: 0, now: 1)
        #expect(value(dispatcher.dispatch(at: at, now: 1)).isEmpty)
        let firstProbe = value(dispatcher.nextProbe ?? 0)
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
        let again = value(dispatcher.nextProbe ?? 0)
        #expect(again >= 5 * Self.second)
        let next = dispatcher.dispatch(at: at, now: again)
        #expect(numbers(next).count == 1)
        dispatcher.transition(report(ready(Int64(numbers(next)[0]), to: host), .success), now: 7 * Self.second)
        #expect(level(dispatcher) != .offline)
        #expect(numbers(dispatcher.dispatch(at: at, now: 7 * Self.second)).count == 4)
    }

    @Test func `an offline destination hides nobody else's work`() {
        var dispatcher = dispatcher(concurrency: 2)
        dispatcher.links.restore(
            LinkMemory(reference: 0, flows: 1, limit: 4, offline: "refused"), of: LinkKey(host, .up), now: 0)
        dispatcher.insert((1...300).map { ready(Int64($0), to: host) } + [ready(900)])
        let offered = numbers(dispatcher.dispatch(at: at, now: 0))
        #expect(offered.contains(900))
        #expect(offered.count == 2, "the probe and the other")
    }

    @Test func `three commands refused for their credential close a destination, with a probe a minute`() {
        var dispatcher = dispatcher(concurrency: 8)
        for number in [1, 1, 2, 2] as [Int64] {
            dispatcher.transition(report(ready(number, to: host), .new, fault: .credential), now: 0)
            #expect(dispatcher.links.controller.credentials[host]?.isClosed == false)
        }
        dispatcher.transition(report(ready(3, to: host), .new, fault: .credential, reason: "401"), now: 0)
        #expect(dispatcher.links.controller.credentials[host]?.isClosed == true)
        dispatcher.insert([ready(4, to: host)])
        _ = dispatcher.networkTick(minuteOfDay: 0, now: 1)
        #expect(value(dispatcher.dispatch(at: at, now: 1)).isEmpty)
        #expect(dispatcher.nextProbe == CredentialGate.interval)
        #expect(numbers(dispatcher.dispatch(at: at, now: CredentialGate.interval)) == [4])
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
        var dispatcher = dispatcher(concurrency: 64, links: LinkGovernors(policy: policy))
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
        policy.globalLimit = 8
        var dispatcher = dispatcher(concurrency: 64, links: LinkGovernors(policy: policy))
        let other = Destination(scheme: "http", host: "b", port: 80)
        dispatcher.insert((1...20).map { ready(Int64($0), .userInitiated, to: host) })
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1, 2, 3, 4, 5, 6, 7, 8])
        dispatcher.insert((31...32).map { ready(Int64($0), .userInitiated, to: other) })
        dispatcher.insert([ready(41, .userInitiated), ready(42, to: host)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: 0))) == [31, 41, 42])
    }

    @Test func `loopback has places for all`() {
        var dispatcher = dispatcher(concurrency: 16)
        let local = Destination(scheme: "http", host: "127.0.0.1", port: 80)
        dispatcher.insert((1...10).map { ready(Int64($0), to: local) })
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)).count == 10)
        #expect(!Destination(scheme: "http", host: "127.evil.com", port: 80).isLoopback)
    }

    @Test func `a quality that may not begin is kept out of the way of its class`() {
        var policy = NetworkPolicy()
        policy.destinations[host] = DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120))
        var dispatcher = dispatcher(concurrency: 8, links: LinkGovernors(policy: policy))
        dispatcher.insert([ready(1, .background, to: host), ready(2, .utility, to: host)])
        #expect(value(dispatcher.networkTick(minuteOfDay: 30, now: 0)) == false)
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
        #expect(value(dispatcher.networkTick(minuteOfDay: 60, now: Self.second)), "the store must be asked again")
        dispatcher.insert([ready(1, .background, to: host)])
        #expect(numbers(dispatcher.dispatch(at: at, now: Self.second)) == [1])
    }

    private func level(_ dispatcher: Dispatcher) -> LinkLevel {
        dispatcher.links.controller.level(of: LinkKey(host, .up))
    }

    @Test func `pauses hold back a quality, a destination, or everything`() {
        var dispatcher = dispatcher(concurrency: 8)
        dispatcher.pause(Pauses.parse([Pauses.key(qos: .background, destination: nil): "now"]))
        dispatcher.insert([ready(1, .background), ready(2, .utility)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
        dispatcher.pause(Pauses.parse([Pauses.key(qos: nil, destination: host): "now"]))
        dispatcher.insert([ready(3, to: host), ready(4)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [4])
        dispatcher.pause(Pauses.parse([Pauses.key(qos: nil, destination: nil): "now"]))
        dispatcher.insert([ready(5), ready(6, to: host)])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
        dispatcher.pause([])
        dispatcher.insert([ready(5), ready(6, to: host)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: 0))) == [5, 6])
    }

    @Test func `a class that has waited a minute behind higher ones gets one place`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, age: 61_000), ready(3, .background, age: 61_000)])
        // The window is full with the middle one; the floor lets one low through, and no second.
        let first = dispatcher.dispatch(at: at, now: 0)
        #expect(numbers(first) == [1])
        let second = dispatcher.dispatch(at: at, now: 0)
        #expect(numbers(second) == [2])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
    }

    @Test func `what was cut does not come back by the floor before it has waited again`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1), ready(2, .background, to: host, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [2])
        let low = ready(2, .background, to: host, age: 61_000)
        dispatcher.transition(report(low, .queued), now: 0)
        dispatcher.transition(report(low, .sent), now: 0)
        dispatcher.transition(report(low, .new), now: Self.second)
        dispatcher.insert([low])
        #expect(numbers(dispatcher.dispatch(at: at, now: 2 * Self.second)).isEmpty)
        #expect(numbers(dispatcher.dispatch(at: at, now: 62 * Self.second)) == [2])
    }

    @Test func `the floor opens no hours`() {
        var policy = NetworkPolicy()
        policy.destinations[host] = DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 120))
        var dispatcher = dispatcher(concurrency: 1, links: LinkGovernors(policy: policy))
        dispatcher.insert([ready(1), ready(2, .background, to: host, age: 61_000)])
        #expect(numbers(dispatcher.dispatch(at: at, now: 0)) == [1])
        #expect(value(dispatcher.dispatch(at: at, now: 0)).isEmpty)
    }

    @Test func `restores what was claimed before a restart`() {
        var dispatcher = dispatcher()
        let row = ClaimedRow(
            id: ready(1).id, status: .sent, type: "noop", qos: .default, destination: .none, seat: 0, epoch: 1,
            claim: 1,
            retries: 0, suspect: false, updatedAt: at)
        dispatcher.reconcile([row], shard: 0, now: 0)
        #expect(dispatcher.holder(of: row.id) == 0)
        dispatcher.reconcile([], shard: 0, now: 0)
        #expect(dispatcher.holder(of: row.id) == nil)
    }
}

/// Evaluates a mutating call before the expectation takes it apart.
private func value<Value>(_ value: Value) -> Value { value }

extension Dispatcher {
    fileprivate mutating func insert(_ commands: [ReadyCommand]) { insert(commands, now: 0) }
    fileprivate mutating func refilled(_ refill: Refill, _ commands: [ReadyCommand]) {
        refilled(refill, commands, now: 0)
    }
}
