import Commands
import Host
import Testing

@testable import NetworkControl

@Suite struct NetworkControllerTests {
    // MARK: Levels and what they allow

    @Test func `each quality does what the table says of its level`() {
        var rig = NetworkRig()
        rig.transfers = oneOfEach()
        var decisions = rig.run(5, ["a": 100 * megabit])
        let good = decisions.allowances[key("a")]
        #expect(good?.level == .good && good?.closed == [])

        decisions = rig.run(1.5, ["a": 1.9 * megabit])
        let degraded = decisions.allowances[key("a")]
        #expect(degraded?.level == .degraded)
        #expect(degraded?.limit ?? 9 <= 4 && degraded?.closed == [])
        #expect(rig.pace(decisions, .userInteractive) == nil && rig.pace(decisions, .userInitiated) == nil)
        // High quality has the little that is left, and what can be resumed makes room at once.
        #expect(Set(decisions.orders.map(\.id)) == [id(4), id(5)])
        #expect(decisions.orders.allSatisfy { $0.reason.contains("high quality needs the link") })

        decisions = rig.run(1.5, ["a": 0.2 * megabit])
        let poor = decisions.allowances[key("a")]
        #expect(poor?.level == .poor)
        #expect(poor?.limit ?? 9 <= 2 && poor?.closed == [.utility, .background])
        #expect(Set(decisions.orders.map(\.id)) == [id(4), id(5)])
        #expect(decisions.orders.allSatisfy { $0.verb == .cut })
        #expect(rig.pace(decisions, .default) ?? 1e9 <= 0.25 * 0.2 * megabit * 1.1)
    }

    @Test func `degraded throttles low quality while something higher runs`() {
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
        #expect(rig.pace(decisions, .background) == nil, "nothing higher is there")
    }

    @Test func `a percent is of what the link has become, before a second has made sure of it`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .userInitiated, remaining: 1_000_000_000), sample(2, .default)]
        let before = rig.pace(rig.run(5, ["a": 80 * megabit]), .default) ?? 0
        #expect(abs(before / (0.25 * 80 * megabit) - 1) < 0.1)
        let after = rig.pace(rig.run(0.5, ["a": 2 * megabit]), .default) ?? .infinity
        #expect(abs(after / (0.25 * 2 * megabit) - 1) < 0.1)
        #expect(rig.network.level(of: key("a")) == .good, "nobody is sure yet")
        // And where it was a moment's trouble, it is as it was.
        let again = rig.pace(rig.run(0.5, ["a": 80 * megabit]), .default) ?? 0
        #expect(abs(again / (0.25 * 80 * megabit) - 1) < 0.2)
    }

    @Test func `a quality whose verb is cancel ends with the reason`() {
        var policy = NetworkPolicy()
        policy.degraded[.background] = .cancel
        var rig = NetworkRig(policy: policy)
        rig.transfers = oneOfEach()
        rig.run(5, ["a": 100 * megabit])
        let decisions = rig.run(1.5, ["a": 1.9 * megabit])
        let order = decisions.orders.first { $0.id == id(5) }
        #expect(order?.verb == .cancel)
        #expect(order?.reason.contains("goodput 1.9 Mbit/s is below") == true)
        #expect(decisions.allowances[key("a")]?.closed == [.background])
        // The order stands until the worker has let it go.
        rig.transfers.removeLast()
        #expect(!rig.run(0.25, ["a": 1.9 * megabit]).orders.contains { $0.id == id(5) })
    }

    @Test func `a pause ends at the floor before anybody stands still too long`() {
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
        // The next pause is one of its own.
        rig.transfers[1].state = .running
        rig.run(15, ["a": 100 * megabit])
        #expect(rig.pace(rig.run(1.5, ["a": 1.9 * megabit]), .utility) == 0)
    }

    @Test func `bytes from before a link was heard of are nobody's goodput`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, to: "b", .default)]
        rig.run(5, ["b": 10 * megabit])
        func counters(_ name: String, _ bytes: Int64) -> [LinkCounter] {
            [LinkCounter(destination: destination(name), serviceClass: .middle, bytes: bytes)]
        }
        // A worker that was idle for long is heard of again: of another link first, and then of this one.
        rig.network.report(worker: 2, transfers: [], counters: counters("a", 1000), now: rig.now)
        rig.run(0.5, ["b": 10 * megabit])
        rig.network.report(
            worker: 2, transfers: [], counters: counters("a", 1000) + counters("b", 10_000_000_000), now: rig.now)
        rig.run(4, ["b": 10 * megabit])
        // And one that has forgotten how far it had counted.
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

    @Test func `who is only slowed down beside others is held back by no gate where he is alone`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .utility), sample(2, .default)]
        rig.run(5, ["a": 100 * megabit])
        rig.run(6, ["a": 1.9 * megabit])
        let beside = rig.network.gate(of: .utility, to: key("a"), now: rig.now)
        #expect(beside?.sentence.contains("utility has “throttle") == true, "\(String(describing: beside))")
        rig.transfers.removeLast()
        rig.run(2, ["a": 1.9 * megabit])
        #expect(rig.network.level(of: key("a")) == .degraded)
        #expect(rig.network.gate(of: .utility, to: key("a"), now: rig.now) == nil)
    }

    @Test func `the gate of a full link says what it carries, and of how much`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .userInitiated, remaining: 100_000_000), sample(2, .utility)]
        rig.run(10, ["a": 20 * megabit])
        let gate = rig.network.gate(of: .utility, to: key("a"), now: rig.now)
        #expect(
            gate?.sentence.contains("is good and full (20.0 Mbit/s of 20.0 Mbit/s; four fifths are full)") == true,
            "\(String(describing: gate))")
        #expect(gate?.remedy?.contains("no high quality for") == true)
    }

    @Test func `on a poor link with nothing else one low transfer goes on`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1, .utility), sample(2, .background), sample(3, .utility, resumable: false)]
        rig.run(5, ["a": 100 * megabit])
        let decisions = rig.run(1.5, ["a": 0.2 * megabit])
        #expect(decisions.orders.map(\.id) == [id(1), id(2)], "the one that would lose most is spared")
        #expect(rig.pace(decisions, .utility) == nil)
    }

    @Test func `explains the gate with level, measure, threshold and remedy`() {
        var rig = NetworkRig()
        rig.transfers = oneOfEach().filter { $0.qos.serviceClass == .low }
        rig.run(5, ["a": 100 * megabit])
        rig.run(1.5, ["a": 0.2 * megabit])
        let gate = rig.network.gate(of: .utility, to: key("a"), now: rig.now)
        #expect(
            gate?.sentence
                == "http://a:80 is poor: goodput 200 kbit/s is below 256 kbit/s; utility has “preempt” there")
        #expect(gate?.remedy == "333 kbit/s for 3.0 s")
        #expect(gate?.since ?? at(0) > at(5))
        #expect(rig.network.gate(of: .userInitiated, to: key("a"), now: rig.now) == nil)
        let state = rig.network.state(of: key("a"), now: rig.now)
        #expect(state?.since ?? at(0) > at(5) && state?.inFlight == 2 && state?.highInFlight == 0)
    }

    @Test func `beside high quality on a poor link one low transfer goes on after half of the longest standstill`() {
        var rig = NetworkRig()
        rig.transfers = [sample(9, .userInitiated), sample(1, .utility)]
        rig.run(5, ["a": 20 * megabit])
        #expect(rig.run(3, ["a": 0.2 * megabit]).orders.map(\.id) == [id(1)])
        rig.transfers.removeLast()
        rig.network.setWaiting([.utility: 1], for: key("a"), now: rig.now)
        var decisions = rig.run(20, ["a": 0.2 * megabit])
        #expect(decisions.allowances[key("a")]?.closed.contains(.utility) == true)
        decisions = rig.run(15, ["a": 0.2 * megabit])
        #expect(decisions.allowances[key("a")]?.closed.contains(.utility) == false)
        #expect(decisions.allowances[key("a")]?.lowLimit == 1)
        rig.transfers.append(sample(7, .utility))
        decisions = rig.run(30, ["a": 0.2 * megabit])
        #expect(decisions.orders.isEmpty)
        #expect(abs((rig.pace(decisions, .utility) ?? 0) / (0.05 * 0.2 * megabit) - 1) < 0.1)
    }

    @Test func `an outage leaves the estimate, and how much a destination may have at once`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1)]
        rig.run(5, ["a": 20 * megabit])
        rig.run(2, ["a": 0])
        #expect((rig.network.links[key("a")]?.estimator.estimate ?? 0) > 19 * megabit)
    }

    @Test(arguments: [false, true]) func `no tick gives a destination more than its most`(isLocal: Bool) {
        var policy = NetworkPolicy()
        policy.destinations[destination("a")] = DestinationLimits(maxConcurrency: 2)
        var rig = NetworkRig(policy: policy)
        if isLocal { rig.network.routeChanged(destination("a"), to: .local, now: at(0)) }
        rig.network.setWaiting([.utility: 100], for: key("a"), now: at(0))
        for _ in 0..<8 { #expect(rig.run(0.25, [:]).allowances[key("a")]?.limit == 2) }
    }

    @Test func `sizes beyond all measure are added`() {
        var rig = NetworkRig()
        rig.transfers = [1, 2].map { sample($0, .userInitiated, remaining: .max) } + [sample(3)]
        #expect(rig.run(2, ["a": 20 * megabit]).allowances[key("a")] != nil)
    }

    @Test func `who is forgotten is forgotten wholly`() {
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
        #expect(rig.network.links.isEmpty && rig.network.rulings.isEmpty && rig.network.published.isEmpty)
        #expect(rig.network.waves.isEmpty && rig.network.pausedSince.isEmpty)
        for number in 1...50 { rig.network.forget(destination("d\(number)")) }
        #expect(rig.network.routes.isEmpty)
    }

    @Test func `a destination that was never reached and that nobody asks for is forgotten`() {
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

    @Test func `high quality is made way for before it has sent a byte`() {
        var rig = NetworkRig()
        rig.transfers = (1...4).map { sample($0) }
        rig.run(5, ["a": 20 * megabit])
        let decisions = rig.network.arrived(
            id(9), to: key("a"), qos: .userInteractive, bytes: 2_500_000, now: rig.now)
        #expect(decisions?.pacing.filter { $0.qos.serviceClass == .low }.map(\.bytesPerSecond) == [0, 0])
        #expect(decisions?.allowances[key("a")]?.lowLimit == 0)
        #expect(
            rig.network.gate(of: .utility, to: key("a"), now: rig.now)?.sentence.contains("high quality has it") == true
        )
        // The next finds that they have made way.
        #expect(
            value(rig.network.arrived(id(10), to: key("a"), qos: .userInitiated, bytes: 1, now: rig.now)) == nil)
        // After the head start, a tenth for all of them.
        for index in rig.transfers.indices { rig.transfers[index].state = .throttled }
        rig.transfers.append(sample(9, .userInteractive))
        let later = rig.pace(rig.run(3, ["a": 20 * megabit]), .utility) ?? 0
        #expect((0.4 * megabit...0.6 * megabit).contains(later))
    }

    @Test func `low transfers to another destination make way on a shared uplink`() {
        var rig = NetworkRig()
        rig.transfers = (1...4).map { sample($0, to: "b") }
        for index in rig.transfers.indices { rig.transfers[index].srtt = .milliseconds(150) }
        rig.run(5, ["b": 20 * megabit])
        let decisions = rig.network.arrived(id(9), to: key("a"), qos: .userInteractive, bytes: 2_500_000, now: rig.now)
        #expect(decisions.map { rig.pace($0, .utility, key: key("b")) } == 0)
        // But not where it takes another way.
        var other = NetworkRig()
        other.network.routeChanged(destination("a"), to: .uplink("lte"), now: at(0))
        other.transfers = (1...4).map { sample($0, to: "b") }
        other.run(5, ["b": 20 * megabit])
        #expect(
            value(other.network.arrived(id(9), to: key("a"), qos: .userInteractive, bytes: nil, now: other.now)) == nil)
    }

    // MARK: Limits that people set

    @Test func `a rate is kept, by the lowest first`() {
        var rig = NetworkRig()
        rig.network.override(destination("a"), LinkOverride(maxRate: 1_000_000), now: at(0))
        rig.transfers = [sample(2, .default), sample(3, .utility)]
        let decisions = rig.run(2, ["a": 900_000])
        #expect(rig.pace(decisions, .userInitiated) == 1_000_000)
        #expect(rig.pace(decisions, .default) == 1_000_000)
        #expect(abs((rig.pace(decisions, .utility) ?? 0) - 550_000) < 20_000)
        rig.transfers = [sample(1, .userInitiated), sample(3, .utility)]
        #expect((49_000...51_000).contains(rig.pace(rig.run(5, ["a": 2_000_000]), .utility) ?? 0), "the floor")
    }

    @Test func `transfers that wait for their answers leave their share of a rate to the others`() {
        var rig = NetworkRig()
        rig.network.override(destination("a"), LinkOverride(maxRate: 1_000_000), now: at(0))
        rig.transfers = (1...4).map { sample(UInt64($0), .default) }
        #expect(rig.pace(rig.run(2, ["a": 900_000]), .default) == 250_000)
        for index in 0..<3 { rig.transfers[index].remaining = 0 }
        #expect(rig.pace(rig.run(2, ["a": 900_000]), .default) == 1_000_000)
    }

    @Test func `a rate of a person or of the policy is said before anything is known of the link`() {
        var policy = NetworkPolicy()
        policy.destinations[destination("b")] = DestinationLimits(maxRate: 300_000)
        var network = NetworkController(policy: policy, seed: 1)
        network.override(destination("a"), LinkOverride(maxRate: 200_000), now: at(0))
        let pacing = network.tick(now: at(0)).pacing
        for (name, rate) in [("a", 200_000), ("b", 300_000)] as [(String, Int64)] {
            let own = pacing.filter { $0.key == LinkKey(destination(name), .up) }
            #expect(Set(own.map(\.qos)) == Set(QualityOfService.allCases), "\(own)")
            #expect(own.allSatisfy { $0.bytesPerSecond == rate }, "\(own)")
        }
    }

    @Test func `another main uplink begins from nothing, and by itself`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1), sample(2, to: "b")]
        rig.network.routeChanged(destination("b"), to: .uplink("wg0"), now: at(0))
        rig.run(5, ["a": 100 * megabit, "b": 10 * megabit])
        #expect(rig.network.level(of: key("a")) == .good && rig.network.level(of: key("b")) == .good)
        rig.network.uplinkReplaced("", now: rig.now)
        #expect(rig.network.level(of: key("a")) == .unknown && rig.network.level(of: key("b")) == .good)
        #expect(rig.network.memory(of: key("a"), now: rig.now) == nil, "nothing of the other wire")
        // What would be a twentieth of the other's is good of this one.
        rig.run(5, ["a": 5 * megabit, "b": 10 * megabit])
        #expect(rig.network.level(of: key("a")) == .good)
    }

    @Test func `concurrency and hours of a destination`() {
        var policy = NetworkPolicy()
        policy.destinations[destination("a")] = DestinationLimits(
            maxConcurrency: 2, backgroundHours: AllowedHours(from: 0, to: 60))
        var rig = NetworkRig(policy: policy)
        rig.transfers = [sample(1), sample(2)]
        #expect(rig.run(2, ["a": 100 * megabit]).allowances[key("a")]?.limit == 2)
        #expect(rig.network.availability(of: .background, to: key("a"), now: rig.now) == .available)
        rig.network.minuteOfDay = 60
        #expect(rig.network.availability(of: .background, to: key("a"), now: rig.now) == .outOfHours)
        #expect(rig.network.availability(of: .utility, to: key("a"), now: rig.now) == .available)
    }
}
