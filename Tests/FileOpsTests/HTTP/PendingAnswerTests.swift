import Commands
import TestSupport
import Testing

/// Answers that are still being made: 202 with Retry-After.
@Suite struct PendingAnswerTests {
    @Test func `a download waits for an export, and then has it`() async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            server.handle(
                by: ListOrigin { request in
                    request.number < 3
                        ? .answer(202, headers: ["Retry-After": "7"], body: "later") : .answer(200, body: "export")
                })
            try await DownloadHarness.withDirectory { directory in
                let harness = try DownloadHarness(
                    .object([
                        .init("url", .string("\(server.origin)/export")), .init("to", .string("\(directory.path)/x")),
                    ]), in: directory)
                for _ in 0..<2 {
                    let failure = try #require(try await harness.execute().failure)
                    #expect(failure.isPending && failure.retryAfter == .seconds(7), "\(failure)")
                }
                #expect(try await harness.execute().result != nil)
                #expect(contents(of: "\(directory.path)/x") == Array("export".utf8))
            }
        }
    }

    @Test func `a 403 of a rate limit waits until it is reset, and slows its destination`() async throws {
        let fields = #"header "X-RateLimit-Remaining: 0" header "X-RateLimit-Reset: 30""#
        try await withServer("* * : read; answer 403 \(fields)") { server, harness in
            let file = try harness.directory.file("a", sample(10))
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            #expect(failure.fault == .command && failure.isPushback, "\(failure)")
            #expect(failure.retryAfter == .seconds(30))
        }
    }
}
