import Commands
import TestSupport
import Testing

@testable import NetworkControl

@Suite struct OfflineProbeTests {
    private func failed(_ probe: inout LinkCircuitBreaker, _ number: UInt64, at seconds: Double) -> LinkCircuitBreaker
        .Event?
    {
        probe.failed(id(number), reason: "connection refused", chance: 0.5, now: Int64(seconds * 1e9))
    }

    private func closed() -> LinkCircuitBreaker {
        var probe = LinkCircuitBreaker()
        _ = probe.silent(for: 3 * second, srtt: nil, chance: 0.5, now: 0)
        return probe
    }

    @Test(arguments: [1.0, 600]) func `three commands that fail in a row close it, however far apart`(_ pause: Double) {
        var probe = LinkCircuitBreaker()
        #expect(failed(&probe, 1, at: 0) == nil)
        #expect(failed(&probe, 2, at: pause) == nil && probe.isFailing)
        #expect(failed(&probe, 3, at: 2 * pause) == .closed)
        #expect(probe.reason == "connection refused (3 commands, with no answer between)")
        #expect(probe.since == Int64(2 * pause) * second)
    }

    @Test func `one command that fails again and again does not close it`() {
        var probe = LinkCircuitBreaker()
        for number in 0..<20 { #expect(failed(&probe, 1, at: Double(number)) == nil) }
        #expect(failed(&probe, 2, at: 20) == nil)
        #expect(failed(&probe, 3, at: 21) == .closed)
    }

    @Test func `an answer between begins the count anew`() {
        var probe = LinkCircuitBreaker()
        for number in 0..<20 {
            #expect(failed(&probe, UInt64(number), at: Double(number)) == nil)
            if number % 2 == 1 { _ = probe.answered(id(99), now: 0) }
        }
        #expect(!probe.isFailing)
    }

    @Test func `bytes that flow begin the count anew`() {
        var probe = LinkCircuitBreaker()
        for number in 0..<20 {
            #expect(failed(&probe, UInt64(number), at: Double(number)) == nil)
            _ = probe.progressed(1000, now: Int64(number) * second)
        }
    }

    @Test func `silence closes it after three seconds or eight round trips`() {
        var probe = LinkCircuitBreaker()
        #expect(value(probe.silent(for: 3 * second - 1, srtt: nil, chance: 0, now: 0)) == nil)
        #expect(value(probe.silent(for: 7 * second, srtt: second, chance: 0, now: 0)) == nil)
        #expect(value(probe.silent(for: 8 * second, srtt: second, chance: 0, now: 0)) == .closed)
        #expect(probe.reason == "no byte was acknowledged for 8.0 s with transfers in flight")
    }

    @Test func `exactly one probe at a time`() {
        var probe = closed()
        #expect(!probe.admits(now: second - 1))
        #expect(probe.admits(now: second))
        probe.offered(id(1), now: second)
        #expect(!probe.admits(now: 20 * second))
        #expect(probe.nextProbe == nil)
        _ = failed(&probe, 1, at: 3)
        #expect(probe.admits(now: 3 * second))
    }

    @Test func `a cancelled probe gives its permit back`() {
        var probe = closed()
        probe.offered(id(1), now: second)
        probe.withdrawn(id(2), now: 2 * second)
        #expect(!probe.admits(now: 2 * second), "somebody else's")
        probe.withdrawn(id(1), now: 2 * second)
        #expect(probe.admits(now: 2 * second))
        // Also half-open.
        probe.offered(id(3), now: 2 * second)
        _ = probe.progressed(1000, now: 2 * second)
        probe.withdrawn(id(3), now: 3 * second)
        #expect(probe.state == .closed)
        #expect(probe.admits(now: 3 * second))
    }

    @Test func `the next goes when one has heard nothing for two seconds, and either may open it`() {
        var probe = closed()
        probe.offered(id(1), now: 10 * second)
        _ = probe.tick(chance: 0.5, now: 11 * second)
        #expect(!probe.admits(now: 11 * second))
        _ = probe.tick(chance: 0.5, now: 12 * second)
        #expect(probe.admits(now: 12 * second))
        probe.offered(id(2), now: 12 * second)
        // It still waits for its connect, and is not cut for that.
        #expect(probe.isProbe(id(1)) && probe.isProbe(id(2)))
        #expect(probe.failed(id(1), reason: "timed out", chance: 0.5, now: 20 * second) == nil)
        #expect(!probe.isProbe(id(1)) && probe.isProbe(id(2)))
        _ = probe.progressed(100, now: 20 * second)
        #expect(probe.state == .halfOpen)
        #expect(probe.answered(id(2), now: 20 * second) == .opened)
    }

    @Test func `a probe whose end nobody reports is forgotten after thirty seconds`() {
        var probe = closed()
        probe.offered(id(1), now: second)
        #expect(!probe.admits(now: 31 * second - 1))
        #expect(probe.admits(now: 31 * second))
    }

    @Test func `intervals are a twentieth of the outage, from one second to thirty, give or take a fifth`() {
        for (age, plain) in [(0, 1.0), (20, 1), (40, 2), (300, 15), (600, 30), (86_400, 30)] {
            let shortest = LinkCircuitBreaker.interval(age: Int64(age) * second, chance: 0).seconds
            let longest = LinkCircuitBreaker.interval(age: Int64(age) * second, chance: 0.999_999).seconds
            #expect(abs(shortest - 0.8 * plain) < 0.001)
            #expect(abs(longest - min(1.2 * plain, 30)) < 0.001)
        }
    }

    @Test func `probes are at most thirty seconds apart, whatever happens to them`() {
        for seed in UInt64(1)...20 {
            var random = SeededRandom(seed: seed)
            var probe = closed()
            var last: Int64 = 0
            var now: Int64 = 0
            var number: UInt64 = 0
            while now < 3600 * second {
                now += Int64(random.number(in: 1..<1000)) * 1_000_000
                guard probe.admits(now: now) else {
                    #expect(now - last <= 31 * second, "seed \(seed)")
                    continue
                }
                number += 1
                probe.offered(id(number), now: now)
                last = now
                switch random.number(in: 0..<4) {
                case 0: _ = probe.failed(id(number), reason: "refused", chance: random.fraction(), now: now)
                case 1:
                    now += 2 * second
                    _ = probe.failed(id(number), reason: "timed out", chance: random.fraction(), now: now)
                case 2: probe.withdrawn(id(number), now: now)
                default: break
                }
            }
        }
    }

    @Test func `64 kB open it, an answer too, and slow progress after five seconds`() {
        var probe = closed()
        probe.offered(id(1), now: second)
        #expect(value(probe.progressed(1000, now: second)) == nil)
        #expect(probe.state == .halfOpen)
        #expect(!probe.admits(now: second), "one at a time")
        #expect(value(probe.progressed(63_000, now: 2 * second)) == .opened)
        #expect(probe == LinkCircuitBreaker())

        probe = closed()
        probe.offered(id(1), now: second)
        #expect(value(probe.answered(id(1), now: second)) == .opened)

        probe = closed()
        _ = probe.progressed(100, now: second)
        _ = probe.progressed(100, now: 5 * second)
        #expect(value(probe.tick(chance: 0.5, now: 6 * second)) == .opened)

        probe = closed()
        _ = probe.progressed(100, now: second)
        #expect(value(probe.tick(chance: 0.5, now: 6 * second)) == nil)
        #expect(probe.state == .closed)
    }

    @Test func `the kernel's word counts at once`() {
        var probe = LinkCircuitBreaker()
        #expect(value(probe.routeLost("network is unreachable", chance: 0.5, now: 0)) == .closed)
        #expect(probe.reason == "network is unreachable")
        #expect(!probe.admits(now: 100_000_000))
        probe.routeFound(now: 100_000_000)
        #expect(probe.admits(now: 100_000_000))
    }

    @Test func `what is told of the time before the route was lost opens nothing`() {
        var probe = LinkCircuitBreaker()
        _ = probe.routeLost("there is no default route", chance: 0.5, now: 0)
        #expect(value(probe.progressed(1_000_000, now: second / 4)) == nil)
        #expect(value(probe.answered(id(1), now: second / 4)) == nil)
        #expect(probe.state == .closed)
        // Later it is true, whatever the kernel said.
        #expect(value(probe.progressed(1_000_000, now: 2 * second)) == .opened)
    }

    @Test func `what the kernel says of a route outlives the probes that fail without it`() {
        var probe = LinkCircuitBreaker()
        _ = probe.routeLost("there is no default route", chance: 0.5, now: 0)
        probe.offered(id(1), now: 2 * second)
        _ = probe.failed(id(1), reason: "Network is unreachable", chance: 0.5, now: 2 * second)
        #expect(probe.reason == "there is no default route")
        probe.routeFound(now: 3 * second)
        probe.offered(id(1), now: 3 * second)
        _ = probe.failed(id(1), reason: "connection refused", chance: 0.5, now: 4 * second)
        #expect(probe.reason == "connection refused")
    }
}
