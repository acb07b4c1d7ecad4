import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice fetch` and `sluice response`.
    struct FetchTests {
        private static let script = """
            GET /a with If-None-Match "\\"1\\"" : answer 304 header "ETag: \\"1\\""
            GET /a : answer 200 header "ETag: \\"1\\"" body "quotes"
            GET /fresh : answer 200 header "Cache-Control: max-age=600" body "fresh"
            GET /swr #1 : answer 200 header "Cache-Control: max-age=0, stale-while-revalidate=600" body "one"
            GET /swr : answer 200 header "Cache-Control: max-age=0, stale-while-revalidate=600" body "two"
            GET /page : answer 200 header "Content-Type: application/json" header "X-Total-Count: 9" \
              header "Cache-Control: max-age=600" body "[{}]"
            GET /missing : answer 404
            GET /once : answer 200 header "Cache-Control: no-store" body "once"
            GET /large : answer 200 header "Cache-Control: no-store" body 200000
            GET /stale #1 : answer 200 header "Cache-Control: max-age=0, stale-if-error=600" body "old"
            GET /stale : answer 503
            GET /gone : answer 404 header "Cache-Control: max-age=600" body "page"
            """

        private func with(_ body: (Installation, ScriptedServer) async throws -> Void) async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run(Self.script)
                try await Installation.with { installation in
                    _ = try await installation.up()
                    try await body(installation, server)
                }
            }
        }

        @Test func `a response is printed once to a pipe, and with both stages as JSON`() async throws {
            try await with { installation, server in
                let url = "\(server.origin)/a"
                let first = try await installation.sluice("fetch", url)
                #expect(first.code == 0 && first.output == "quotes", "\(first.output)\(first.errors)")
                let second = try await installation.sluice("fetch", url)
                #expect(second.code == 0 && second.output == "quotes", "\(second.output)\(second.errors)")
                let lines = try await installation.sluice("fetch", url, "--json").lines
                    .map { try JSONValue(parsing: $0.utf8) }
                #expect(lines.map { $0["stage"]?.string } == ["stale", "notModified"], "\(lines)")
                let fresh = try await installation.sluice("fetch", "\(server.origin)/fresh", "--wait", "fresh")
                #expect(fresh.output == "fresh")
                let again = try await installation.sluice("fetch", "\(server.origin)/fresh")
                #expect(again.output == "fresh" && again.errors.contains("stored: the response is"), "\(again.errors)")
                #expect(server.requests.count { $0.target == "/fresh" } == 1)
                #expect(try await installation.sluice("fetch", "\(server.origin)/swr").output == "one")
                let revalidated = try await installation.sluice("fetch", "\(server.origin)/swr", "--wait", "fresh")
                #expect(revalidated.output == "two", "\(revalidated.errors)")
                let missing = try await installation.sluice("fetch", "\(server.origin)/missing")
                #expect(missing.code == 1 && missing.errors.contains("answered 404"), "\(missing.errors)")
            }
        }

        @Test func `a page of a longer list is printed with a remark on standard error`() async throws {
            try await with { installation, server in
                // From the network, then from the store.
                for _ in 0..<2 {
                    let page = try await installation.sluice("fetch", "\(server.origin)/page")
                    #expect(page.code == 0 && page.output == "[{}]", "\(page.errors)")
                    #expect(page.errors.contains("X-Total-Count: 9: --pages page or offset"), "\(page.errors)")
                }
            }
        }

        @Test func `exit code 0 and a body mean a whole, successful answer that is fresh, or said to be stale`()
            async throws
        {
            try await with { installation, server in
                let once = try await installation.sluice("fetch", "\(server.origin)/once")
                #expect(once.code == 0 && once.output == "once", "\(once.errors)")
                let large = try await installation.sluice("fetch", "\(server.origin)/large")
                #expect(large.code == 0 && large.output.utf8.count == 200_000, "\(large.errors)")
                let bodies = try FileManager.default.subpathsOfDirectory(atPath: "\(installation.data)/cache/body")
                #expect(!bodies.contains { $0.hasSuffix(".part") }, "a body with no-store was kept: \(bodies)")
                _ = try await installation.sluice("fetch", "\(server.origin)/stale")
                let stale = try await installation.sluice("fetch", "\(server.origin)/stale")
                #expect(stale.code == 0 && stale.output == "old" && stale.errors.contains("stale"), "\(stale.errors)")
                let fresh = try await installation.sluice("fetch", "\(server.origin)/stale", "--wait", "fresh")
                #expect(fresh.code == 75 && fresh.output.isEmpty, "\(fresh.output)\(fresh.errors)")
                for _ in 0..<2 {
                    let gone = try await installation.sluice("fetch", "\(server.origin)/gone")
                    #expect(gone.code == 1 && gone.output.isEmpty && gone.errors.contains("404"), "\(gone.errors)")
                }
                #expect(server.requests.count { $0.target == "/gone" } == 1)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `the stored response is the answer while its server cannot be reached`() async throws {
            try await with { installation, server in
                let url = "\(server.origin)/a"
                _ = try await installation.sluice("fetch", url)
                await server.stop()
                let stored = try await installation.sluice("fetch", url)
                #expect(stored.code == 0 && stored.output == "quotes", "\(stored.output)\(stored.errors)")
                #expect(stored.errors.contains("this is the stored response"), "\(stored.errors)")
                let asked = try await installation.sluice("fetch", url, "--mode", "network")
                #expect(asked.code == 0 && asked.output == "quotes", "\(asked.output)\(asked.errors)")
                let fresh = try await installation.sluice("fetch", url, "--wait", "fresh")
                #expect(fresh.code == 75 && fresh.output.isEmpty, "\(fresh.output)\(fresh.errors)")
                let unknown = try await installation.sluice("fetch", "\(server.origin)/other", "--wait", "stored")
                #expect(unknown.code == 1 && unknown.errors.contains("nothing is stored"), "\(unknown.errors)")
                let never = try await installation.sluice("fetch", "\(server.origin)/other", "--mode", "stored")
                #expect(never.code == 1 && never.errors.contains("nothing stored"), "\(never.errors)")
            }
        }

        @Test func `stored responses are listed, shown and forgotten`() async throws {
            try await with { installation, server in
                let none = try await installation.sluice("response", "list")
                #expect(none.code == 0 && none.output.isEmpty)
                _ = try await installation.sluice("fetch", "\(server.origin)/a?key=hush")
                _ = try await installation.sluice("fetch", "\(server.origin)/fresh")
                let listed = try await installation.sluice("response", "list")
                #expect(listed.lines.count == 2 && !listed.output.contains("hush"), "\(listed.output)")
                let json = try await installation.sluice("response", "show", "\(server.origin)/fresh", "--json").json()
                #expect(json["status"]?.integer == 200 && json["freshFor"]?.integer ?? 0 > 500, "\(json.text)")
                let forgotten = try await installation.sluice("response", "forget", "\(server.origin)/fresh")
                #expect(forgotten.output == "1\n")
                let gone = try await installation.sluice("response", "show", "\(server.origin)/fresh")
                #expect(gone.code == 66, "\(gone.errors)")
                #expect(try await installation.sluice("response", "forget", "--all").output == "1\n")
            }
        }

        @Test(arguments: [
            (["fetch", "ftp://host/a"], 64, "ftp"), (["fetch", "http://a/", "--unique-key", "x"], 64, "unique"),
            (["fetch", "http://a/", "--header", "Range: bytes=0-"], 65, "cannot be set"),
            (["fetch", "http://a/", "--mode", "stored", "--wait", "fresh"], 64, "never asks"),
            (["response", "forget"], 64, "--all"), (["response", "forget", "http://a/", "--all"], 64, "--all"),
        ])
        func `invalid arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await Installation.with { installation in
                let refused = try await installation.run(program: "\(Installation.bin)/sluice", arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(refused.output.isEmpty)
            }
        }
    }
}
