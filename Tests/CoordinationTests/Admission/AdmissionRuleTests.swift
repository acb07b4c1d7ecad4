import Commands
import NetworkControl
import Testing

@testable import Coordination

/// One table for each rule of admission.
@Suite struct AdmissionRuleTests {
    private typealias Verdict = Admission.Verdict

    /// A destination with these commands in flight, whose link has its first limit.
    private func load(
        high: Int = 0, middle: Int = 0, low: Int = 0, extra: Int = 0, limit: Int = 4,
        _ change: (inout Admission.Load) -> Void = { _ in }
    ) -> Admission.Load {
        var load = Admission.Load()
        load.held.high = high
        load.held.middle = middle
        load.held.low = low
        load.held.extra = extra
        load.allowance = LinkAllowance(level: .good, limit: limit, lowLimit: limit)
        change(&load)
        return load
    }

    private func host(_ change: (inout Admission.Host) -> Void = { _ in }) -> Admission.Host {
        var host = Admission.Host()
        change(&host)
        return host
    }

    private func verdict(
        _ qos: QualityOfService, _ load: Admission.Load, _ host: Admission.Host = Admission.Host(),
        isFloor: Bool = false, isContested: Bool = false
    ) -> Verdict {
        Admission.verdict(Admission.Request(qos: qos, isFloor: isFloor, isContested: isContested), load, host)
    }

    private func waits(
        _ rule: AdmissionWait.Rule, _ measured: Int? = nil, of limit: Int? = nil, threshold: Double? = nil
    ) -> Verdict {
        .waits(AdmissionWait(rule, measured, of: limit, threshold: threshold))
    }

    @Test(arguments: QualityOfService.allCases)
    func `an idle destination is admitted in every quality of service`(_ qos: QualityOfService) {
        #expect(verdict(qos, load()) == .admitted(.ordinary))
    }

    // MARK: Rule 1: limits of a link

    @Test(arguments: QualityOfService.allCases)
    func `the limits of a person bind every class`(_ qos: QualityOfService) {
        let limited = load(high: 1, low: 2, limit: 64) { $0.allowance.maxConcurrency = 3 }
        #expect(verdict(qos, limited) == waits(.maxConcurrency, 3, of: 3))
        #expect(verdict(qos, load { $0.isPaused = true }) == waits(.pause))
        #expect(verdict(qos, load { $0.availability = .heldOffline }) == waits(.heldOffline))
        #expect(verdict(qos, load { $0.availability = .outOfHours }) == waits(.hours))
        #expect(
            verdict(qos, limited, isFloor: true) == waits(.maxConcurrency, 3, of: 3), "the floor does not go beyond")
    }

    @Test(arguments: QualityOfService.allCases)
    func `the limits of the server bind every class`(_ qos: QualityOfService) {
        let pushedBack = load(high: 4, middle: 2, limit: 64) { $0.allowance.pushback = 6 }
        #expect(verdict(qos, pushedBack) == waits(.pushback, 6, of: 6))
        #expect(verdict(qos, load(high: 4, middle: 1, limit: 64) { $0.allowance.pushback = 6 }) == .admitted(.ordinary))
        let refused = load(high: 1, limit: 64) { $0.allowance.pushback = 0 }
        #expect(verdict(qos, refused) == waits(.pushback, 1, of: 0, threshold: 0.25), "a quarter of a second")
    }

    @Test func `a server that has refused no command gets more and more, counted apart for high QoS and the others`() {
        let first = load(high: 4, middle: 3, limit: 64) { $0.allowance.slowStart = 4 }
        #expect(verdict(.userInitiated, first) == waits(.slowStart, 4, of: 4))
        #expect(verdict(.default, first) == .admitted(.ordinary))
        #expect(
            verdict(.default, load(middle: 4, limit: 64) { $0.allowance.slowStart = 4 }) == waits(.slowStart, 4, of: 4))
        #expect(verdict(.userInitiated, load(middle: 4) { $0.allowance.slowStart = 4 }) == .admitted(.ordinary))
    }

    @Test func `the capacity of the link binds middle and low QoS only`() {
        let full = load(high: 9, middle: 3, low: 1)
        #expect(verdict(.default, full) == waits(.linkLimit, 4, of: 4))
        #expect(verdict(.background, full) == waits(.linkLimit, 4, of: 4))
        #expect(verdict(.userInitiated, full) == .admitted(.ordinary))
        #expect(verdict(.default, full, isFloor: true) == .admitted(.ordinary))
        let lowClosed = load(low: 1) { $0.allowance.lowLimit = 1 }
        #expect(verdict(.utility, lowClosed) == waits(.linkLimit, 1, of: 1))
        #expect(verdict(.default, lowClosed) == .admitted(.ordinary))
    }

    @Test func `a level holds back the qualities of service that it names`() {
        let poor = load { $0.allowance.blocked = [.utility, .background] }
        #expect(verdict(.utility, poor) == waits(.level) && verdict(.background, poor) == waits(.level))
        #expect(verdict(.default, poor) == .admitted(.ordinary))
        #expect(verdict(.utility, poor, isFloor: true) == .admitted(.ordinary), "the floor is below levels")
    }

    @Test func `the links of an uplink share its limit`() {
        let shared = load { load in
            load.allowance.uplinkLimit = 4
            load.heldByUplink = 4
        }
        #expect(verdict(.default, shared) == waits(.uplinkLimit, 4, of: 4))
        #expect(verdict(.userInteractive, shared) == .admitted(.ordinary))
    }

    @Test(arguments: QualityOfService.allCases)
    func `an offline link admits its probe alone, whatever the class`(_ qos: QualityOfService) {
        let offline = load { load in
            load.availability = .offline
            load.isProven = false
        }
        #expect(verdict(qos, offline) == waits(.offline))
        #expect(verdict(qos, offline, isFloor: true) == waits(.offline))
        let due = load { load in
            load.availability = .probe
            (load.isProven, load.isFailing) = (false, true)
        }
        #expect(verdict(qos, due) == .admitted(.ordinary))
        let spent = host { host in
            if qos.serviceClass == .high { host.mayProbeHigh = false } else { host.mayProbe = false }
        }
        #expect(verdict(qos, due, spent) == waits(.probes, threshold: 25))
        #expect(verdict(qos, load { $0.availability = .circuitBreaker }) == waits(.circuitBreaker))
    }

    // MARK: Rule 2: fairness

    @Test func `while others have ready work none holds more than three quarters of the slots`() {
        let greedy = load(middle: 24, low: 24, limit: 64)
        #expect(verdict(.default, greedy, isContested: true) == waits(.fairShare, 48, of: 48))
        #expect(verdict(.default, greedy) == .admitted(.ordinary))
        #expect(verdict(.default, load(middle: 47, limit: 64), isContested: true) == .admitted(.ordinary))
        #expect(verdict(.userInitiated, greedy, isContested: true) == .admitted(.ordinary))
        // Where a person has set fewer transfers than there are slots, the transfers are shared.
        let few = host { $0.maxTransfers = 8 }
        #expect(verdict(.default, load(middle: 6, limit: 64), few, isContested: true) == waits(.fairShare, 6, of: 6))
    }

    @Test func `a destination without a slot takes an extra one where all are taken`() {
        let full = host { host in
            host.isFull = true
            (host.held, host.heldHigh, host.linked) = (64, 9, 64)
        }
        #expect(verdict(.default, load(), full) == .admitted(.extra))
        #expect(verdict(.background, load(), full) == .admitted(.extra))
        #expect(verdict(.userInitiated, load(), full) == .admitted(.extra))
        #expect(verdict(.userInitiated, load(middle: 1), full) == waits(.slots, 9, of: 64))
        #expect(verdict(.userInitiated, load(high: 1), full) == waits(.slots, 9, of: 64))
        #expect(verdict(.default, load(middle: 1), full) == waits(.slots, 64, of: 64), "it holds an ordinary one")
        // A second to fourth command, while each worker reserves two slots for destinations that hold none.
        #expect(verdict(.default, load(middle: 3, extra: 3), full) == .admitted(.extra))
        #expect(verdict(.default, load(middle: 4, extra: 4, limit: 64), full) == waits(.slots, 64, of: 64))
        let few = host { host in
            (host.isFull, host.held, host.freeExtras) = (true, 64, 4)
        }
        #expect(verdict(.default, load(middle: 1, extra: 1), few) == waits(.slots, 64, of: 64))
        #expect(verdict(.default, load(), few) == .admitted(.extra))
        #expect(
            verdict(.default, load(), host { ($0.isFull, $0.held, $0.freeExtras) = (true, 64, 0) })
                == waits(.slots, 64, of: 64))
    }

    @Test func `more destinations than slots have no more than there are, and high has as many of its own`() {
        let full = host { ($0.linked, $0.maxTransfers, $0.freeExtras) = (8, 8, 0) }
        #expect(verdict(.default, load(), full) == waits(.maxTransfers, 8, of: 8))
        #expect(verdict(.userInitiated, load(high: 3), full) == .admitted(.ordinary))
        let high = host { ($0.linkedHigh, $0.maxTransfers) = (8, 8) }
        #expect(verdict(.userInitiated, load(high: 3), high) == waits(.maxTransfers, 8, of: 8))
        #expect(verdict(.userInitiated, load(), high) == .admitted(.ordinary), "each destination has one")
        let unlinked = load(high: 3) { $0.isLinked = false }
        #expect(verdict(.userInitiated, unlinked, high) == .admitted(.ordinary))
    }

    // MARK: Rule 3 and 6: probes

    @Test func `destinations that have not answered share a budget`() {
        let new = load { $0.isProven = false }
        let failing = load { ($0.isProven, $0.isFailing) = (false, true) }
        #expect(verdict(.default, new, host { $0.mayTryNew = false }) == waits(.untried))
        #expect(verdict(.default, new, host { $0.mayProbe = false }) == .admitted(.ordinary))
        #expect(verdict(.default, failing, host { $0.mayProbe = false }) == waits(.probes, threshold: 25))
        #expect(
            verdict(.default, load(), host { ($0.mayProbe, $0.mayTryNew) = (false, false) }) == .admitted(.ordinary))
        #expect(verdict(.userInitiated, new, host { $0.mayTryNew = false }) == .admitted(.ordinary))
        #expect(verdict(.userInitiated, new, host { $0.mayTryNewHigh = false }) == waits(.untried))
        #expect(verdict(.userInitiated, failing, host { $0.mayProbeHigh = false }) == waits(.probes, threshold: 25))
        #expect(verdict(.default, failing, host { $0.mayProbeHigh = false }) == .admitted(.ordinary))
    }
}
