import Commands
import TestSupport
import Testing
import Transfers

/// `Expect: 100-continue` (RFC 9110, section 10.1.1), where a destination is configured for it.
@Suite struct ExpectContinueTests {
    private func with(_ script: String, _ body: (ScriptedServer, UploadHarness) async throws -> Void)
        async throws
    {
        var options = ScriptedServer.Options()
        options.port = try freePort()
        var configuration = HTTPConfiguration()
        configuration.expectContinue = [
            Destination(scheme: "http", host: "127.0.0.1", port: options.port)
        ]
        try await withServer(script, options, configuration: configuration, body)
    }

    @Test func `a refusal before the body prevents sending the body`() async throws {
        try await with("* * : answer 413 header \"Connection: close\"; discard 100ms; close") {
            server, harness in
            let file = try harness.hollowFile(50_000_000)
            let failure = try #require(
                try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            #expect(failure.fault == .final && failure.reason.contains("413"), "\(failure.reason)")
            #expect(server.requests.map { $0["expect"]?.lowercased() } == ["100-continue"])
            #expect(server.requests.map(\.bytes) == [0])
        }
    }

    @Test func `a server that sends 100 Continue gets the body`() async throws {
        try await with("* * : read; answer 201") { server, harness in
            let bytes = sample(300_000)
            let file = try harness.directory.file("a", bytes)
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a")
            let holdsIt = server.holds("/a", bytes)
            #expect(holdsIt)
        }
    }

    /// Only 100 Continue meets the expectation, and the wait for it is limited.
    @Test func `a server that never answers the expectation gets the body after a second`()
        async throws
    {
        try await with("* * : interim 103; read; answer 201") { server, harness in
            let bytes = sample(300_000)
            let file = try harness.directory.file("a", bytes)
            let outcome = try await harness.outcome(
                file: file, to: "\(server.origin)/a", within: .seconds(10))
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let holdsIt = server.holds("/a", bytes)
            #expect(holdsIt)
        }
    }
}
