import Commands
import Host
import Testing

@testable import NetworkControl

/// Rates, numbers and hours that people set.
@Suite struct NetworkLimitTests {
    @Test func `a maximum rate is taken from the lowest quality first`() {
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

    @Test func `transfers that wait for their answers leave their share of the rate to others`() {
        var rig = NetworkRig()
        rig.network.override(destination("a"), LinkOverride(maxRate: 1_000_000), now: at(0))
        rig.transfers = (1...4).map { sample(UInt64($0), .default) }
        #expect(rig.pace(rig.run(2, ["a": 900_000]), .default) == 250_000)
        for index in 0..<3 { rig.transfers[index].remaining = 0 }
        #expect(rig.pace(rig.run(2, ["a": 900_000]), .default) == 1_000_000)
    }

    @Test func `a maximum rate is published before the link is known`() {
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

    /// Reports of workers may state any number of bytes.
    @Test func `a rate beyond the range of whole numbers is the highest pace`() {
        for rate in [9.3e18, 1e300, .infinity] { #expect(NetworkController.whole(rate) == 9_000_000_000_000_000_000) }
        #expect(NetworkController.whole(-1) == 0 && NetworkController.whole(2.9) == 2)
    }

    /// A link that is offline still has a probe, and transfers that are left to their connections.
    @Test func `a maximum rate holds while the link is offline`() {
        var rig = NetworkRig()
        rig.network.override(destination("a"), LinkOverride(maxRate: 1_000_000), now: at(0))
        rig.transfers = [sample(1, .default), sample(2, .default)]
        rig.run(2, ["a": 900_000])
        rig.network.uplinkLost("", reason: LinkReason(.noDefaultRoute), now: rig.now)
        let decisions = rig.run(1, ["a": 0])
        #expect(rig.network.level(of: key("a")) == .offline)
        #expect(rig.pace(decisions, .default) == 500_000)
    }

    /// Another tick comes before the first one that looks at the link; an urgent decision comes before any tick.
    @Test func `a maximum rate holds from the first offer to a destination`() {
        var rig = NetworkRig()
        rig.network.override(destination("b"), LinkOverride(maxRate: 200_000), now: at(0))
        rig.transfers = [sample(1, .default)]
        rig.run(1, ["a": 900_000])
        rig.network.offered(id(9), to: key("b"), now: rig.now)
        #expect(rig.pace(rig.network.decide(now: rig.now), .default, key: key("b")) == 200_000)
    }

    @Test func `measurements of the main uplink are forgotten when it is replaced, and only those`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1), sample(2, to: "b")]
        rig.network.routeChanged(destination("b"), to: .uplink("wg0"), now: at(0))
        rig.run(5, ["a": 100 * megabit, "b": 10 * megabit])
        #expect(rig.network.level(of: key("a")) == .good && rig.network.level(of: key("b")) == .good)
        rig.network.uplinkReplaced("", now: rig.now)
        #expect(rig.network.level(of: key("a")) == .unknown && rig.network.level(of: key("b")) == .good)
        #expect(rig.network.history(of: key("a"), now: rig.now) == nil, "nothing is known of the new one")
        // A twentieth of the old rate is good on the new uplink.
        rig.run(5, ["a": 5 * megabit, "b": 10 * megabit])
        #expect(rig.network.level(of: key("a")) == .good)
    }

    @Test func `a destination has its own concurrency and hours`() {
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
