import Commands
import Host
import NetworkControl
import Store
import Testing
import Wire

@testable import Coordination

/// The circuit breaker of a destination between the reports of workers and the offers to them.
@Suite struct CircuitBreakerTests: DispatcherFixtures {
    private static let interval: Duration = .seconds(60)

    /// Reports that the destination refused a command.
    private func refuse(
        _ dispatcher: inout Dispatcher, _ command: ReadyCommand, _ fault: CommandFailure.Fault = .destination,
        now: MonotonicTime
    ) {
        dispatcher.transition(report(command, .new, fault: fault, reason: "the answer was 507"), now: now)
    }

    /// The one probe that is offered at this time; nil where none is.
    private func probe(_ dispatcher: inout Dispatcher, now: MonotonicTime) -> UInt64? {
        dispatcher.networkTick(minuteOfDay: 0, now: now)
        let offered = numbers(dispatcher.dispatch(at: at, now: now))
        #expect(offered.count <= 1)
        return offered.first
    }

    private func isOpen(_ dispatcher: Dispatcher) -> Bool {
        dispatcher.links.controller.circuitBreakers[host]?.isClosed == false
    }

    @Test(arguments: [(CommandFailure.Fault.destination, 1), (.credential, 3)])
    func `a destination that refuses gets one probe a minute, and all its commands when it accepts one`(
        _ fault: CommandFailure.Fault, _ refusals: Int
    ) {
        var dispatcher = dispatcher(concurrency: 32)
        let commands = (1...20).map { ready($0, to: host) }
        for number in 1...refusals {
            #expect(!isOpen(dispatcher))
            refuse(&dispatcher, commands[number - 1], fault, now: .zero)
        }
        #expect(isOpen(dispatcher))
        dispatcher.insert(commands)
        #expect(probe(&dispatcher, now: after(nanoseconds: 1)) == nil)
        #expect(value(dispatcher.nextProbe(of: host)) == after(60))
        let first = probe(&dispatcher, now: after(60))
        #expect(first == UInt64(refusals) + 1, "it has not failed there")
        #expect(probe(&dispatcher, now: after(61)) == nil, "one at a time")
        refuse(&dispatcher, ready(Int64(first ?? 0), to: host), fault, now: after(61))
        #expect(probe(&dispatcher, now: after(120)) == nil)
        let second = probe(&dispatcher, now: after(121))
        #expect(second == UInt64(refusals) + 2)
        dispatcher.transition(report(ready(Int64(second ?? 0), to: host), .success), now: after(120))
        #expect(!isOpen(dispatcher))
        // An unknown link takes four at once.
        #expect(numbers(dispatcher.dispatch(at: at, now: after(120))).count == 4)
    }

    @Test func `the first refused credential is told, and the link shows it`() {
        var dispatcher = dispatcher(concurrency: 32)
        refuse(&dispatcher, ready(1, to: host), .credential, now: .zero)
        #expect(!isOpen(dispatcher))
        #expect(dispatcher.links.takeChangedCircuitBreakers() == [host])
        let link = LinkKey(host, .up)
        #expect(dispatcher.links.controller.state(of: link, now: .zero)?.refusal == "the answer was 507")
        refuse(&dispatcher, ready(2, to: host), .credential, now: .zero)
        #expect(dispatcher.links.takeChangedCircuitBreakers().isEmpty, "once")
        dispatcher.transition(report(ready(1, to: host), .success), now: .zero)
        #expect(dispatcher.links.controller.state(of: link, now: .zero)?.refusal == nil)
    }

    /// The report of a command that was answered 503.
    private func unavailable(_ command: ReadyCommand, url: UInt64?) -> StatusReport {
        var report = report(command, .new, fault: .link, reason: "the answer was 503")
        (report.isPushback, report.isAnswer) = (true, true)
        report.unavailable = Unavailable.Answer(
            CommandClaim(id: command.id, claim: 1), target: url.map { CommandTarget(hash: $0) })
        return report
    }

    @Test func `three URLs that answer 503 hold up no command for another URL`() {
        var dispatcher = dispatcher(concurrency: 32)
        let commands = (1...8).map { ready($0, to: host) }
        for command in commands.prefix(3) {
            dispatcher.transition(unavailable(command, url: UInt64(command.turn)), now: .zero)
        }
        #expect(isOpen(dispatcher))
        #expect(dispatcher.links.controller.level(of: LinkKey(host, .up)) != .offline)
        // The first seven are for a URL that was answered 503, and smaller.
        var waiting = Array(commands[3...])
        for index in waiting.indices { waiting[index].remaining = waiting[index].turn == 8 ? 1 << 30 : 1 }
        dispatcher.insert(waiting)
        #expect(probe(&dispatcher, now: after(nanoseconds: 1)) == nil, "the URLs are not known yet")
        let unread = dispatcher.links.takeUnreadTargets()
        #expect(Set(unread.map(\.high)) == [4, 5, 6, 7, 8])
        dispatcher.links.learn(
            Dictionary(uniqueKeysWithValues: unread.map { ($0, CommandTarget(hash: $0.high == 8 ? 9 : 1)) }))
        #expect(probe(&dispatcher, now: after(nanoseconds: 2)) == 8)
        #expect(value(dispatcher.links.takeUnreadTargets()).isEmpty)
        dispatcher.transition(report(commands[7], .success), now: after(nanoseconds: 3))
        #expect(!isOpen(dispatcher))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(nanoseconds: 4))).isEmpty == false)
        #expect(Set(dispatcher.takeWanted().map(\.high)) == [1, 2, 3], "they wait no longer")
    }

    @Test func `a charged 503 counts like one that is not charged`() {
        var dispatcher = dispatcher(concurrency: 32)
        for number in Int64(1)...3 {
            #expect(!isOpen(dispatcher))
            var report = unavailable(ready(number, to: host), url: nil)
            (report.fault, report.event.transition.status) = (.command, .error)
            dispatcher.transition(report, now: .zero)
        }
        #expect(isOpen(dispatcher))
    }

    /// S3, webhooks, tus and plain requests report a 503 with or without a charge; its message may be lost, and a worker
    /// of release 0.1.0 sends none.
    @Test(arguments: [CommandFailure.Fault.link, .command], [true, false])
    func `no 503 takes a link offline, whichever workers and operations report it`(
        _ fault: CommandFailure.Fault, hasMessage: Bool
    ) {
        var dispatcher = dispatcher(seats: 3, concurrency: 32)
        for number in Int64(1)...9 {
            var report = unavailable(ready(number, to: host, type: "t\(number % 3)"), url: UInt64(number))
            report.event.transition.seat = Int(number % 3)
            if !hasMessage { report.unavailable = nil }
            (report.fault, report.event.transition.status) = (fault, fault == .link ? .new : .error)
            dispatcher.transition(report, now: after(Double(number)))
            #expect(dispatcher.links.controller.level(of: LinkKey(host, .up)) != .offline)
        }
        // Only answers that are known to be 503 open the destination's own.
        #expect(isOpen(dispatcher) == (hasMessage || fault == .link))
        dispatcher.transition(report(ready(10, to: host), .success), now: after(10))
        #expect(!isOpen(dispatcher))
    }

    @Test func `loopback has a circuit breaker too`() {
        var dispatcher = dispatcher(concurrency: 32)
        let local = Destination(scheme: "http", host: "127.0.0.1", port: 80)
        let commands = (1...20).map { ready($0, to: local) }
        refuse(&dispatcher, commands[0], now: .zero)
        dispatcher.insert(commands)
        #expect(probe(&dispatcher, now: after(nanoseconds: 1)) == nil)
        #expect(probe(&dispatcher, now: after(60)) == 2)
        dispatcher.transition(report(commands[1], .success), now: after(60))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(60))).count == 4)
    }

    @Test func `each waiting command is the probe once before one of them is again, the smallest first`() {
        var dispatcher = dispatcher(concurrency: 32)
        var commands = (1...4).map { ready($0, to: host) }
        commands[1].remaining = 5_000_000
        commands[2].remaining = 1000
        commands[3].remaining = 2000
        // It has another quality of service, and so another sub-queue.
        commands.append(ready(5, .background, to: host))
        commands.append(ready(6, .userInitiated, to: host))
        commands[4].remaining = 500
        commands[5].remaining = 500
        refuse(&dispatcher, commands[0], now: .zero)
        dispatcher.insert(commands)
        var now = MonotonicTime.zero
        var probes: [UInt64] = []
        for _ in 0..<8 {
            now += Self.interval
            guard let number = probe(&dispatcher, now: now) else { break }
            probes.append(number)
            let command = commands[Int(number) - 1]
            refuse(&dispatcher, command, now: now)
            dispatcher.insert([command])
        }
        #expect(probes == [6, 5, 3, 4, 2, 1, 6, 5])
    }

    @Test func `a probe that is not claimed, is cancelled or loses its worker is followed by the next at once`() {
        var dispatcher = dispatcher(seats: 2, concurrency: 32)
        let commands = (1...3).map { ready($0, to: host) }
        refuse(&dispatcher, commands[0], now: .zero)
        dispatcher.insert(commands)
        let now = after(60)
        #expect(probe(&dispatcher, now: now) == 2)
        let late = now + Dispatcher.timeout + .nanoseconds(1)
        let forgotten = dispatcher.withdrawUnclaimed(now: late)
        #expect(forgotten.map(\.high) == [2])
        #expect(probe(&dispatcher, now: late) == 3)
        let seat = dispatcher.holder(of: commands[2].id) ?? 0
        _ = dispatcher.workerLeft(seat: seat, now: late)
        #expect(probe(&dispatcher, now: late) == 1)
        dispatcher.transition(report(commands[0], .cancelled), now: late)
        dispatcher.insert([commands[1]])
        #expect(probe(&dispatcher, now: late) == 2)
    }

    @Test func `a probe is not sent where a person has paused the destination, or no worker runs its type`() {
        var dispatcher = dispatcher(concurrency: 32)
        refuse(&dispatcher, ready(1, to: host), now: .zero)
        dispatcher.insert([ready(2, to: host), ready(3, to: host, type: "other")])
        dispatcher.pause([Pause(qos: nil, destination: host, since: "now")])
        #expect(probe(&dispatcher, now: after(60)) == nil)
        dispatcher.pause([])
        dispatcher.insert([ready(2, to: host)])
        #expect(probe(&dispatcher, now: after(60)) == 2)
    }

    @Test func `the floor lets no command pass an open circuit breaker`() {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.insert([ready(1)])
        #expect(numbers(dispatcher.dispatch(at: at, now: .zero)) == [1], "the only slot")
        var state = WorkerState()
        state.coordinator = 9
        state.seen = 1
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: .zero)
        refuse(&dispatcher, ready(2, .background, to: host), now: .zero)
        dispatcher.insert([ready(3, .background, to: host, age: 61_000)])
        #expect(probe(&dispatcher, now: after(1)) == nil)
        #expect(probe(&dispatcher, now: after(60)) == nil, "a probe takes an ordinary slot")
        state.resolved = 1
        dispatcher.report(seat: 0, state: state, coordinator: 9, now: after(60))
        #expect(probe(&dispatcher, now: after(60)) == 3)
    }

    @Test func `commands of another destination continue`() {
        var dispatcher = dispatcher(concurrency: 2)
        let other = Destination(scheme: "http", host: "b", port: 80)
        refuse(&dispatcher, ready(1, to: host), now: .zero)
        dispatcher.insert((2...300).map { ready($0, to: host) } + [ready(900, to: other), ready(901)])
        #expect(Set(numbers(dispatcher.dispatch(at: at, now: .zero))) == [900, 901])
    }

    @Test func `a circuit breaker outlives its coordinator in the setting of its link until it closes`() throws {
        var dispatcher = dispatcher(concurrency: 32)
        let key = LinkKey(host, .up)
        refuse(&dispatcher, ready(1, to: host), now: .zero)
        let opened = Timestamp(milliseconds: 1_772_368_496_000)
        func setting() throws -> StoredLink {
            let state = try #require(dispatcher.links.controller.state(of: key, now: .zero))
            let report = LinkReport(state) { opened + ($0 - .zero) }
            return try #require(
                StoredLink(setting: StoredLink.settingKey(key), value: StoredLink.setting(report, nil), now: opened))
        }
        let stored = try #require(try setting().circuitBreaker)
        #expect(stored.cause == .destination && stored.reason == "the answer was 507" && stored.since == opened)

        var next = LinkAdmission()
        next.restore(stored, of: host, wall: opened + .seconds(100), now: after(7))
        let circuitBreaker = try #require(next.controller.circuitBreakers[host])
        #expect(circuitBreaker.outage?.since == after(-93))
        #expect(circuitBreaker.isProbeDue(now: after(7)), "the first probe goes at once")

        dispatcher.transition(report(ready(2, to: host), .success), now: .zero)
        #expect(try setting().circuitBreaker == nil)
    }

    @Test(arguments: [
        "null", "7", "{}", #"{"cause":"credential"}"#, #"{"cause":"weather","since":1772368496000}"#,
        #"{"cause":"credential","since":"yesterday"}"#,
    ])
    func `a damaged setting has no circuit breaker`(_ value: String) throws {
        #expect(CircuitBreakerState(try JSONValue(parsing: value.utf8)) == nil)
    }

    @Test(arguments: [Int64.min, -1, 0, 1_772_368_496_000, .max])
    func `an opening time of any value is read`(_ since: Int64) throws {
        let value = try JSONValue(parsing: #"{"cause":"credential","since":\#(since)}"#.utf8)
        let stored = try #require(CircuitBreakerState(value))
        var admission = LinkAdmission()
        admission.restore(stored, of: host, wall: .now, now: after(1))
        #expect(admission.controller.circuitBreakers[host]?.isProbeDue(now: after(1)) == true)
    }
}
