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

    @Test func `a refusal is known before it opens the circuit breaker, and until a command is accepted`() {
        var circuitBreaker = closed()
        #expect(circuitBreaker.refusal == nil)
        for number in UInt64(1)...2 {
            circuitBreaker.refused(id(number), .credential, reason: "401 of \(number)", now: at(0))
            #expect(circuitBreaker.refusal == "401 of \(number)")
        }
        var accepting = circuitBreaker
        accepting.accepted(id(9))
        #expect(accepting.refusal == nil)
        circuitBreaker.refused(id(3), .credential, reason: "401 of 3", now: at(0))
        #expect(circuitBreaker.refusal == nil && circuitBreaker.outage?.reason == "401 of 3")
    }

    @Test func `an acceptance resets the count of refused credentials`() {
        var circuitBreaker = closed()
        for number in UInt64(1)...20 {
            circuitBreaker.refused(id(number), .credential, reason: "401", now: at(0))
            if number % 2 == 0 { circuitBreaker.accepted(id(99)) }
            #expect(circuitBreaker.isClosed)
        }
    }

    // MARK: 503

    private func target(_ number: UInt64) -> CommandTarget { CommandTarget(hash: number) }

    /// One that three commands for URLs 1 to 3 have opened at 0 s by 503.
    private func unavailable() -> DestinationCircuitBreaker {
        var circuitBreaker = closed()
        for number in UInt64(1)...3 {
            #expect(circuitBreaker.isClosed)
            circuitBreaker.unavailable(id(number), target(number), reason: "503 of \(number)", now: at(0))
        }
        #expect(circuitBreaker.outage?.cause == .unavailable && circuitBreaker.outage?.reason == "503 of 3")
        return circuitBreaker
    }

    @Test func `503 to one command, or with other answers between, opens no circuit breaker`() {
        let others: [(inout DestinationCircuitBreaker) -> Void] = [
            { $0.accepted(id(9)) }, { $0.answeredOtherwise(id(9), now: at(0)) },
            { $0.refused(id(9), .credential, reason: "401", now: at(0)) },
        ]
        for other in others {
            var circuitBreaker = closed()
            for _ in 1...9 { circuitBreaker.unavailable(id(1), nil, reason: "503", now: at(0)) }
            circuitBreaker.unavailable(id(2), nil, reason: "503", now: at(0))
            other(&circuitBreaker)
            circuitBreaker.unavailable(id(3), nil, reason: "503", now: at(0))
            circuitBreaker.unavailable(id(4), nil, reason: "503", now: at(0))
            #expect(circuitBreaker.isClosed)
            circuitBreaker.unavailable(id(1), nil, reason: "503", now: at(0))
            #expect(!circuitBreaker.isClosed)
        }
    }

    @Test func `a command for another URL is a probe at once, one a second and eight in a row`() {
        var circuitBreaker = unavailable()
        var (now, others) = (at(0), 0)
        #expect(!circuitBreaker.mayProbe(id(10), target(1), now: now), "its URL was answered 503")
        #expect(!circuitBreaker.mayProbe(id(1), target(99), now: now), "it was answered 503 itself")
        for number in UInt64(11)...60 {
            // Where any command may go, one for a known URL goes, so that the wait for it grows.
            let isAny = circuitBreaker.nextProbe ?? .zero <= now
            if !isAny, circuitBreaker.mayProbe(id(number), target(number), now: now) {
                circuitBreaker.offered(id(number), target(number), now: now)
                #expect(!circuitBreaker.mayProbe(id(77), target(77), now: now), "one at a time")
                circuitBreaker.unavailable(id(number), target(number), reason: "503", now: now)
                #expect(!circuitBreaker.mayProbe(id(77), target(77), now: now + .milliseconds(499)))
                others += 1
            } else if isAny {
                circuitBreaker.offered(id(1), target(1), now: now)
                circuitBreaker.unavailable(id(1), target(1), reason: "503", now: now)
            }
            now += .milliseconds(500)
        }
        #expect(others == DestinationCircuitBreaker.maxOtherProbes)
    }

    @Test func `any command is a probe after 1 s, then after twice as long each time, at most 30 s`() {
        var circuitBreaker = unavailable()
        var (now, waits): (MonotonicTime, [Double]) = (at(0), [])
        for _ in 1...8 {
            let next = circuitBreaker.nextProbe ?? .zero
            #expect(!circuitBreaker.mayProbe(id(1), target(1), now: next - .nanoseconds(1)))
            #expect(circuitBreaker.mayProbe(id(1), target(1), now: next))
            waits.append((next - now).seconds)
            now = next
            circuitBreaker.offered(id(1), target(1), now: now)
            circuitBreaker.unavailable(id(1), target(1), reason: "503", now: now)
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30])
    }

    @Test func `any other answer closes a circuit breaker that 503 has opened`() {
        let answers: [(inout DestinationCircuitBreaker) -> Void] = [
            { $0.accepted(id(9)) }, { $0.answeredOtherwise(id(9), now: at(1)) },
            { $0.refused(id(9), .credential, reason: "401", now: at(1)) },
        ]
        for answer in answers {
            var circuitBreaker = unavailable()
            answer(&circuitBreaker)
            #expect(circuitBreaker.isClosed)
        }
        var circuitBreaker = unavailable()
        circuitBreaker.refused(id(9), .destination, reason: "507", now: at(1))
        #expect(circuitBreaker.outage?.cause == .destination, "507 opens it at once")
    }

    @Test(arguments: [false, true])
    func `a circuit breaker that no command has asked for 30 s lets the next one probe at once`(is503: Bool) {
        var circuitBreaker = is503 ? unavailable() : open()
        if is503 {
            circuitBreaker.asked(isAsking: true, now: at(0))
            for number in UInt64(4)...40 {
                guard circuitBreaker.nextProbe ?? .zero < at(60) else { break }
                let now = circuitBreaker.nextProbe ?? .zero
                circuitBreaker.offered(id(number), target(1), now: now)
                circuitBreaker.unavailable(id(number), target(1), reason: "503", now: now)
            }
        }
        // The next probe of any other cause would go a minute after the last answer.
        let left = is503 ? 32.0 : 2
        circuitBreaker.asked(isAsking: false, now: at(left))
        var early = circuitBreaker
        early.asked(isAsking: true, now: at(left + 29))
        #expect(early.nextProbe == circuitBreaker.nextProbe)
        #expect(is503 || !circuitBreaker.isProbeDue(now: at(left + 30)))
        circuitBreaker.asked(isAsking: true, now: at(left + 30))
        #expect(circuitBreaker.isProbeDue(now: at(left + 30)))
        #expect(circuitBreaker.mayProbe(id(1), target(1), now: at(left + 30)))
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
        Outcome(testDescription: "503", outcome: .unavailable(reason: "503")),
        Outcome(testDescription: "429", outcome: .pushedBack),
        Outcome(testDescription: "500", outcome: .answeredWithError),
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

    @Test func `commands that wait after 30 s without any are probed at once`() {
        var network = NetworkController(seed: 1)
        network.setWaiting([.utility: 1], for: key("a"), now: at(0))
        network.ended(id(1), to: key("a"), outcome: .refused(.destination, reason: "507"), now: at(1))
        network.setWaiting([:], for: key("a"), now: at(2))
        #expect(!network.admits(.utility, to: key("a"), asProbe: true, now: at(33)), "a minute after the answer")
        network.setWaiting([.utility: 1], for: key("a"), now: at(33))
        #expect(network.circuitBreakers[destination("a")]?.isClosed == false)
        #expect(network.admits(.utility, to: key("a"), asProbe: true, now: at(33)))
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
