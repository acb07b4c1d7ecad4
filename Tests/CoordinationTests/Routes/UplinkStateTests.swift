import NetworkControl
import Testing

@testable import Coordination

@Suite struct UplinkStateTests {
    private let first = RouteTable.Hop(interface: 1, gateway: [192, 0, 2, 1])
    private let carrier = LinkReason.route(.noCarrier, "eth0")
    private let down = LinkReason.route(.interfaceDown, "eth0")
    private let second = RouteTable.Hop(interface: 2, gateway: [192, 0, 2, 1])

    @Test func `an uplink is lost once for each reason, and found once`() {
        var state = UplinkState()
        #expect(value(state.update(lost: [:], main: first)).isEmpty)
        #expect(value(state.update(lost: ["": carrier], main: nil)) == [.lost(name: "", reason: carrier)])
        #expect(value(state.update(lost: ["": carrier], main: nil)).isEmpty)
        #expect(
            value(state.update(lost: ["": down, "eth1": down], main: nil)) == [
                .lost(name: "", reason: down), .lost(name: "eth1", reason: down),
            ])
        #expect(value(state.update(lost: ["eth1": down], main: first)) == [.found(name: "")])
    }

    @Test func `a main uplink that comes back is the same unless its interface or gateway differs`() {
        var state = UplinkState()
        #expect(value(state.update(lost: [:], main: nil)).isEmpty)
        #expect(value(state.update(lost: [:], main: first)).isEmpty, "the first is not a replacement")
        #expect(value(state.update(lost: [:], main: nil)).isEmpty)
        #expect(value(state.update(lost: [:], main: first)).isEmpty)
        #expect(value(state.update(lost: [:], main: second)) == [.mainReplaced])
    }
}
