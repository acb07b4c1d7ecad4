import Commands
import Glibc
import Sluice
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `SluiceClient.wait` beside real processes.
    struct WaitTests {
        @Test func `a wait hears of the end at once, also of an end that came before its subscription`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                var slow = 0
                for _ in 0..<30 {
                    // A new client each time: its subscription races the end of the command.
                    let client = try SluiceClient(data: installation.data, store: installation.serverStore?.url)
                    let began = ContinuousClock.now
                    let id = try await client.submit("noop", payload: [:])
                    let outcome = try await client.wait(for: id)
                    #expect(outcome.isSuccess)
                    // The store is also read once a second: an end that was missed takes that long.
                    if began.duration(to: .now) > .milliseconds(500) { slow += 1 }
                    await client.close()
                }
                #expect(slow <= 1, "one wait may stand behind other processes of this machine")
            }
        }

        @Test func `pause --wait ends when the last command that it covers has ended`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let (middle, low) = try await installation.submitLongNoops()
                let store = try installation.store()
                let paused = try await installation.sluice("pause", "--qos", "default", "--wait")
                #expect(paused.code == 0 && paused.errors.contains("waiting: 1 command is running"), "\(paused.errors)")
                #expect(try store.command(middle)?.status == .success)
                #expect(try store.command(low)?.status == .sent)
                // A pause that was there already is waited for too.
                #expect(try await installation.sluice("pause", "--qos", "default", "--wait").code == 0)
                let everything = try installation.start("pause", "--wait")
                try await until("its first words") { everything.errors.contains("waiting: 1 command is running") }
                everything.signal(SIGINT)
                #expect(try await everything.end(within: .seconds(20)) == .exited(130))
                #expect(everything.errors.contains("still paused; 1 command is running"), "\(everything.errors)")
                #expect(try await installation.sluice("status").output.contains("paused"))
            }
        }

        @Test func `a wait hears of a cancellation by another process`() async throws {
            try await Installation.with { installation in
                let up = try await installation.up()
                let client = try SluiceClient(data: installation.data, store: installation.serverStore?.url)
                #expect(try await installation.sluice("pause").code == 0)
                let id = try await client.submit("noop", payload: [:])
                async let outcome = client.wait(for: id)
                #expect(try await installation.sluice("cancel", "\(id)").code == 0)
                #expect(try await outcome.status == .cancelled)
                #expect(up.ending == nil)
                await client.close()
            }
        }
    }
}
