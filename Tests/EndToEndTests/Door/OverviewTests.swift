import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The overview with waiting commands, failures and links, beside a coordinator and workers.
    struct OverviewTests {
        private static func overview(_ door: DoorRig) async throws -> String {
            try await door.curl("-H", "Accept: text/html", "\(door.origin)/").output
        }

        @Test func `the overview names the destination that refuses connections, with its commands`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let door = try await DoorRig(installation)
                let file = try installation.directory.file("a.bin", Array("a".utf8))
                let refusing = "http://127.0.0.1:\(try freePort())"
                // Two commands: a third failure would make the link offline.
                for _ in 0..<2 {
                    #expect(try await installation.sluice("put", file, "--to", "\(refusing)/in/").code == 0)
                }
                #expect(try await installation.sluice("limit", "set", "slow", "--starts", "1/day").code == 0)
                for _ in 0..<3 {
                    #expect(try await installation.sluice("submit", "noop", "--limit", "slow").code == 0)
                }
                #expect(try await installation.sluice("submit", "noop", "--not-before", "1h").code == 0)
                var page = ""
                let expected = [
                    "<b class=\"num\">2</b>", "\(refusing) refuses connections", "Limit “slow” starts 1/day",
                    "the next is due in 59m",
                ]
                try await until("the causes") {
                    page = try await Self.overview(door)
                    return expected.allSatisfy(page.contains)
                }
                let waiting = try #require(page.split(separator: "id=\"waiting-title\"").last)
                let first = try #require(waiting.split(separator: "</li>").first)
                #expect(first.contains(refusing) && first.contains("held up"), "\(first)")
            }
        }

        @Test func `failures by cause outlive a restart of the door`() async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run("* * : read; answer 404")
                try await Installation.with { installation in
                    _ = try await installation.up()
                    for name in ["a", "b", "c"] {
                        let file = try installation.directory.file(name, Array("x".utf8))
                        let put = try await installation.sluice("put", file, "--to", "\(server.origin)/in/", "--wait")
                        #expect(put.code == 1)
                    }
                    let door = try await DoorRig(installation)
                    try await until("the failures") {
                        let page = try await Self.overview(door)
                        return page.contains("3 ×</b>") && page.contains("PUT \(server.origin)/… was answered 404")
                    }
                }
            }
        }

        @Test func `a failure without words to look for has no button for all failures`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let store = try installation.store()
                try store.open(Session(seat: 0, epoch: 7, pid: 1, startTime: 1, bootID: "test"))
                for reason in ["the disk is full", "4711"] {
                    let id = try #require(try await installation.sluice("submit", "noop").ids.first)
                    let ending = ExecutionResult.failure(CommandFailure(.final, reason: reason))
                    _ = try store.apply(
                        [.claim(id, sent: true), .end(id, claim: 1, ending)], shard: id.shard(of: store.shardCount),
                        seat: 0, epoch: 7)
                }
                var page = ""
                try await until("the failures") {
                    page = try await Self.overview(door)
                    return page.contains("The newest: the disk is full") && page.contains("The newest: …")
                }
                #expect(page.contains("retry all: the disk is full") && !page.contains("retry all: …"), "\(page)")
            }
        }

        @Test func `a link without transfers has no rate`() async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run("* * : read at 4M; answer 201")
                try await Installation.with { installation in
                    _ = try await installation.up()
                    let door = try await DoorRig(installation)
                    let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: 8 << 20))
                    let put = try await installation.sluice("put", file, "--to", "\(server.origin)/in/")
                    let id = try #require(put.ids.first)
                    func rate() async throws -> Int64? {
                        let links = try await door.curl("\(door.origin)/api/v1/links").json()["links"]?.elements ?? []
                        return links.first { $0["destination"]?.string == server.origin }?["rate"]?.integer
                    }
                    try await until("a rate") { try await rate() ?? 0 > 0 }
                    try await until("the success") { try installation.store().command(id)?.status == .success }
                    try await until("the end of the rate") { try await rate() == 0 }
                }
            }
        }
    }
}
