import Commands
import TestSupport
import Testing

extension EndToEndTests {
    /// Messages from a producer to the coordinator are hints: without them a command only starts later.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct HintTests {
        @Test func `the next sweep finds a command and a cancellation without a hint`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let store = try installation.store()
                let deaf = ["SLUICE_TEST_DROP": "1:1"]
                let began = ContinuousClock.now
                let id = try await installation.sluice("submit", "noop", environment: deaf).ids[0]
                try await installation.await(id, .success, in: store)
                // A sweep runs every five seconds; the rest of the limit is for a busy machine.
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
