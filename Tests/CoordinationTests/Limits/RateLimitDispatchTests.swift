import Commands
import Host
import Store
import TestSupport
import Testing
import Wire

@testable import Coordination

@Suite struct RateLimitDispatchTests: DispatcherFixtures {
    private static func rate(_ text: String) throws -> StartRate { try #require(StartRate(text: text)) }

    @Test(arguments: [("20/s", 20.0), ("600/min", 10.0)])
    func `starts of every window stay within burst and rate, over coordinators one after the other`(
        _ text: String, _ perSecond: Double
    ) throws {
        var random = SeededRandom.announced("RateLimitDispatchTests")
        for _ in 0..<5 {
            var rig = RateLimitRig("api", text, burst: 5)
            rig.duration = .milliseconds(random.number(in: 1..<40))
            rig.submit(150, "api")
            for _ in 0..<3 {
                rig.run(for: .milliseconds(random.number(in: 100..<3000)))
                rig.restart()
            }
            rig.run(for: .seconds(20))
            let starts = rig.starts(of: "api")
            #expect(starts.count == 150)
            #expect(RateLimitRig.excess(starts, perSecond: perSecond) <= 5.001)
        }
    }

    /// Also searched for progress that only memory has, and that a restart loses: pruning began 30 rounds after each start.
    @Test(arguments: ["6/min", "2/min", "600/h"], [true, false])
    func `a slow limit reaches its rate though its coordinators end sooner than a token comes`(
        _ text: String, _ isKilled: Bool
    ) throws {
        let rate = try Self.rate(text)
        let perToken = rate.period.duration / rate.count
        var rig = RateLimitRig("api", text, burst: 1)
        rig.submit(20, "api")
        for _ in 0..<10 {
            rig.run(for: perToken * 0.9)
            if !isKilled { rig.stop() }
            rig.restart()
        }
        let starts = rig.starts(of: "api")
        #expect((9...10).contains(starts.count), "\(starts.count)")
        #expect(RateLimitRig.excess(starts, perSecond: Double(rate.count) / rate.period.duration.seconds) <= 1.001)
    }

    @Test func `a new limit starts one command at once and then obeys its rate`() throws {
        for text in ["1000/day", "1/s"] {
            var rig = RateLimitRig([:])
            rig.run(for: .milliseconds(50))
            rig.set([.limit("api"): RateLimit(starts: try Self.rate(text))])
            rig.submit(3, "api")
            rig.run(for: .milliseconds(500))
            #expect(rig.starts.count == 1, "\(text)")
            // The limit is not new to another coordinator.
            rig.restart()
            rig.run(for: .milliseconds(400))
            #expect(rig.starts.count == 1, "\(text)")
        }
    }

    @Test func `a busy limit reaches its rate`() throws {
        for (text, perSecond) in [("20/s", 20), ("600/min", 10), ("200/s", 200)] {
            var rig = RateLimitRig("api", text)
            rig.submit(perSecond * 12, "api")
            rig.run(for: .seconds(10))
            let count = rig.starts(of: "api").count
            #expect(count >= perSecond * 9 && count <= perSecond * 12, "\(text): \(count)")
        }
    }

    @Test func `a limit of commands at once holds, also over a restart`() {
        var rig = RateLimitRig("api", "1000/s", burst: 1000, atOnce: 3)
        rig.duration = .milliseconds(200)
        rig.submit(30, "api")
        rig.submit(5, nil)
        rig.run(for: .milliseconds(500))
        #expect(rig.starts(of: nil).count == 5)
        rig.restart()
        rig.run(for: .seconds(4))
        #expect(rig.starts(of: "api").count == 30 && rig.mostAtOnce["api"] == 3)
    }

    @Test func `limited commands hide neither others of their destination nor those of another limit`() throws {
        var rig = RateLimitRig(
            [
                .limit("a"): RateLimit(starts: try Self.rate("1/h")),
                .limit("b"): RateLimit(starts: try Self.rate("100/s")),
            ])
        rig.submit(1000, "a")
        rig.submit(20, nil)
        rig.submit(20, "b")
        rig.run(for: .seconds(1))
        #expect(rig.starts(of: nil).count == 20 && rig.starts(of: "b").count == 20)
        #expect(rig.starts(of: "a").count == 1)
    }

    @Test func `two hundred destinations under one limit are all served`() {
        var rig = RateLimitRig("api", "100/s", burst: 10)
        let hosts = (0..<200).map { Destination(scheme: "http", host: "127.0.1.\($0)", port: 80) }
        for host in hosts { rig.submit(3, "api", to: host) }
        rig.run(for: .seconds(4))
        #expect(Set(rig.starts.map(\.command.destination)).count == 200)
        #expect(RateLimitRig.excess(rig.starts(of: "api"), perSecond: 100) <= 10.001)
    }

    @Test func `high quality of service obeys its limit and goes first`() {
        var rig = RateLimitRig("api", "10/s", burst: 1)
        rig.submit(40, "api", .background)
        rig.submit(10, "api", .userInitiated)
        rig.run(for: .milliseconds(1080))
        let starts = rig.starts
        #expect((9...11).contains(starts.count), "\(starts.count)")
        #expect(starts.prefix(9).allSatisfy { $0.command.qos == .userInitiated })
    }

    @Test func `the floor gives a low class a token behind high ones`() {
        var rig = RateLimitRig("api", "10/s", burst: 1)
        rig.submit(1, "api", .background)
        rig.submit(200, "api", .userInitiated)
        for _ in 0..<70 {
            rig.run(for: .seconds(1))
            rig.submit(10, "api", .userInitiated)
        }
        #expect(rig.starts.contains { $0.command.qos == .background })
        #expect(RateLimitRig.excess(rig.starts(of: "api"), perSecond: 10) <= 1.001)
    }

    @Test func `a limited command without a token does not hide another from the floor`() throws {
        var rig = RateLimitRig("api", "1/day", seats: 1, concurrency: 4)
        rig.duration = .milliseconds(400)
        rig.submit(1, "api")
        rig.run(for: .seconds(1))
        #expect(rig.starts.count == 1, "the one token of a new limit")
        rig.submit(1, "api", .background)
        rig.submit(1, nil, .background)
        for _ in 0..<70 {
            rig.submit(12, nil)
            rig.run(for: .seconds(1))
            if rig.starts.last?.command.qos == .background { break }
        }
        #expect(rig.starts.contains { $0.command.qos == .background && $0.command.limit == nil })
    }

    @Test(arguments: [QualityOfService.default, .userInitiated])
    func `limited commands are offered into free slots only`(_ qos: QualityOfService) {
        var rig = RateLimitRig("api", "1000/s", burst: 1000, seats: 1, concurrency: 4)
        // Short commands make the window of the worker large.
        rig.submit(600, nil)
        rig.run(for: .seconds(2))
        #expect(rig.starts.count == 600 && rig.dispatcher.seats[0]?.window ?? 0 > 8)
        rig.duration = .seconds(60)
        rig.submit(100, "api", qos)
        rig.run(for: .milliseconds(20))
        #expect(rig.starts(of: "api").count == 4)
    }

    @Test func `limited commands start beside a backlog of short unlimited ones`() {
        var rig = RateLimitRig("api", "40/s", burst: 4)
        rig.submit(60, "api")
        for _ in 0..<20 {
            rig.submit(500, nil)
            rig.run(for: .milliseconds(50))
        }
        #expect(rig.dispatcher.seats[0]?.window ?? 0 > 8)
        #expect(rig.starts(of: "api").count >= 30, "\(rig.starts(of: "api").count)")
    }

    @Test func `commands of a limit that does not exist wait until it is set, and follow its changes`() throws {
        var rig = RateLimitRig([:])
        rig.submit(100, "api")
        rig.run(for: .seconds(1))
        #expect(rig.starts.isEmpty)
        rig.set([.limit("api"): RateLimit(starts: try Self.rate("10/s"), burst: 1)])
        rig.run(for: .seconds(2))
        #expect((18...21).contains(rig.starts.count), "\(rig.starts.count)")
        rig.set([.limit("api"): RateLimit(starts: try Self.rate("100/s"), burst: 1)])
        rig.run(for: .milliseconds(500))
        #expect((60...72).contains(rig.starts.count), "\(rig.starts.count)")
        rig.set([:])
        let count = rig.starts.count
        rig.run(for: .seconds(1))
        #expect(rig.starts.count == count)
    }

    @Test func `starts of a destination and a named limit both hold`() throws {
        let host = Destination(scheme: "http", host: "127.0.0.9", port: 80)
        var rig = RateLimitRig([
            .destination(host): RateLimit(starts: try Self.rate("10/s"), burst: 2),
            .limit("api"): RateLimit(starts: try Self.rate("5/s"), burst: 1),
        ])
        rig.submit(50, "api", to: host)
        rig.submit(50, nil, to: host)
        rig.submit(50, nil)
        rig.run(for: .seconds(4))
        let atHost = rig.starts.filter { $0.command.destination == host }.map(\.at)
        #expect(RateLimitRig.excess(atHost, perSecond: 10) <= 2.001 && atHost.count >= 38)
        #expect(RateLimitRig.excess(rig.starts(of: "api"), perSecond: 5) <= 1.001)
        #expect(rig.starts(of: "api").count >= 10)
        #expect(rig.starts.count { $0.command.destination == .none } == 50)
    }

    // MARK: Offers that are forgotten

    /// A dispatcher that has offered the first of two commands, whose limit has one token.
    private func offeredOne() throws -> (Dispatcher, offered: ReadyCommand, other: ReadyCommand) {
        var dispatcher = dispatcher()
        dispatcher.setRateLimits(
            [.limit("api"): RateLimit(starts: try Self.rate("1/s"), burst: 1)], wallTime: at, now: .zero)
        var (first, second) = (ready(1), ready(2))
        first.limit = "api"
        second.limit = "api"
        dispatcher.insert([first, second], now: after(2))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(2))) == [1])
        #expect(value(dispatcher.dispatch(at: at, now: after(3.9))).isEmpty, "an open offer holds the burst")
        return (dispatcher, first, second)
    }

    @Test func `a token comes back when the store says that the forgotten offer is still ready`() throws {
        var (dispatcher, first, _) = try offeredOne()
        #expect(dispatcher.withdrawUnclaimed(now: after(4.1)) == [first.id])
        #expect(value(dispatcher.dispatch(at: at, now: after(4.1))).isEmpty, "it may have been claimed")
        dispatcher.insert([first], now: after(4.2))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(4.2))) == [1])
    }

    @Test func `a token is spent where the forgotten offer was claimed`() throws {
        var (dispatcher, first, _) = try offeredOne()
        #expect(dispatcher.withdrawUnclaimed(now: after(4.1)) == [first.id])
        dispatcher.notReady([first.id], now: after(4.2))
        #expect(value(dispatcher.dispatch(at: at, now: after(4.3))).isEmpty)
        #expect(dispatcher.nextDue(now: after(4.3)).map { $0 - after(5.2) < .milliseconds(1) } == true)
        #expect(numbers(dispatcher.dispatch(at: at, now: after(5.21))) == [2])
    }

    @Test func `the dispatcher is due when the next token comes`() throws {
        var dispatcher = dispatcher()
        dispatcher.setRateLimits(
            [.limit("api"): RateLimit(starts: try Self.rate("2/s"), burst: 1)], wallTime: at, now: .zero)
        var command = ready(1)
        command.limit = "api"
        dispatcher.insert([command], now: .zero)
        #expect(value(dispatcher.dispatch(at: at, now: after(0.1))).isEmpty)
        let due = try #require(dispatcher.nextDue(now: after(0.1)))
        #expect(due == after(0.5))
        #expect(numbers(dispatcher.dispatch(at: at, now: due)) == [1])
    }

    @Test func `a durable limit starts nothing before its state is saved, and gives an unused reserve back`() throws {
        var dispatcher = dispatcher(concurrency: 1)
        dispatcher.setRateLimits(
            [.limit("api"): RateLimit(starts: try Self.rate("60/min"), burst: 10)], wallTime: at, now: .zero)
        let first = dispatcher.rateLimitsToSave(wallTime: at, now: .zero)
        #expect(first.map(\.state.maxTokens) == [10], "what accrues from now on outlives a crash")
        dispatcher.rates.wereSaved(first.map(\.name))
        let commands = (1...3).map { number in
            var command = ready(Int64(number))
            command.limit = "api"
            return command
        }
        dispatcher.insert(commands, now: after(5))
        #expect(value(dispatcher.dispatch(at: at, now: after(5))).isEmpty)
        let saves = dispatcher.rateLimitsToSave(wallTime: at, now: after(5))
        #expect(saves.map(\.name) == [.limit("api")])
        #expect(value(dispatcher.dispatch(at: at, now: after(5))).isEmpty)
        dispatcher.rates.wereSaved(saves.map(\.name))
        #expect(numbers(dispatcher.dispatch(at: at, now: after(5.1))) == [1])
        #expect(value(dispatcher.rateLimitsToSave(wallTime: at, now: after(7))).isEmpty)
        dispatcher.changed(commands.map(\.id))
        #expect(value(dispatcher.rateLimitsToSave(wallTime: at, now: after(7))).isEmpty)
        let last = dispatcher.rateLimitsToSave(wallTime: at, now: after(16))
        #expect(last.count == 1 && last[0].state.maxTokens > saves[0].state.maxTokens)
        dispatcher.rates.wereSaved(last.map(\.name))
        #expect(value(dispatcher.rateLimitsToSave(wallTime: at, now: after(40))).isEmpty)
    }
}
