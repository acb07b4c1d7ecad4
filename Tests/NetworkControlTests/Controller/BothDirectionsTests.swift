import Commands
import Host
import TestSupport
import Testing

@testable import NetworkControl

/// A destination whose links up and down are one network.
@Suite struct BothDirectionsTests {
    private let up = key("a")
    private let down = LinkKey(destination("a"), .down)

    private func download(_ number: UInt64) -> TransferSample {
        var transfer = TransferSample(id: id(number), destination: destination("a"), direction: .down, qos: .utility)
        transfer.acknowledged = 1_000_000
        return transfer
    }

    @Test(.enabled(if: runsSlowTests, "takes 6 s"))
    func `the link up of a destination that only sends is kept, and forgotten when it is idle`() {
        var rig = NetworkRig()
        rig.network.offered(id(1), to: up, now: rig.now)
        rig.network.offered(id(1), to: down, now: rig.now)
        rig.transfers = [download(1)]
        rig.run(1000, ["a": megabit])
        #expect(rig.network.links[up] != nil && rig.network.links[down] != nil)
        rig.transfers = []
        rig.run(1000, [:])
        #expect(rig.network.links[up] == nil && rig.network.links[down] == nil)
    }

    @Test(arguments: [Direction.up, .down])
    func `an answer after a lost route closes the circuit breakers of both directions`(_ answered: Direction) {
        var rig = NetworkRig()
        for key in [up, down] { rig.network.offered(id(1), to: key, now: rig.now) }
        rig.run(1, [:])
        rig.network.uplinkLost("", reason: LinkReason(.noDefaultRoute), now: rig.now)
        for key in [up, down] { #expect(rig.network.level(of: key) == .offline) }
        // An answer that was under way before the loss says nothing.
        rig.run(2, [:])
        let key = answered == .up ? up : down
        rig.network.offered(id(2), to: key, now: rig.now)
        rig.network.ended(id(2), to: key, outcome: .answered, now: rig.now)
        for key in [up, down] { #expect(rig.network.level(of: key) < .offline, "\(key)") }
    }
}
