import Commands
import TestSupport
import Testing

@testable import NetworkControl

@Suite struct LinkCircuitBreakerTests {
    private func failed(_ circuitBreaker: inout LinkCircuitBreaker, _ number: UInt64, at seconds: Double)
        -> LinkCircuitBreaker
        .Event?
    {
        circuitBreaker.failed(id(number), reason: "connection refused", chance: 0.5, now: Int64(seconds * 1e9))
    }

    private func open() -> LinkCircuitBreaker {
        var circuitBreaker = LinkCircuitBreaker()
        _ = circuitBreaker.silent(for: 3 * second, srtt: nil, chance: 0.5, now: 0)
        return circuitBreaker
    }

    @Test(arguments: [1.0, 600]) func `three commands that fail in a row open the circuit breaker, however far apart`(
        _ pause: Double
    ) {
        var circuitBreaker = LinkCircuitBreaker()
        #expect(failed(&circuitBreaker, 1, at: 0) == nil)
        #expect(failed(&circuitBreaker, 2, at: pause) == nil && circuitBreaker.isFailing)
        #expect(failed(&circuitBreaker, 3, at: 2 * pause) == .opened)
        #expect(circuitBreaker.reason == "connection refused (3 commands, with no answer between)")
        #expect(circuitBreaker.since == Int64(2 * pause) * second)
    }

    @Test func `one command that fails again and again does not open the circuit breaker`() {
        var circuitBreaker = LinkCircuitBreaker()
        for number in 0..<20 { #expect(failed(&circuitBreaker, 1, at: Double(number)) == nil) }
        #expect(failed(&circuitBreaker, 2, at: 20) == nil)
        #expect(failed(&circuitBreaker, 3, at: 21) == .opened)
    }

    @Test func `an answer resets the count of failed commands`() {
        var circuitBreaker = LinkCircuitBreaker()
        for number in 0..<20 {
            #expect(failed(&circuitBreaker, UInt64(number), at: Double(number)) == nil)
            if number % 2 == 1 { _ = circuitBreaker.answered(id(99), now: 0) }
        }
        #expect(!circuitBreaker.isFailing)
    }

    @Test func `acknowledged bytes reset the count of failed commands`() {
        var circuitBreaker = LinkCircuitBreaker()
        for number in 0..<20 {
            #expect(failed(&circuitBreaker, UInt64(number), at: Double(number)) == nil)
            _ = circuitBreaker.progressed(1000, now: Int64(number) * second)
        }
    }

    @Test func `silence opens the circuit breaker after three seconds or eight round trips`() {
        var circuitBreaker = LinkCircuitBreaker()
        #expect(value(circuitBreaker.silent(for: 3 * second - 1, srtt: nil, chance: 0, now: 0)) == nil)
        #expect(value(circuitBreaker.silent(for: 7 * second, srtt: second, chance: 0, now: 0)) == nil)
        #expect(value(circuitBreaker.silent(for: 8 * second, srtt: second, chance: 0, now: 0)) == .opened)
        #expect(circuitBreaker.reason == "no byte was acknowledged for 8.0 s with transfers in flight")
    }

    @Test func `an open circuit breaker lets exactly one probe out at a time`() {
        var circuitBreaker = open()
        #expect(!circuitBreaker.isProbeDue(now: second - 1))
        #expect(circuitBreaker.isProbeDue(now: second))
        circuitBreaker.offered(id(1), now: second)
        #expect(!circuitBreaker.isProbeDue(now: 20 * second))
        #expect(circuitBreaker.nextProbe == nil)
        _ = failed(&circuitBreaker, 1, at: 3)
        #expect(circuitBreaker.isProbeDue(now: 3 * second))
    }

    @Test func `a cancelled probe gives its permit back`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: second)
        circuitBreaker.withdrawn(id(2), now: 2 * second)
        #expect(!circuitBreaker.isProbeDue(now: 2 * second), "another command holds the permit")
        circuitBreaker.withdrawn(id(1), now: 2 * second)
        #expect(circuitBreaker.isProbeDue(now: 2 * second))
        // Half-open too.
        circuitBreaker.offered(id(3), now: 2 * second)
        _ = circuitBreaker.progressed(1000, now: 2 * second)
        circuitBreaker.withdrawn(id(3), now: 3 * second)
        #expect(circuitBreaker.state == .open)
        #expect(circuitBreaker.isProbeDue(now: 3 * second))
    }

    @Test
    func `the next probe goes after two seconds without a word, and either of the two may close the circuit breaker`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: 10 * second)
        _ = circuitBreaker.tick(chance: 0.5, now: 11 * second)
        #expect(!circuitBreaker.isProbeDue(now: 11 * second))
        _ = circuitBreaker.tick(chance: 0.5, now: 12 * second)
        #expect(circuitBreaker.isProbeDue(now: 12 * second))
        circuitBreaker.offered(id(2), now: 12 * second)
        // The first probe still waits for its connect, and is not cut.
        #expect(circuitBreaker.isProbe(id(1)) && circuitBreaker.isProbe(id(2)))
        #expect(circuitBreaker.failed(id(1), reason: "timed out", chance: 0.5, now: 20 * second) == nil)
        #expect(!circuitBreaker.isProbe(id(1)) && circuitBreaker.isProbe(id(2)))
        _ = circuitBreaker.progressed(100, now: 20 * second)
        #expect(circuitBreaker.state == .halfOpen)
        #expect(circuitBreaker.answered(id(2), now: 20 * second) == .closed)
    }

    @Test func `a probe whose end is not reported loses its permit after thirty seconds`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: second)
        #expect(!circuitBreaker.isProbeDue(now: 31 * second - 1))
        #expect(circuitBreaker.isProbeDue(now: 31 * second))
    }

    @Test
    func `the interval between probes is a twentieth of the outage, from one second to thirty, give or take a fifth`() {
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
            var circuitBreaker = open()
            var last: Int64 = 0
            var now: Int64 = 0
            var number: UInt64 = 0
            while now < 3600 * second {
                now += Int64(random.number(in: 1..<1000)) * 1_000_000
                guard circuitBreaker.isProbeDue(now: now) else {
                    #expect(now - last <= 31 * second, "seed \(seed)")
                    continue
                }
                number += 1
                circuitBreaker.offered(id(number), now: now)
                last = now
                switch random.number(in: 0..<4) {
                case 0: _ = circuitBreaker.failed(id(number), reason: "refused", chance: random.fraction(), now: now)
                case 1:
                    now += 2 * second
                    _ = circuitBreaker.failed(id(number), reason: "timed out", chance: random.fraction(), now: now)
                case 2: circuitBreaker.withdrawn(id(number), now: now)
                default: break
                }
            }
        }
    }

    @Test func `64 kB, an answer or five seconds of progress close the circuit breaker`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: second)
        #expect(value(circuitBreaker.progressed(1000, now: second)) == nil)
        #expect(circuitBreaker.state == .halfOpen)
        #expect(!circuitBreaker.isProbeDue(now: second), "one at a time")
        #expect(value(circuitBreaker.progressed(63_000, now: 2 * second)) == .closed)
        #expect(circuitBreaker == LinkCircuitBreaker())

        circuitBreaker = open()
        circuitBreaker.offered(id(1), now: second)
        #expect(value(circuitBreaker.answered(id(1), now: second)) == .closed)

        circuitBreaker = open()
        _ = circuitBreaker.progressed(100, now: second)
        _ = circuitBreaker.progressed(100, now: 5 * second)
        #expect(value(circuitBreaker.tick(chance: 0.5, now: 6 * second)) == .closed)

        circuitBreaker = open()
        _ = circuitBreaker.progressed(100, now: second)
        #expect(value(circuitBreaker.tick(chance: 0.5, now: 6 * second)) == nil)
        #expect(circuitBreaker.state == .open)
    }

    @Test func `a route that the kernel reports lost opens the circuit breaker at once`() {
        var circuitBreaker = LinkCircuitBreaker()
        #expect(value(circuitBreaker.routeLost("network is unreachable", chance: 0.5, now: 0)) == .opened)
        #expect(circuitBreaker.reason == "network is unreachable")
        #expect(!circuitBreaker.isProbeDue(now: 100_000_000))
        circuitBreaker.routeFound(now: 100_000_000)
        #expect(circuitBreaker.isProbeDue(now: 100_000_000))
    }

    @Test func `a report about the time before the route was lost does not close the circuit breaker`() {
        var circuitBreaker = LinkCircuitBreaker()
        _ = circuitBreaker.routeLost("there is no default route", chance: 0.5, now: 0)
        #expect(value(circuitBreaker.progressed(1_000_000, now: second / 4)) == nil)
        #expect(value(circuitBreaker.answered(id(1), now: second / 4)) == nil)
        #expect(circuitBreaker.state == .open)
        // After the delay of reports, bytes outweigh the kernel.
        #expect(value(circuitBreaker.progressed(1_000_000, now: 2 * second)) == .closed)
    }

    @Test func `the reason that the kernel gives outlives the probes that fail without a route`() {
        var circuitBreaker = LinkCircuitBreaker()
        _ = circuitBreaker.routeLost("there is no default route", chance: 0.5, now: 0)
        circuitBreaker.offered(id(1), now: 2 * second)
        _ = circuitBreaker.failed(id(1), reason: "Network is unreachable", chance: 0.5, now: 2 * second)
        #expect(circuitBreaker.reason == "there is no default route")
        circuitBreaker.routeFound(now: 3 * second)
        circuitBreaker.offered(id(1), now: 3 * second)
        _ = circuitBreaker.failed(id(1), reason: "connection refused", chance: 0.5, now: 4 * second)
        #expect(circuitBreaker.reason == "connection refused")
    }
}
