import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// The output of `sluice status`.
    struct StatusTests {
        @Test func `status shows the number of claimed commands of each worker and shard`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up(workers: 2)
                var ids: [CommandID] = []
                for _ in 0..<6 {
                    ids += try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":60000}"#).ids
                }
                var expected = Array(repeating: 0, count: 8)
                for id in ids { expected[id.shard(of: 8)] += 1 }
                try await until("the claim of every command") {
                    let workers = try await installation.sluice("status", "--json").json()["workers"]?.elements ?? []
                    let claims = workers.map { $0["claims"]?.elements?.compactMap(\.integer) ?? [] }
                    let sums = (0..<8).map { shard in claims.reduce(0) { $0 + ($1.count == 8 ? Int($1[shard]) : 0) } }
                    guard workers.allSatisfy({ $0["concurrency"]?.integer == 16 }) else { return false }
                    let inFlight = workers.compactMap { $0["inFlight"]?.integer }.reduce(0, +)
                    return sums == expected && inFlight == 6
                }
                let cancel = try await installation.sluice("cancel", ids[0].description)
                #expect(cancel.code == 0, "\(cancel.errors)")
            }
        }

        @Test func `explain names the answer that is missing when a destination has received every byte`() async throws
        {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                receiver.on("/hangs", .hang(.body))
                let file = try installation.directory.file("file", [UInt8](repeating: 1, count: 5000))
                _ = try await installation.up()
                let put = try await installation.sluice("put", file, "--to", "\(receiver.origin)/hangs")
                let id = try #require(put.ids.first)
                try await until("the reason") {
                    let explained = try await installation.sluice("explain", "\(id)").output
                    return explained.contains("has sent all 5000 bytes")
                        && explained.contains("answer has been missing for")
                }
            }
        }

        @Test func `status shows a draining worker, and explain no longer counts it`() async throws {
            try await Installation.with { installation in
                _ = try await installation.coordinator()
                let worker = try await installation.worker("--grace", "60s")
                let running = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":60000}"#)
                    .ids[0]
                try await installation.await(running, .sent, in: installation.store())
                worker.signal(SIGTERM)
                try await until("the drain") {
                    try await installation.status()?["workers"]?.elements?.first?["state"]?.string == "draining"
                }
                let waiting = try await installation.sluice("submit", "noop").ids[0]
                let explained = try await installation.sluice("explain", waiting.description)
                #expect(explained.output.contains("every running worker is draining"), "\(explained.output)")
                let cancel = try await installation.sluice("cancel", running.description)
                #expect(cancel.code == 0, "\(cancel.errors)")
                #expect(try await worker.end(within: .seconds(30)) == .exited(0))
                #expect(try await installation.status()?["workers"]?.elements?.isEmpty == true)
            }
        }
    }
}
