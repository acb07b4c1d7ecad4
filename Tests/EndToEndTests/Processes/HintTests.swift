import Commands
import Store
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

        @Test func `a retried command does not wait for a long backlog, though its hint is lost`() async throws {
            try await Installation.with { installation in
                let id = try await installation.sluice("submit", "noop").ids[0]
                let store = try installation.store()
                #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                // Ten minutes of work for two workers.
                let line = #"{"payload":{"milliseconds":100}}"#
                let backlog = String(repeating: line + "\n", count: 200_000)
                #expect(try await installation.sluice("submit", "noop", "-", input: backlog).code == 0)
                _ = try await installation.up()
                // By then the coordinator has read beyond the turn of the first command.
                try await until("a part of the backlog", within: .seconds(60)) { try store.counts()[.success] > 2000 }
                let deaf = ["SLUICE_TEST_DROP": "1:1"]
                #expect(try await installation.sluice("retry", "\(id)", environment: deaf).code == 0)
                try await installation.await(id, .success, in: store, within: .seconds(15))
                #expect(try store.counts()[.new] > 100_000)
            }
        }
    }
}
