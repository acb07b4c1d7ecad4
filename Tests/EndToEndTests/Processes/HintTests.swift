import Commands
import TestSupport
import Testing

extension EndToEndTests {
    /// Messages between a producer and the coordinator are hints: without any of them things take longer, and that is all.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct HintTests {
        @Test func `a command of which nobody told is found by the next sweep, and a cancellation too`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let store = try installation.store()
                let deaf = ["SLUICE_TEST_DROP": "1:1"]
                let began = ContinuousClock.now
                let id = try await installation.sluice("submit", "noop", environment: deaf).ids[0]
                try await installation.await(id, .success, in: store)
                // A sweep comes every five seconds; the rest is for a busy machine.
                #expect(ContinuousClock.now - began < .seconds(15))

                let long = try await installation.sluice(
                    "submit", "noop", "--payload", #"{"milliseconds":600000}"#
                ).ids[0]
                try await installation.await(long, .sent, in: store)
                #expect(try await installation.sluice("cancel", "\(long)", environment: deaf).code == 0)
                try await installation.await(long, .cancelled, in: store, within: .seconds(15))
            }
        }
    }
}
