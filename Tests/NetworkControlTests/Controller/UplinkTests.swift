import Commands
import Glibc
import Host
import Testing

@testable import NetworkControl

/// How destinations behind one uplink affect each other.
@Suite struct UplinkTests {
    private static let uplink = LinkKey(.uplink(""), .up)

    /// Transfers of low quality to “b”, which fill 100 Mbit/s and wait in a queue.
    private func full() -> NetworkRig {
        var rig = NetworkRig()
        rig.transfers = (1...4).map { sample($0, to: "b") }
        for index in rig.transfers.indices { rig.transfers[index].srtt = .milliseconds(150) }
        rig.run(5, ["b": 100 * megabit])
        return rig
    }

    @Test func `a high transfer to a slow server takes no more from others than the policy says`() {
        var rig = full()
        #expect((90...101).contains((rig.network.links[Self.uplink]?.estimator.estimate ?? 0) / megabit))
        rig.transfers.append(sample(9, to: "a", .userInitiated))
        _ = rig.network.announce(id(9), to: key("a"), qos: .userInitiated, bytes: nil, now: rig.now)
        // They yield, and their queue is gone.
        for index in 0..<4 {
            rig.transfers[index].srtt = .milliseconds(60)
            rig.transfers[index].state = .throttled
        }
        let decisions = rig.run(10, ["a": 1 * megabit, "b": 100 * megabit])
        #expect(rig.network.level(of: key("b")) == .good)
        #expect(decisions.orders.isEmpty)
        let pace = rig.pace(decisions, .utility, key: key("b")) ?? .infinity
        #expect(pace * 4 >= 9 * megabit, "a tenth of the uplink's capacity")
        #expect((90...101).contains((rig.network.links[Self.uplink]?.estimator.estimate ?? 0) / megabit))
    }

    @Test func `a single slow server does not make the uplink slow`() {
        var rig = NetworkRig()
        rig.transfers = [sample(1)]
        rig.run(10, ["a": 0.2 * megabit])
        #expect(rig.network.level(of: key("a")) == .poor)
        #expect(rig.network.links[Self.uplink]?.level == .good)
        #expect(rig.network.firstAllowance(of: key("b")).blocked.isEmpty)
        let state = rig.network.state(of: Self.uplink, now: rig.now)
        #expect(state?.reason.rule == .unloaded)
        #expect(abs((state?.reason.measured ?? 0) / (0.2 * megabit) - 1) < 0.01)
    }

    @Test func `an uplink whose transfers all wait in a queue is judged by what it carries`() {
        var rig = full()
        rig.run(2, ["b": 1 * megabit])
        #expect(rig.network.links[Self.uplink]?.level == .degraded)
    }

    @Test func `an uplink that was offline for the last coordinator is not offline for the next`() {
        var rig = NetworkRig()
        let history = LinkHistory(reference: 0, flows: 1, limit: 4, offline: LinkReason(.noDefaultRoute))
        rig.network.restore(history, of: Self.uplink, now: at(0))
        rig.transfers = [sample(1)]
        #expect(rig.run(3, ["a": 100 * megabit]).orders.isEmpty)
        #expect(rig.network.level(of: key("a")) == .good)
        // A destination is.
        rig.network.restore(history, of: key("b"), now: rig.now)
        #expect(rig.network.level(of: key("b")) == .offline)
    }

    @Test func `the cost of a tick grows with the number of destinations, not with its square`() {
        func minTickTime(destinations: Int) -> Double {
            var network = NetworkController(seed: 1)
            for number in 0..<destinations { network.setWaiting([.utility: 1], for: key("h\(number)"), now: at(0)) }
            let times = (1...15).map { step in
                let began = processorTime()
                _ = network.tick(now: at(Double(step) / 4))
                return processorTime() - began
            }
            #expect(network.links.count == destinations + 1)
            return times.min() ?? 0
        }
        // Ten times as many destinations cost ten times the time; a square would cost a hundred times.
        let growth = minTickTime(destinations: 1000) / minTickTime(destinations: 100)
        #expect(growth < 30, "\(growth)")
    }
}

/// Seconds of processor time of this thread, without that of others.
private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
