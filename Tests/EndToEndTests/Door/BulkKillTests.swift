import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A bulk whose door is killed between the commits of its shards.
    struct BulkKillTests {
        private static let count = 8_000

        @Test func `a bulk that is repeated after a kill submits each line once`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let lines = (0..<Self.count).map { #"{"type":"noop","payload":{"milliseconds":\#($0)}}"# }
                let file = try installation.directory.file("bulk", Array(lines.joined(separator: "\n").utf8))
                let arguments = [
                    "-sS", "-H", "Authorization: Bearer \(try door.token)", "-H", "Idempotency-Key: \"night\"", "-H",
                    "Content-Type: application/x-ndjson", "--data-binary", "@\(file)",
                    "\(door.origin)/api/v1/commands/bulk",
                ]
                let store = try installation.store()
                let first = try installation.start(program: "/usr/bin/curl", arguments)
                try await until("the first commit") { try store.counts()[.new] > 0 || first.ending != nil }
                try await door.kill()
                _ = try await first.end(within: .seconds(10))
                let before = try store.list(CommandFilter(), after: nil, limit: 1000).map(\.id)
                try await door.start()
                var ids: [[String]] = []
                for _ in 0..<2 {
                    let answer = try await installation.run(program: "/usr/bin/curl", arguments)
                    let values = try answer.lines.map { try JSONValue(parsing: Array($0.utf8)) }
                    ids.append(values.compactMap { $0["id"]?.string })
                }
                #expect(ids[0].count == Self.count && Set(ids[0]).count == Self.count)
                #expect(ids[0] == ids[1])
                #expect(Set(before.map(\.description)).isSubset(of: ids[0]))
                #expect(try store.counts()[.new] == Self.count)
            }
        }
    }
}
