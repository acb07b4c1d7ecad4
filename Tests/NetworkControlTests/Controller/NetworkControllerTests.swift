import Commands
import Host
import TestSupport
import Testing

@testable import NetworkControl

@Suite struct NetworkControllerTests {
    // MARK: Levels and what they allow

    @Test func `each level treats the qualities as in the table`() {
        var rig = NetworkRig()
        rig.transfers = oneOfEach()
        var decisions = rig.run(5, ["a": 100 * megabit])
        let good = decisions.allowances[key("a")]
        #expect(good?.level == .good && good?.blocked == [])

        decisions = rig.run(1.5, ["a": 1.9 * megabit])
        let degraded = decisions.allowances[key("a")]
        #expect(degraded?.level == .degraded)
        #expect(degraded?.limit ?? 9 <= 4 && degraded?.blocked == [])
        #expect(rig.pace(decisions, .userInteractive) == nil && rig.pace(decisions, .userInitiated) == nil)
        // High quality has the little that is left, and transfers that can be resumed yield at once.
        #expect(Set(decisions.orders.map(\.id)) == [id(4), id(5)])
        #expect(decisions.orders.allSatisfy { $0.cause == .contention(key("a")) })

        decisions = rig.run(1.5, ["a": 0.2 * megabit])
        let poor = decisions.allowances[key("a")]
        #expect(poor?.level == .poor)
        #expect(poor?.limit ?? 9 <= 2 && poor?.blocked == [.utility, .background])
        #expect(Set(decisions.orders.map(\.id)) == [id(4), id(5)])
        #expect(decisions.orders.allSatisfy { $0.verb == .cut })
        #expect(rig.pace(decisions, .default) ?? 1e9 <= 0.25 * 0.2 * megabit * 1.1)
    }

    @Test func `a degraded link throttles low quality while a higher one runs`() {
        var rig = NetworkRig()
        rig.transfers = oneOfEach().filter { $0.qos.serviceClass != .high }
        rig.run(5, ["a": 100 * megabit])
        let rate = 1.9 * megabit
        var decisions = rig.run(6, ["a": rate])
        #expect(decisions.allowances[key("a")]?.level == .degraded)
        #expect(rig.pace(decisions, .default) == nil)
        // Two low transfers share the percent.
        #expect(abs((rig.pace(decisions, .utility) ?? 0) / rate - 0.25 / 2) < 0.02)
        #expect(abs((rig.pace(decisions, .background) ?? 0) / rate - 0.1 / 2) < 0.01)
        rig.transfers = rig.transfers.filter { $0.qos == .background }
        decisions = rig.run(6, ["a": rate])
        #expect(rig.pace(decisions, .background) == nil, "no higher quality runs")
    }

    @Test func `a percentage is of the new capacity before a second has confirmed the fall`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .userInitiated, remaining: 1_000_000_000), sample(2, .default)]
        let before = rig.pace(rig.run(5, ["a": 80 * megabit]), .default) ?? 0
        #expect(abs(before / (0.25 * 80 * megabit) - 1) < 0.1)
        let after = rig.pace(rig.run(0.5, ["a": 2 * megabit]), .default) ?? .infinity
        #expect(abs(after / (0.25 * 2 * megabit) - 1) < 0.1)
        #expect(rig.network.level(of: key("a")) == .good, "a second has not passed yet")
        // The old pace returns after a short disturbance.
        let again = rig.pace(rig.run(0.5, ["a": 80 * megabit]), .default) ?? 0
        #expect(abs(again / (0.25 * 80 * megabit) - 1) < 0.2)
    }

    @Test func `a transfer whose verb is cancel is cancelled with the reason`() {
        var policy = NetworkPolicy()
        policy.degraded[.background] = .cancel
        var rig = NetworkRig(policy: policy)
        rig.transfers = oneOfEach()
        rig.run(5, ["a": 100 * megabit])
        let decisions = rig.run(1.5, ["a": 1.9 * megabit])
        let order = decisions.orders.first { $0.id == id(5) }
        #expect(order?.verb == .cancel)
        #expect(order?.cause == .level(.degraded, key("a")))
        #expect(decisions.allowances[key("a")]?.blocked == [.background])
        // The order stands until the transfer is gone from the reports.
        rig.transfers.removeLast()
        #expect(!rig.run(0.25, ["a": 1.9 * megabit]).orders.contains { $0.id == id(5) })
    }

    @Test func `a pause ends at the floor after half of the longest standstill`() {
        var policy = NetworkPolicy()
        policy.degraded[.utility] = .pause
        policy.degraded[.background] = .pause
        var rig = NetworkRig(policy: policy)
        rig.transfers = [sample(1, .default), sample(2, .utility)]
        rig.run(5, ["a": 100 * megabit])
        #expect(rig.pace(rig.run(1.5, ["a": 1.9 * megabit]), .utility) == 0)
        rig.transfers[1].state = .paused
        #expect(rig.pace(rig.run(20, ["a": 1.9 * megabit]), .utility) == 0)
        let floor = rig.pace(rig.run(11, ["a": 1.9 * megabit]), .utility) ?? 0
        #expect((0.09 * megabit...0.1 * megabit).contains(floor))
        // The next pause begins anew.
        rig.transfers[1].state = .running
        rig.run(15, ["a": 100 * megabit])
        #expect(rig.pace(rig.run(1.5, ["a": 1.9 * megabit]), .utility) == 0)
    }

    @Test func `bytes from before the first report of a link do not count as goodput`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, to: "b", .default)]
        rig.run(5, ["b": 10 * megabit])
        func counters(_ name: String, _ bytes: Int64) -> [LinkCounter] {
            [LinkCounter(destination: destination(name), serviceClass: .middle, bytes: bytes)]
        }
        // A worker that was idle for long reports again: another link first, and then this one.
        rig.network.report(worker: 2, transfers: [], counters: counters("a", 1000), now: rig.now)
        rig.run(0.5, ["b": 10 * megabit])
        rig.network.report(
            worker: 2, transfers: [], counters: counters("a", 1000) + counters("b", 10_000_000_000), now: rig.now)
        rig.run(4, ["b": 10 * megabit])
        // A worker that has forgotten its count.
        rig.network.report(worker: 2, transfers: [], counters: counters("b", 5), now: rig.now)
        rig.run(4, ["b": 10 * megabit])
        let link = rig.network.state(of: key("b"), now: rig.now)
        #expect(link?.level == .good)
        #expect((9 * megabit...11 * megabit).contains(link?.rate ?? 0))
        #expect((9 * megabit...11 * megabit).contains(link?.reference ?? 0))
    }

    @Test func `an uplink shows how many transfers it allows`() {
        var rig = NetworkRig()
        rig.transfers = (1...8).map { sample($0, to: $0 % 2 == 0 ? "a" : "b", .default) }
        rig.run(5, ["a": 10 * megabit, "b": 10 * megabit])
        let uplink = rig.network.state(of: LinkKey(.uplink(""), .up), now: rig.now)
        #expect(uplink?.inFlight == 8)
        #expect(uplink?.limit == 64)
    }

    @Test func `a transfer that is throttled only beside others has no wait reason when it runs alone`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .utility), sample(2, .default)]
        rig.run(5, ["a": 100 * megabit])
        rig.run(6, ["a": 1.9 * megabit])
        let beside = rig.network.waitReason(of: .utility, to: key("a"), now: rig.now)
        #expect(beside?.isThrottle == true, "\(String(describing: beside))")
        rig.transfers.removeLast()
        rig.run(2, ["a": 1.9 * megabit])
        #expect(rig.network.level(of: key("a")) == .degraded)
        #expect(rig.network.waitReason(of: .utility, to: key("a"), now: rig.now) == nil)
    }

    @Test func `the wait reason of a full link has its rate and its capacity`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .userInitiated, remaining: 100_000_000), sample(2, .utility)]
        rig.run(10, ["a": 20 * megabit])
        let wait = rig.network.waitReason(of: .utility, to: key("a"), now: rig.now)
        #expect(wait?.reason.rule == .contended && wait?.level == .good)
        let (measured, capacity) = (wait?.reason.measured ?? 0, wait?.reason.usual ?? 0)
        #expect(abs(measured / (20 * megabit) - 1) < 0.01 && abs(capacity / (20 * megabit) - 1) < 0.01)
        #expect(wait?.reason.threshold == 0.8 * capacity)
        #expect(wait?.remedy == LinkRemedy(.contended, for: NetworkPolicy().preemption.idleAfter))
    }

    @Test func `one low transfer continues on a poor link without other transfers`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .utility), sample(2, .background), sample(3, .utility, resumable: false)]
        rig.run(5, ["a": 100 * megabit])
        let decisions = rig.run(1.5, ["a": 0.2 * megabit])
        #expect(decisions.orders.map(\.id) == [id(1), id(2)], "the transfer that would lose most is spared")
        #expect(rig.pace(decisions, .utility) == nil)
    }

    @Test func `a wait reason has the level, the measure, the threshold and the remedy`() {
        var rig = NetworkRig()
        rig.transfers = oneOfEach().filter { $0.qos.serviceClass == .low }
        rig.run(5, ["a": 100 * megabit])
        rig.run(1.5, ["a": 0.2 * megabit])
        let wait = rig.network.waitReason(of: .utility, to: key("a"), now: rig.now)
        #expect(wait?.link == "http://a:80" && wait?.level == .poor && wait?.verb == .preempt)
        #expect(wait?.reason.rule == .goodput && wait?.reason.threshold == 32_000 && wait?.reason.usual == nil)
        #expect(abs((wait?.reason.measured ?? 0) / (0.2 * megabit) - 1) < 0.01)
        #expect(wait?.remedy == LinkRemedy(.goodput, threshold: 41_600, for: .seconds(3)))
        #expect(wait?.since ?? at(0) > at(5))
        #expect(rig.network.waitReason(of: .userInitiated, to: key("a"), now: rig.now) == nil)
        let state = rig.network.state(of: key("a"), now: rig.now)
        #expect(state?.since ?? at(0) > at(5) && state?.inFlight == 2 && state?.highInFlight == 0)
    }

    @Test func `one low transfer runs beside high quality on a poor link after half of the longest standstill`() {
        var rig = NetworkRig()
        rig.transfers = [sample(9, .userInitiated), sample(1, .utility)]
        rig.run(5, ["a": 20 * megabit])
        #expect(rig.run(3, ["a": 0.2 * megabit]).orders.map(\.id) == [id(1)])
        rig.transfers.removeLast()
        rig.network.setWaiting([.utility: 1], for: key("a"), now: rig.now)
        var decisions = rig.run(20, ["a": 0.2 * megabit])
        #expect(decisions.allowances[key("a")]?.blocked.contains(.utility) == true)
        decisions = rig.run(15, ["a": 0.2 * megabit])
        #expect(decisions.allowances[key("a")]?.blocked.contains(.utility) == false)
        #expect(decisions.allowances[key("a")]?.lowLimit == 1)
        rig.transfers.append(sample(7, .utility))
        decisions = rig.run(30, ["a": 0.2 * megabit])
        #expect(decisions.orders.isEmpty)
        #expect(abs((rig.pace(decisions, .utility) ?? 0) / (0.05 * 0.2 * megabit) - 1) < 0.1)
    }

    @Test func `the estimate survives an outage`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1)]
        rig.run(5, ["a": 20 * megabit])
        rig.run(2, ["a": 0])
        #expect((rig.network.links[key("a")]?.estimator.estimate ?? 0) > 19 * megabit)
    }

    @Test(arguments: [false, true]) func `the limit of a destination is at most its maxConcurrency in every tick`(
        isLocal: Bool
    ) {
        var policy = NetworkPolicy()
        policy.destinations[destination("a")] = DestinationLimits(maxConcurrency: 2)
        var rig = NetworkRig(policy: policy)
        if isLocal { rig.network.routeChanged(destination("a"), to: .local, now: at(0)) }
        rig.network.setWaiting([.utility: 100], for: key("a"), now: at(0))
        for _ in 0..<8 { #expect(rig.run(0.25, [:]).allowances[key("a")]?.limit == 2) }
    }

    @Test func `the sum of huge sizes does not overflow`() {
        var rig = NetworkRig()
        rig.transfers = [1, 2].map { sample($0, .userInitiated, remaining: .max) } + [sample(3)]
        #expect(rig.run(2, ["a": 20 * megabit]).allowances[key("a")] != nil)
    }

    @Test(.enabled(if: runsSlowTests, "slow")) func `nothing remains of a link that is forgotten`() {
        var rig = NetworkRig()
        for number in 1...50 {
            let name = "d\(number)"
            rig.network.routeChanged(destination(name), to: .local, now: rig.now)
            rig.transfers = [sample(UInt64(number), to: name, .utility)]
            rig.run(1, [name: megabit])
        }
        rig.transfers = []
        let since = rig.now
        while rig.now < since + .seconds(1000) { rig.run(1, [:]) }
        #expect(rig.network.links.isEmpty && rig.network.policyDecisions.isEmpty && rig.network.published.isEmpty)
        #expect(rig.network.lastCuts.isEmpty && rig.network.pausedSince.isEmpty)
        for number in 1...50 { rig.network.forget(destination("d\(number)")) }
        #expect(rig.network.routes.isEmpty)
    }

    @Test func `a destination that was never reached and is not used is forgotten`() {
        var network = NetworkController(seed: 1)
        for number in 1...3 {
            network.ended(id(UInt64(number)), to: key("a"), outcome: .unreachable(reason: "no such name"), now: at(0))
        }
        #expect(network.level(of: key("a")) == .offline)
        for step in 1...890 { _ = network.tick(now: at(Double(step))) }
        #expect(network.links[key("a")] != nil)
        for step in 891...910 { _ = network.tick(now: at(Double(step))) }
        #expect(network.links[key("a")] == nil)
    }

    // MARK: High quality

    @Test func `low transfers yield before a high one has sent a byte`() {
        var rig = NetworkRig()
        rig.transfers = (1...4).map { sample($0) }
        rig.run(5, ["a": 20 * megabit])
        let decisions = rig.network.announce(
            id(9), to: key("a"), qos: .userInteractive, bytes: 2_500_000, now: rig.now)
        #expect(decisions?.pacing.filter { $0.qos.serviceClass == .low }.map(\.bytesPerSecond) == [0, 0])
        #expect(decisions?.allowances[key("a")]?.lowLimit == 0)
        #expect(
            rig.network.waitReason(of: .utility, to: key("a"), now: rig.now)?.reason.rule == .contended)
        // The next one finds that they have yielded.
        #expect(
            value(rig.network.announce(id(10), to: key("a"), qos: .userInitiated, bytes: 1, now: rig.now)) == nil)
        // After the head start they have a tenth together.
        for index in rig.transfers.indices { rig.transfers[index].state = .throttled }
        rig.transfers.append(sample(9, .userInteractive))
        let later = rig.pace(rig.run(3, ["a": 20 * megabit]), .utility) ?? 0
        #expect((0.4 * megabit...0.6 * megabit).contains(later))
    }

    @Test func `low transfers to another destination yield on a shared uplink`() {
        var rig = NetworkRig()
        rig.transfers = (1...4).map { sample($0, to: "b") }
        for index in rig.transfers.indices { rig.transfers[index].srtt = .milliseconds(150) }
        rig.run(5, ["b": 20 * megabit])
        let decisions = rig.network.announce(id(9), to: key("a"), qos: .userInteractive, bytes: 2_500_000, now: rig.now)
        #expect(decisions.map { rig.pace($0, .utility, key: key("b")) } == 0)
        // They do not yield if it takes another route.
        var other = NetworkRig()
        other.network.routeChanged(destination("a"), to: .uplink("lte"), now: at(0))
        other.transfers = (1...4).map { sample($0, to: "b") }
        other.run(5, ["b": 20 * megabit])
        #expect(
            value(other.network.announce(id(9), to: key("a"), qos: .userInteractive, bytes: nil, now: other.now)) == nil
        )
    }
}
