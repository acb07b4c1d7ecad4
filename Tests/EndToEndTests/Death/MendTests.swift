import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Wrong numbers in a store that runs.
    struct MendTests {
        @Test(.filesOnly("doctor mends only the files of a store"))
        func `a flow and a key that are stuck go on when the health check has mended them`() async throws {
            try await Installation.with(inProcess: false) { installation in
                _ = try await installation.up()
                // Nothing may run before the damage is done.
                #expect(try await installation.sluice("pause").code == 0)
                let flow = try await installation.sluice(
                    "flow", "submit", "-", input: "nodes: {a: {type: noop}, b: {type: noop, after: a}}")
                let id = try #require(flow.ids.first, "\(flow.errors)")
                var ids: [CommandID] = []
                for _ in 1...2 { ids += try await installation.sluice("submit", "noop", "--ordering-key", "k").ids }
                let store = try installation.store()
                let data = DataDirectory(path: installation.data)
                // In the order of the damage: the node waits for one more, and the key has one more holder.
                try SQLiteProbe(data.shard(id.shard(of: 8))).run(
                    "UPDATE node SET pending = pending + 1 WHERE pending > 0")
                try SQLiteProbe(data.shard(ids[0].shard(of: 8))).run("UPDATE lane SET open = open + 1")
                #expect(try await installation.sluice("resume").code == 0)
                try await installation.await(ids[0], .success, in: store)
                try await until("the end of the first node") {
                    try store.flowNodes(id, after: 0, limit: 9).first?.command.status == .success
                }
                #expect(try store.command(id)?.status == .blocked && store.command(ids[1])?.status == .blocked)
                let found = try await installation.sluice("doctor")
                #expect(found.code == 70 && found.output.contains("doctor --mend"), "\(found.output)")
                #expect(try store.command(id)?.status == .blocked)

                let mended = try await installation.sluice("doctor", "--mend")
                #expect(mended.output.contains("mended: the ordering key “k” counted 1 commands, and counts 0 now"))
                #expect(mended.output.contains("waited for 1 commands, and waits for 0 now"), "\(mended.output)")
                try await installation.await(id, .success, in: store)
                try await installation.await(ids[1], .success, in: store)
                let again = try await installation.sluice("doctor")
                #expect(again.code == 0 && !again.output.contains("mend"), "\(again.output)")
            }
        }
    }
}
