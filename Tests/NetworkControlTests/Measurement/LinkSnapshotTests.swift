import Host
import Testing

@testable import NetworkControl

/// The transfers of one report as evidence about their link.
@Suite struct LinkSnapshotTests {
    @Test(arguments: [(Int64?.some(0), false), (1, true), (nil, true)])
    func `a held transfer steers its link unless it has nothing left to send`(
        _ remaining: Int64?, _ isSteered: Bool
    ) {
        for state in [TransferSample.State.paused, .throttled] {
            var held = sample(1)
            (held.state, held.remaining) = (state, remaining)
            var snapshot = LinkSnapshot()
            snapshot.add(TrackedTransfer(held, worker: 0, now: .zero), now: .zero)
            #expect(snapshot.isSteered == isSteered, "\(state)")
        }
    }
}
