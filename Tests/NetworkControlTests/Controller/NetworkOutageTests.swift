import Commands
import Host
import Testing

@testable import NetworkControl

/// Links, workers and coordinators that fail and come back.
@Suite struct NetworkOutageTests {
    // MARK: Offline

    @Test func `a link without a route is offline at once, and is probed at once when the route is back`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1), sample(2, resumable: false)]
        rig.run(3, ["a": 100 * megabit])
        rig.network.uplinkLost("", reason: LinkReason(.noDefaultRoute), now: rig.now)
        let decisions = rig.network.decide(now: rig.now)
        #expect(decisions.allowances[key("a")]?.blocked == Set(QualityOfService.allCases))
        #expect(decisions.orders.map(\.id) == [id(1)], "a transfer that starts over from 0 is left to its connection")
        #expect(
            rig.network.waitReason(of: .userInteractive, to: key("a"), now: rig.now)?.reason.rule == .noDefaultRoute)
        #expect(!rig.network.admits(.userInteractive, to: key("a"), now: rig.now))
        rig.network.uplinkFound("", now: rig.now)
        #expect(rig.network.admits(.utility, to: key("a"), now: rig.now))
        rig.network.offered(id(9), to: key("a"), now: rig.now)
        #expect(!rig.network.admits(.utility, to: key("a"), now: rig.now), "one probe at a time")
        rig.network.ended(id(9), to: key("a"), outcome: .answered, now: rig.now)
        #expect(rig.network.level(of: key("a")) == .unknown)
    }

    @Test func `refused connects take a link offline with their reason, and the probe is not cut`() {
        var rig = NetworkRig()
        for number in UInt64(1)...3 {
            rig.network.ended(
                id(number), to: key("a"), outcome: .unreachable(reason: "connection refused"), now: rig.now)
        }
        rig.network.setWaiting([.utility: 5], for: key("a"), now: rig.now)
        #expect(rig.network.level(of: key("a")) == .offline)
        let probeAt = rig.network.nextProbe ?? at(0)
        #expect((at(0.8)...at(1.2)).contains(probeAt))
        #expect(rig.network.state(of: key("a"), now: rig.now)?.nextProbe == probeAt)
        // A link that a person holds offline has no probe.
        var held = rig.network
        held.override(destination("a"), LinkOverride(isOffline: true), now: rig.now)
        #expect(held.nextProbe == nil && held.state(of: key("a"), now: rig.now)?.nextProbe == nil)
        rig.network.offered(id(4), to: key("a"), now: probeAt)
        rig.now = probeAt
        rig.transfers = [sample(4, acknowledged: 0)]
        #expect(rig.run(1, [:]).orders.isEmpty)
        rig.run(0.5, ["a": 100 * megabit])
        #expect(rig.network.level(of: key("a")) <= .good)
    }

    @Test func `one command that fails again and again does not take a link offline`() {
        var rig = NetworkRig()
        for _ in 1...6 {
            rig.network.ended(id(1), to: key("a"), outcome: .unreachable(reason: "reset"), now: rig.now)
        }
        #expect(rig.network.level(of: key("a")) != .offline && rig.network.isFailing(key("a")))
        for number in UInt64(2)...3 {
            rig.network.ended(id(number), to: key("a"), outcome: .unreachable(reason: "reset"), now: rig.now)
        }
        #expect(rig.network.level(of: key("a")) == .offline)
    }

    @Test func `a link that a person sets offline stays offline until a person lifts it`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, resumable: false)]
        rig.run(3, ["a": 100 * megabit])
        rig.network.override(destination("a"), LinkOverride(isOffline: true), now: rig.now)
        let decisions = rig.run(0.25, ["a": 100 * megabit])
        #expect(decisions.orders.map(\.id) == [id(1)])
        #expect(rig.network.state(of: key("a"), now: rig.now)?.isForced == true)
        #expect(!rig.network.admits(.userInteractive, to: key("a"), now: rig.now + .seconds(3600)))
        rig.network.override(destination("a"), LinkOverride(), now: rig.now)
        #expect(rig.network.level(of: key("a")) == .good)
        // The setting also holds for a link that was not used yet.
        rig.network.override(destination("b"), LinkOverride(isOffline: true), now: rig.now)
        rig.network.setWaiting([.utility: 1], for: key("b"), now: rig.now)
        #expect(!rig.network.admits(.utility, to: key("b"), now: rig.now))
    }

    @Test(arguments: [TransferOutcome.unavailable(reason: "503"), .pushedBack, .answeredWithError])
    func `no answer takes a link offline, and each brings it back`(_ outcome: TransferOutcome) {
        var rig = NetworkRig()
        for number in UInt64(1)...20 {
            rig.now += .seconds(1)
            rig.network.ended(id(number), to: key("a"), outcome: outcome, now: rig.now)
            #expect(rig.network.level(of: key("a")) != .offline)
        }
        for number in UInt64(1)...2 {
            rig.network.ended(id(number), to: key("a"), outcome: .unreachable(reason: "refused"), now: rig.now)
        }
        rig.network.ended(id(3), to: key("a"), outcome: outcome, now: rig.now)
        rig.network.ended(id(4), to: key("a"), outcome: .unreachable(reason: "refused"), now: rig.now)
        #expect(rig.network.level(of: key("a")) != .offline, "three failures, with an answer between them")
        for number in UInt64(5)...6 {
            rig.network.ended(id(number), to: key("a"), outcome: .unreachable(reason: "refused"), now: rig.now)
        }
        #expect(rig.network.level(of: key("a")) == .offline)
        rig.network.offered(id(7), to: key("a"), now: rig.now)
        rig.network.ended(id(7), to: key("a"), outcome: outcome, now: rig.now)
        #expect(rig.network.level(of: key("a")) != .offline)
    }

    // MARK: A receiver that pauses

    @Test func `a closed TCP window is neither silence nor a stall`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1), sample(2)]
        rig.run(3, ["a": 100 * megabit])
        let reference = rig.network.links[key("a")]?.estimator.reference(now: rig.now)
        for index in rig.transfers.indices { rig.transfers[index].isWindowClosed = true }
        for _ in 0..<80 {
            #expect(rig.run(0.25, ["a": 0]).orders.isEmpty)
            #expect(rig.network.level(of: key("a")) == .good)
        }
        let state = rig.network.state(of: key("a"), now: rig.now)
        #expect(state?.reason == .receiver(count: 2))
        #expect(rig.network.links[key("a")]?.estimator.reference(now: rig.now) ?? 0 >= 0.9 * (reference ?? 1))
        // Silence counts from the moment on at which the window opens.
        for index in rig.transfers.indices { rig.transfers[index].isWindowClosed = false }
        rig.run(2.75, ["a": 0])
        #expect(rig.network.level(of: key("a")) == .good)
        rig.run(1, ["a": 0])
        #expect(rig.network.level(of: key("a")) == .offline)
    }

    @Test func `one transfer that is silent beside a paused one takes the link offline`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1), sample(2)]
        rig.transfers[0].isWindowClosed = true
        rig.run(10, ["a": 0])
        #expect(rig.network.level(of: key("a")) == .offline)
    }

    // MARK: Routes of another network namespace

    @Test func `bytes that flow outweigh a route that the kernel does not have`() {
        var rig = NetworkRig()
        rig.network.uplinkLost("", reason: LinkReason(.noDefaultRoute), now: at(0))
        rig.network.setWaiting([.utility: 1], for: key("a"), now: at(0))
        rig.run(1.5, [:])
        #expect(rig.network.level(of: key("a")) == .offline)
        rig.network.offered(id(1), to: key("a"), now: rig.now)
        rig.transfers = [sample(1, acknowledged: 0)]
        rig.run(1, ["a": 1 * megabit])
        rig.transfers.append(sample(2, acknowledged: 0))
        for _ in 0..<40 { #expect(rig.run(0.25, ["a": 1 * megabit]).orders.isEmpty) }
        #expect(rig.network.level(of: key("a")) <= .good)
        // The same holds for another destination behind the same uplink.
        rig.network.setWaiting([.utility: 1], for: key("b"), now: rig.now)
        rig.run(0.25, ["a": 1 * megabit])
        #expect(rig.network.level(of: key("b")) <= .good)
        #expect(rig.network.admits(.utility, to: key("b"), now: rig.now))
    }

    @Test func `the kernel report of a lost route counts after three seconds without traffic`() {
        var rig = NetworkRig()
        rig.network.uplinkLost("", reason: LinkReason(.noDefaultRoute), now: at(0))
        rig.transfers = [sample(1, acknowledged: 0)]
        rig.run(3, ["a": 10 * megabit])
        #expect(rig.network.level(of: key("a")) <= .good)
        rig.network.uplinkLost("", reason: .route(.interfaceDown, "eth0"), now: rig.now)
        rig.run(10, ["a": 10 * megabit])
        #expect(rig.network.level(of: key("a")) <= .good)
        rig.network.uplinkLost("", reason: LinkReason(.noDefaultRoute), now: rig.now)
        rig.transfers = []
        rig.run(3, [:])
        #expect(rig.network.level(of: key("a")) <= .good)
        rig.run(0.5, [:])
        #expect(rig.network.level(of: key("a")) == .offline)
        #expect(rig.network.state(of: key("a"), now: rig.now)?.reason.rule == .noDefaultRoute)
    }

    // MARK: Workers and restarts

    @Test func `concurrency begins at the limit for files, and at four for others`() {
        var rig = NetworkRig()
        let file = LinkKey(.file, .up)
        rig.network.setWaiting([.utility: 9], for: file, now: at(0))
        rig.network.setWaiting([.utility: 9], for: key("a"), now: at(0))
        let allowances = rig.network.tick(now: at(0.25)).allowances
        #expect(allowances[file]?.limit == 64)
        #expect(allowances[key("a")]?.limit == 4)
        #expect(rig.network.uplink(of: file) == nil)
    }

    @Test func `the transfers of a silent worker do not take a link offline, and those of a dead one are forgotten`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1)]
        rig.run(3, ["a": 100 * megabit])
        for step in 1...20 { _ = rig.network.tick(now: rig.now + quarter * step) }
        #expect(rig.network.level(of: key("a")) == .good)
        rig.network.workerLost(1)
        #expect(rig.network.transfers.isEmpty)
    }

    @Test func `the next coordinator tells a degraded link from one that was always slow`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1)]
        rig.run(10, ["a": 50 * megabit])
        let history = rig.network.history(of: key("a"), now: rig.now)
        #expect(history?.flows == 1)
        var next = NetworkRig()
        if let history { next.network.restore(history, of: key("a"), now: at(0)) }
        next.transfers = rig.transfers
        #expect(next.run(2, ["a": 10 * megabit]).allowances[key("a")]?.level == .degraded)
        var other = NetworkRig()
        other.transfers = rig.transfers
        #expect(other.run(2, ["a": 10 * megabit]).allowances[key("a")]?.level == .good)
    }

    @Test func `an offline link is still offline for the next coordinator, which probes at once`() {
        var network = NetworkController(seed: 1)
        network.restore(
            LinkHistory(reference: 0, flows: 1, limit: 8, offline: .failures("refused")), of: key("a"), now: at(0))
        #expect(network.level(of: key("a")) == .offline)
        #expect(network.admits(.utility, to: key("a"), now: at(0)))
    }

    @Test func `measurements are discarded when the caller stood still`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1)]
        rig.run(5, ["a": 100 * megabit])
        rig.now += .seconds(30)
        #expect(rig.run(2, ["a": 100 * megabit]).allowances[key("a")]?.level == .good)
        #expect(rig.network.links[key("a")]?.circuitBreaker.isClosed == true)
    }

    @Test func `each change of level is reported once`() {
        var rig = NetworkRig()
        rig.transfers = oneOfEach()
        var changed: [LinkKey] = []
        for _ in 0..<20 { changed += rig.run(0.25, ["a": 100 * megabit]).changed }
        #expect(changed.filter { $0 == key("a") }.count == 1)
        #expect(changed.filter { $0 == LinkKey(.uplink(""), .up) }.count == 1)
    }
}
