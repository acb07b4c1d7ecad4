import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice store copy` between a PostgreSQL server and a data directory.
    @Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
    struct StoreCopyTests {
        @Test func `a store is copied to a data directory and back, and a running one is refused`() async throws {
            let (store, last) = (try await ServerStore(), try await ServerStore(shards: 0))
            defer { last.remove() }
            try await Installation.with(store: store) { installation in
                let copy = "\(installation.data)-2"
                let up = try await installation.up()
                let ids = try await installation.sluice(
                    "submit", "noop", "-", input: .init(repeating: "{\"payload\":{}}\n", count: 300)
                ).ids
                #expect(ids.count == 300)
                try await installation.drained(installation.store())
                let running = try await installation.sluice("store", "copy", store.url, copy)
                #expect(running.code == 75 && running.errors.contains("in use by process"), "\(running)")
                up.signal(SIGTERM)
                #expect(try await up.end(within: .seconds(60)) == .exited(0))

                let missing = try await installation.sluice("store", "copy", "\(copy)-none", last.url)
                #expect(missing.code == 66, "\(missing)")
                let there = try await installation.sluice("store", "copy", store.url, copy)
                #expect(there.code == 0 && there.output.contains("\n  commands: 300\n"), "\(there)")
                #expect(there.output.contains("must not run any more"))
                let again = try await installation.sluice("store", "copy", store.url, copy)
                #expect(again.code == 65 && again.errors.contains("not empty"), "\(again)")
                let back = try await installation.sluice("store", "copy", copy, last.url, "--json")
                #expect(back.code == 0 && back.errors.isEmpty, "\(back)")
                #expect(try back.json()["rows"]?["commands"]?.integer == 300)

                // The data directory that works on the copy first has it.
                let environment: [String: String?] = ["SLUICE_STORE": last.url]
                #expect(try await installation.sluice("submit", "noop", environment: environment).ids.count == 1)
                let listed = try await installation.sluice(
                    "list", "-q", "--limit", "1000", environment: environment)
                #expect(listed.ids.count == 301 && Set(listed.ids).isSuperset(of: ids))
            }
        }

        @Test(arguments: [SIGINT, SIGKILL])
        func `a copy that a signal ends leaves a store that is refused until it is copied again`(
            _ signal: CInt
        ) async throws {
            let (store, last) = (try await ServerStore(), try await ServerStore(shards: 0))
            defer { last.remove() }
            try await Installation.with(store: store) { installation in
                let submitted = try await installation.sluice(
                    "submit", "noop", "-", input: .init(repeating: "{\"payload\":{}}\n", count: 30_000))
                #expect(submitted.code == 0)
                let copy = try installation.start("store", "copy", store.url, last.url)
                try await until("the mark of the copy") { Self.isMarked(last.url) }
                copy.signal(signal)
                let ended = try await installation.finished(copy)
                if signal == SIGINT {
                    #expect(ended.code == 130 && ended.errors.contains("is not complete"), "\(ended)")
                }
                let refused = try await installation.sluice("status", environment: ["SLUICE_STORE": last.url])
                #expect(refused.code == 70 && refused.errors.contains("“sluice store copy '"), "\(refused)")
                let again = try await installation.sluice("store", "copy", store.url, last.url)
                #expect(again.code == 0 && again.output.contains("commands: 30,000"), "\(again)")
                #expect(!Self.isMarked(last.url))
            }
        }

        private static func isMarked(_ url: String) -> Bool {
            do { _ = try PostgreSQLStore(url: url) } catch { return error.code == .corrupt }
            return false
        }
    }
}
