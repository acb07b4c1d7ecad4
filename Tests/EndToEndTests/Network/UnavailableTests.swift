import Commands
import TestSupport
import Testing

extension EndToEndTests {
    /// URLs that answer 503, beside others of the same server. Other refusals of single URLs (429, 500, 502, 504, and
    /// 503 of S3 and of webhooks) take the same way, and are unit tests.
    @Suite(.enabled(if: runsSlowTests, "slow")) struct UnavailableTests {
        @Test func `three URLs that answer 503 do not delay puts to other URLs of their server`() async throws {
            var options = ScriptedServer.Options()
            options.hashes = false
            let server = try await ScriptedServer(options)
            try server.run("* /bad/* : read; answer 503\n* * : read; answer 201")
            do {
                try await Installation.with { installation in
                    _ = try await installation.coordinator()
                    _ = try await installation.worker()
                    let store = try installation.store()
                    let file = try installation.directory.file("a.bin", [UInt8](repeating: 7, count: 1000))
                    func put(_ path: String) async throws -> CommandID {
                        try await installation.sluice(
                            "put", file, "--to", "http://127.0.0.1:\(server.port)\(path)", "--protocol", "put"
                        ).ids[0]
                    }
                    for number in 0..<12 { _ = try await put("/bad/\(number % 3)") }
                    try await until("answers of all three") {
                        Set(server.requests.filter { $0.answered == 503 }.map(\.target)).count == 3
                    }
                    var good: [CommandID] = []
                    for number in 0..<4 { good.append(try await put("/good/\(number)")) }
                    let beside = try await installation.sluice("submit", "noop").ids[0]
                    let end = try await installation.await(beside, .success, in: store).updatedAt
                    for id in good {
                        let command = try await installation.await(id, .success, in: store)
                        // 16 s while 503 took the link offline.
                        #expect((command.updatedAt - end).seconds < 4 && command.retries == 0)
                    }
                    let links = try await installation.sluice("network", "--json").output
                    #expect(!links.contains(#""level":"offline""#), "\(links)")
                }
            } catch {
                await server.stop()
                throw error
            }
            await server.stop()
        }
    }
}
