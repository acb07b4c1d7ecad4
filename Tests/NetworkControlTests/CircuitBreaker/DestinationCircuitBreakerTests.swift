import Commands
import Host
import TestSupport
import Testing

@testable import NetworkControl

@Suite struct DestinationCircuitBreakerTests {
    private static let interval: Duration = .seconds(60)

    private func closed() -> DestinationCircuitBreaker { DestinationCircuitBreaker(interval: Self.interval) }

    /// A circuit breaker that command 1 opened at 0 s.
    private func open() -> DestinationCircuitBreaker {
        var circuitBreaker = closed()
        circuitBreaker.refused(id(1), .destination, reason: "507", now: at(0))
        return circuitBreaker
    }

    struct Refusals: Sendable, CustomTestStringConvertible {
        var refused: [(command: UInt64, cause: DestinationCircuitBreaker.Cause)]
        /// The position of the refusal that opens it.
        var opensAt: Int?

        var testDescription: String { refused.map { "\($0.cause.rawValue) \($0.command)" }.joined(separator: ", ") }
    }

    @Test(arguments: [
        Refusals(refused: [(1, .destination)], opensAt: 0),
        Refusals(refused: [(1, .credential), (1, .credential), (2, .credential), (2, .credential)], opensAt: nil),
        Refusals(refused: [(1, .credential), (2, .credential), (1, .credential), (3, .credential)], opensAt: 3),
        Refusals(refused: [(1, .credential), (1, .destination)], opensAt: 1),
    ])
    func
        `a circuit breaker opens at the first failure of the destination, and at refused credentials of three commands`(
            _ example: Refusals
        )
    {
        var circuitBreaker = closed()
        for (position, refusal) in example.refused.enumerated() {
            let now = at(Double(position))
            circuitBreaker.refused(id(refusal.command), refusal.cause, reason: "no \(position)", now: now)
            #expect(circuitBreaker.isClosed == (position < example.opensAt ?? .max))
            guard position == example.opensAt else { continue }
            #expect(circuitBreaker.outage?.cause == refusal.cause)
            #expect(circuitBreaker.outage?.reason == "no \(position)")
            #expect(circuitBreaker.outage?.since == now)
            #expect(circuitBreaker.nextProbe == now + Self.interval)
        }
    }

    @Test func `an acceptance resets the count of refused credentials`() {
        var circuitBreaker = closed()
        for number in UInt64(1)...20 {
            circuitBreaker.refused(id(number), .credential, reason: "401", now: at(0))
            if number % 2 == 0 { circuitBreaker.accepted(id(99)) }
            #expect(circuitBreaker.isClosed)
        }
    }

    struct Ending: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var happens: @Sendable (inout DestinationCircuitBreaker) -> Void
        /// Time of the next probe, after the end at 61 s; nil if the circuit breaker is closed or the probe
        /// still under way.
        var nextProbe: MonotonicTime?
        var isClosed = false
    }

    private static let endings = [
        Ending(
            testDescription: "refused", happens: { $0.refused(id(2), .destination, reason: "507", now: at(61)) },
            nextProbe: at(121)),
        Ending(
            testDescription: "a 500, or no connection", happens: { $0.undecided(id(2), now: at(61)) },
            nextProbe: at(121)),
        Ending(
            testDescription: "cancelled or not taken", happens: { $0.withdrawn(id(2), now: at(61)) },
            nextProbe: at(61)),
        Ending(testDescription: "accepted", happens: { $0.accepted(id(2)) }, isClosed: true),
        Ending(
            testDescription: "another command refused",
            happens: { $0.refused(id(9), .destination, reason: "507", now: at(61)) }),
        Ending(testDescription: "another command undecided", happens: { $0.undecided(id(9), now: at(61)) }),
        Ending(testDescription: "another command cancelled", happens: { $0.withdrawn(id(9), now: at(61)) }),
    ]

    @Test(arguments: endings)
    func
        `an open circuit breaker lets one probe out after a minute, and the end of the probe sets the time of the next`(
            _ ending: Ending
        )
    {
        var circuitBreaker = open()
        #expect(!circuitBreaker.isProbeDue(now: at(60) - .nanoseconds(1)))
        #expect(circuitBreaker.isProbeDue(now: at(60)))
        circuitBreaker.offered(id(2), now: at(60))
        #expect(!circuitBreaker.isProbeDue(now: at(60)) && circuitBreaker.nextProbe == nil)
        ending.happens(&circuitBreaker)
        #expect(circuitBreaker.nextProbe == ending.nextProbe)
        #expect(circuitBreaker.isClosed == ending.isClosed)
        #expect(circuitBreaker.isProbeDue(now: at(121)) == (ending.nextProbe != nil))
    }

    @Test func `an open circuit breaker has the newest reason and the time of the first`() {
        var circuitBreaker = open()
        circuitBreaker.refused(id(2), .credential, reason: "401", now: at(5))
        #expect(circuitBreaker.outage?.cause == .credential && circuitBreaker.outage?.reason == "401")
        #expect(circuitBreaker.outage?.since == at(0))
        #expect(circuitBreaker.nextProbe == at(60), "a command that was sent before is not a probe")
    }

    /// Commands 1 and 2 failed and command 3 was accepted, which closed it.
    @Test(
        arguments: [
            ([1], true), ([1, 2], true), ([1, 2, 1, 2], true), ([1, 2, 3], false), ([4], false), ([3], false),
        ] as [([UInt64], Bool)])
    func `a command that is refused again after another was accepted opens it only as one of three`(
        _ refused: [UInt64], _ isClosed: Bool
    ) {
        var circuitBreaker = open()
        circuitBreaker.refused(id(2), .destination, reason: "507", now: at(1))
        circuitBreaker.offered(id(3), now: at(60))
        circuitBreaker.accepted(id(3))
        for number in refused {
            circuitBreaker.refused(id(number), .destination, reason: "507", now: at(100))
        }
        #expect(circuitBreaker.isClosed == isClosed)
        // Once accepted, it is a command like any other.
        circuitBreaker.accepted(id(1))
        circuitBreaker.accepted(id(2))
        circuitBreaker.refused(id(1), .destination, reason: "507", now: at(200))
        #expect(!circuitBreaker.isClosed)
    }

    @Test func `a probe whose end is lost holds up the next for ten intervals`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(2), now: at(60))
        #expect(!circuitBreaker.isProbeDue(now: at(660) - .nanoseconds(1)))
        #expect(circuitBreaker.isProbeDue(now: at(660)))
        circuitBreaker.offered(id(3), now: at(660))
        circuitBreaker.withdrawn(id(2), now: at(661))
        #expect(circuitBreaker.nextProbe == nil, "the earlier probe does not count")
    }

    @Test func `a restored circuit breaker lets a probe out at once`() {
        let circuitBreaker = DestinationCircuitBreaker(
            openFor: .credential, reason: "401", since: at(-5), interval: Self.interval, now: at(7))
        #expect(circuitBreaker.isProbeDue(now: at(7)))
        #expect(circuitBreaker.outage?.since == at(-5))
    }

    @Test func `a circuit breaker remembers when commands failed, the newest 1,024 of them`() {
        var circuitBreaker = open()
        circuitBreaker.offered(id(2), now: at(60))
        circuitBreaker.undecided(id(2), now: at(61))
        #expect(circuitBreaker.lastFailure(of: id(1)) == at(0))
        #expect(circuitBreaker.lastFailure(of: id(2)) == at(61))
        #expect(circuitBreaker.lastFailure(of: id(3)) == nil)
        for number in UInt64(3)...2000 {
            circuitBreaker.refused(id(number), .destination, reason: "507", now: at(Double(number)))
        }
        #expect(circuitBreaker.failed.count == DestinationCircuitBreaker.maxFailures)
        #expect(circuitBreaker.lastFailure(of: id(1)) == nil)
        #expect(circuitBreaker.lastFailure(of: id(2000)) == at(2000))
    }

    @Test func `at most one probe is under way, and the next goes at most an interval after its end`() {
        for seed in UInt64(1)...20 {
            var random = SeededRandom(seed: seed)
            var circuitBreaker = open()
            var now = at(0)
            var free = at(60)
            for number in UInt64(2)...500 {
                now += .seconds(random.number(in: 1..<90))
                guard circuitBreaker.isProbeDue(now: now) else {
                    #expect(now < free, "seed \(seed)")
                    continue
                }
                circuitBreaker.offered(id(number), now: now)
                #expect(!circuitBreaker.isProbeDue(now: now), "seed \(seed)")
                now += .seconds(random.number(in: 0..<30))
                switch random.number(in: 0..<3) {
                case 0: circuitBreaker.refused(id(number), .destination, reason: "507", now: now)
                case 1: circuitBreaker.undecided(id(number), now: now)
                default: circuitBreaker.withdrawn(id(number), now: now)
                }
                free = now + Self.interval
            }
        }
    }

    // MARK: In the controller

    struct Outcome: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var outcome: TransferOutcome
        var closes = false
        /// Whether the probe's link counts it as an answer.
        var isAnswer = false
    }

    @Test(arguments: [
        Outcome(testDescription: "answered", outcome: .answered, closes: true, isAnswer: true),
        Outcome(testDescription: "undecided", outcome: .undecided),
        Outcome(testDescription: "unreachable", outcome: .unreachable(reason: "refused")),
        Outcome(testDescription: "503", outcome: .pushedBack(reason: "503")),
        Outcome(testDescription: "507", outcome: .refused(.destination, reason: "507"), isAnswer: true),
        Outcome(
            testDescription: "no file of the credential",
            outcome: .refused(.credential, reason: "no file", isAnswer: false)),
    ])
    func `only an answer that accepts closes a circuit breaker`(_ example: Outcome) {
        var network = NetworkController(seed: 1)
        network.ended(id(1), to: key("a"), outcome: .refused(.destination, reason: "507"), now: at(0))
        #expect(network.level(of: key("a")) == .unknown, "the link can be used")
        #expect(!network.admits(.userInteractive, to: key("a"), now: at(60)), "only a probe may go")
        #expect(!network.admits(.utility, to: key("a"), asProbe: true, now: at(60) - .nanoseconds(1)))
        #expect(network.admits(.utility, to: key("a"), asProbe: true, now: at(60)))
        #expect(network.takeChangedCircuitBreakers() == [destination("a")])
        let answers = network.links[key("a")]?.intervalBuilder.completed ?? 0
        network.offered(id(2), to: key("a"), now: at(60))
        network.ended(id(2), to: key("a"), outcome: example.outcome, now: at(61))
        #expect(network.admits(.utility, to: key("a"), now: at(61)) == example.closes)
        #expect(network.takeChangedCircuitBreakers() == (example.closes ? [destination("a")] : []))
        #expect(network.links[key("a")]?.intervalBuilder.completed == answers + (example.isAnswer ? 1 : 0))
        #expect(network.admits(.utility, to: key("b"), now: at(0)), "another destination has its own circuit breaker")
    }

    @Test func `the link up has the reason, the age and the next probe of the circuit breaker`() {
        var network = NetworkController(seed: 1)
        for number in UInt64(1)...3 {
            network.ended(id(number), to: key("a"), outcome: .refused(.credential, reason: "401"), now: at(5))
        }
        let state = network.state(of: key("a"), now: at(9))?.circuitBreaker
        #expect(
            state
                == CircuitBreakerState(
                    cause: .credential, reason: "401", since: at(5), isProbing: false, nextProbe: at(65)))
        let wait = network.waitReason(of: .utility, to: key("a"), now: at(9))
        #expect(wait?.reason.rule == .circuitBreaker && wait?.link == "http://a:80" && wait?.since == at(5))
        let down = LinkKey(destination("a"), .down)
        network.setWaiting([.utility: 1], for: down, now: at(9))
        #expect(
            network.state(of: down, now: at(9)) != nil && network.state(of: down, now: at(9))?.circuitBreaker == nil)
    }

    @Test func `a probe waits for the link and for the circuit breaker, where both hold commands back`() {
        var network = NetworkController(seed: 1)
        network.setWaiting([.utility: 1], for: key("a"), now: at(0))
        for number in UInt64(1)...3 {
            network.ended(id(number), to: key("a"), outcome: .unreachable(reason: "refused"), now: at(0))
        }
        network.ended(
            id(4), to: key("a"), outcome: .refused(.credential, reason: "no file", isAnswer: false), now: at(0))
        network.ended(
            id(4), to: key("a"), outcome: .refused(.destination, reason: "507", isAnswer: false), now: at(0))
        #expect(network.level(of: key("a")) == .offline)
        #expect(network.nextProbe == at(60))
        #expect(network.circuitBreakers[destination("a")]?.isProbeDue(now: at(60)) == true)
        #expect(network.waitReason(of: .utility, to: key("a"), now: at(0))?.level == .offline)
    }

    @Test func `a destination that is no longer held offline is probed at once`() {
        var network = NetworkController(seed: 1)
        network.setWaiting([.utility: 1], for: key("a"), now: at(0))
        network.ended(id(1), to: key("a"), outcome: .refused(.destination, reason: "507"), now: at(0))
        network.override(destination("a"), LinkOverride(isOffline: true), now: at(1))
        #expect(!network.admits(.utility, to: key("a"), asProbe: true, now: at(90)))
        #expect(network.state(of: key("a"), now: at(1))?.circuitBreaker?.nextProbe == nil)
        network.override(destination("a"), LinkOverride(), now: at(2))
        #expect(network.admits(.utility, to: key("a"), asProbe: true, now: at(2)))
    }

    @Test func `a circuit breaker is forgotten with its destination`() {
        var network = NetworkController(seed: 1)
        network.ended(id(1), to: key("a"), outcome: .refused(.destination, reason: "507"), now: at(0))
        network.forget(destination("a"))
        #expect(network.circuitBreakers.isEmpty)
        #expect(network.admits(.utility, to: key("a"), now: at(0)))
    }
}
