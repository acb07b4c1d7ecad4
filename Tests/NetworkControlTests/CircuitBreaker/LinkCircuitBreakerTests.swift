import Commands
import Host
import TestSupport
import Testing

@testable import NetworkControl

@Suite struct LinkCircuitBreakerTests {
    private func failed(_ circuitBreaker: inout LinkCircuitBreaker, _ number: UInt64, at seconds: Double)
        -> LinkCircuitBreaker
        .Event?
    {
        circuitBreaker.failed(id(number), text: "connection refused", chance: 0.5, now: at(seconds))
    }

    private func open() -> LinkCircuitBreaker {
        var circuitBreaker = LinkCircuitBreaker()
        _ = circuitBreaker.silent(for: .seconds(3), srtt: nil, chance: 0.5, now: at(0))
        return circuitBreaker
    }

    @Test(arguments: [1.0, 600]) func `three commands that fail in a row open the circuit breaker, however far apart`(
        _ pause: Double
    ) {
        var circuitBreaker = LinkCircuitBreaker()
        #expect(failed(&circuitBreaker, 1, at: 0) == nil)
        #expect(failed(&circuitBreaker, 2, at: pause) == nil && circuitBreaker.isFailing)
        #expect(failed(&circuitBreaker, 3, at: 2 * pause) == .opened)
        #expect(circuitBreaker.reason == .failures("connection refused", count: 3))
        #expect(circuitBreaker.since == at(2 * pause))
    }

    @Test func `one command that fails again and again does not open the circuit breaker`() {
        var circuitBreaker = LinkCircuitBreaker()
        for number in 0..<20 { #expect(failed(&circuitBreaker, 1, at: Double(number)) == nil) }
        #expect(failed(&circuitBreaker, 2, at: 20) == nil)
        #expect(failed(&circuitBreaker, 3, at: 21) == .opened)
    }

    /// A report of a worker may state any number.
    @Test func `the highest number of acknowledged bytes closes the circuit breaker`() {
        var circuitBreaker = open()
        #expect(circuitBreaker.progressed(1, now: at(10)) == nil)
        #expect(circuitBreaker.progressed(.max, now: at(11)) == .closed)
    }

    @Test func `an answer resets the count of failed commands`() {
        var circuitBreaker = LinkCircuitBreaker()
        for number in 0..<20 {
            #expect(failed(&circuitBreaker, UInt64(number), at: Double(number)) == nil)
            if number % 2 == 1 { _ = circuitBreaker.answered(id(99), now: at(0)) }
        }
        #expect(!circuitBreaker.isFailing)
    }

    @Test func `acknowledged bytes reset the count of failed commands`() {
        var circuitBreaker = LinkCircuitBreaker()
        for number in 0..<20 {
            #expect(failed(&circuitBreaker, UInt64(number), at: Double(number)) == nil)
            _ = circuitBreaker.progressed(1000, now: at(Double(number)))
        }
    }

    @Test func `silence opens the circuit breaker after three seconds or eight round trips`() {
        var circuitBreaker = LinkCircuitBreaker()
        #expect(
            value(circuitBreaker.silent(for: .seconds(3) - .nanoseconds(1), srtt: nil, chance: 0, now: at(0))) == nil)
        #expect(value(circuitBreaker.silent(for: .seconds(7), srtt: .seconds(1), chance: 0, now: at(0))) == nil)
        #expect(value(circuitBreaker.silent(for: .seconds(8), srtt: .seconds(1), chance: 0, now: at(0))) == .opened)
        #expect(circuitBreaker.reason == .silence(.seconds(8)))
    }

    @Test func `an open circuit breaker lets exactly one probe out at a time`() {
        var circuitBreaker = open()
        #expect(!circuitBreaker.isProbeDue(now: at(1) - .nanoseconds(1)))
        #expect(circuitBreaker.isProbeDue(now: at(1)))
        circuitBreaker.offered(id(1), now: at(1))
        #expect(!circuitBreaker.isProbeDue(now: at(20)))
        #expect(circuitBreaker.nextProbe == nil)
        _ = failed(&circuitBreaker, 1, at: 3)
        #expect(circuitBreaker.isProbeDue(now: at(3)))
    }

    @Test func `a cancelled probe gives its permit back`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: at(1))
        circuitBreaker.withdrawn(id(2), now: at(2))
        #expect(!circuitBreaker.isProbeDue(now: at(2)), "another command holds the permit")
        circuitBreaker.withdrawn(id(1), now: at(2))
        #expect(circuitBreaker.isProbeDue(now: at(2)))
        // Half-open too.
        circuitBreaker.offered(id(3), now: at(2))
        _ = circuitBreaker.progressed(1000, now: at(2))
        circuitBreaker.withdrawn(id(3), now: at(3))
        #expect(circuitBreaker.state == .open)
        #expect(circuitBreaker.isProbeDue(now: at(3)))
    }

    @Test
    func `the next probe goes after two silent seconds, and either of the two may close the circuit breaker`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: at(10))
        _ = circuitBreaker.tick(chance: 0.5, now: at(11))
        #expect(!circuitBreaker.isProbeDue(now: at(11)))
        _ = circuitBreaker.tick(chance: 0.5, now: at(12))
        #expect(circuitBreaker.isProbeDue(now: at(12)))
        circuitBreaker.offered(id(2), now: at(12))
        // The first probe still waits for its connect, and is not cut.
        #expect(circuitBreaker.isProbe(id(1)) && circuitBreaker.isProbe(id(2)))
        #expect(circuitBreaker.failed(id(1), text: "timed out", chance: 0.5, now: at(20)) == nil)
        #expect(!circuitBreaker.isProbe(id(1)) && circuitBreaker.isProbe(id(2)))
        _ = circuitBreaker.progressed(100, now: at(20))
        #expect(circuitBreaker.state == .halfOpen)
        #expect(circuitBreaker.answered(id(2), now: at(20)) == .closed)
    }

    @Test func `a probe whose end is not reported loses its permit after thirty seconds`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: at(1))
        #expect(!circuitBreaker.isProbeDue(now: at(31) - .nanoseconds(1)))
        #expect(circuitBreaker.isProbeDue(now: at(31)))
    }

    @Test
    func `the interval between probes is a twentieth of the outage, from one second to thirty, give or take a fifth`() {
        for (age, plain) in [(0, 1.0), (20, 1), (40, 2), (300, 15), (600, 30), (86_400, 30)] {
            let shortest = LinkCircuitBreaker.interval(age: .seconds(age), chance: 0).seconds
            let longest = LinkCircuitBreaker.interval(age: .seconds(age), chance: 0.999_999).seconds
            #expect(abs(shortest - 0.8 * plain) < 0.001)
            #expect(abs(longest - min(1.2 * plain, 30)) < 0.001)
        }
    }

    @Test func `probes are at most thirty seconds apart, whatever happens to them`() {
        for seed in UInt64(1)...20 {
            var random = SeededRandom(seed: seed)
            var circuitBreaker = open()
            var last = at(0)
            var now = at(0)
            var number: UInt64 = 0
            while now < at(3600) {
                now += .milliseconds(random.number(in: 1..<1000))
                guard circuitBreaker.isProbeDue(now: now) else {
                    #expect(now - last <= .seconds(31), "seed \(seed)")
                    continue
                }
                number += 1
                circuitBreaker.offered(id(number), now: now)
                last = now
                switch random.number(in: 0..<4) {
                case 0: _ = circuitBreaker.failed(id(number), text: "refused", chance: random.fraction(), now: now)
                case 1:
                    now += .seconds(2)
                    _ = circuitBreaker.failed(id(number), text: "timed out", chance: random.fraction(), now: now)
                case 2: circuitBreaker.withdrawn(id(number), now: now)
                default: break
                }
            }
        }
    }

    @Test func `64 kB, an answer or five seconds of progress close the circuit breaker`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(1), now: at(1))
        #expect(value(circuitBreaker.progressed(1000, now: at(1))) == nil)
        #expect(circuitBreaker.state == .halfOpen)
        #expect(!circuitBreaker.isProbeDue(now: at(1)), "one at a time")
        #expect(value(circuitBreaker.progressed(63_000, now: at(2))) == .closed)
        #expect(circuitBreaker == LinkCircuitBreaker())

        circuitBreaker = open()
        circuitBreaker.offered(id(1), now: at(1))
        #expect(value(circuitBreaker.answered(id(1), now: at(1))) == .closed)

        circuitBreaker = open()
        _ = circuitBreaker.progressed(100, now: at(1))
        _ = circuitBreaker.progressed(100, now: at(5))
        #expect(value(circuitBreaker.tick(chance: 0.5, now: at(6))) == .closed)

        circuitBreaker = open()
        _ = circuitBreaker.progressed(100, now: at(1))
        #expect(value(circuitBreaker.tick(chance: 0.5, now: at(6))) == nil)
        #expect(circuitBreaker.state == .open)
    }

    @Test func `a route that the kernel reports lost opens the circuit breaker at once`() {
        var circuitBreaker = LinkCircuitBreaker()
        #expect(value(circuitBreaker.routeLost(.route(.noRoute, "a"), chance: 0.5, now: at(0))) == .opened)
        #expect(circuitBreaker.reason == .route(.noRoute, "a"))
        #expect(!circuitBreaker.isProbeDue(now: at(0.1)))
        circuitBreaker.routeFound(now: at(0.1))
        #expect(circuitBreaker.isProbeDue(now: at(0.1)))
    }

    @Test func `a report about the time before the route was lost does not close the circuit breaker`() {
        var circuitBreaker = LinkCircuitBreaker()
        _ = circuitBreaker.routeLost(LinkReason(.noDefaultRoute), chance: 0.5, now: at(0))
        #expect(value(circuitBreaker.progressed(1_000_000, now: at(0.25))) == nil)
        #expect(value(circuitBreaker.answered(id(1), now: at(0.25))) == nil)
        #expect(circuitBreaker.state == .open)
        // After the delay of reports, bytes outweigh the kernel.
        #expect(value(circuitBreaker.progressed(1_000_000, now: at(2))) == .closed)
    }

    @Test func `the reason that the kernel gives outlives the probes that fail without a route`() {
        var circuitBreaker = LinkCircuitBreaker()
        _ = circuitBreaker.routeLost(LinkReason(.noDefaultRoute), chance: 0.5, now: at(0))
        circuitBreaker.offered(id(1), now: at(2))
        _ = circuitBreaker.failed(id(1), text: "Network is unreachable", chance: 0.5, now: at(2))
        #expect(circuitBreaker.reason == LinkReason(.noDefaultRoute))
        circuitBreaker.routeFound(now: at(3))
        circuitBreaker.offered(id(1), now: at(3))
        _ = circuitBreaker.failed(id(1), text: "connection refused", chance: 0.5, now: at(4))
        #expect(circuitBreaker.reason == .failures("connection refused"))
    }
}
