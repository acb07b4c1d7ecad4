import Commands
import TestSupport
import Testing

/// 401 with a challenge that this client cannot answer (RFC 9110, section 11.6.1).
@Suite struct ChallengeTests {
    @Test(arguments: [
        "Digest realm=\\\"media\\\", nonce=\\\"5f\\\", qop=\\\"auth\\\"", "Negotiate", "NTLM",
    ])
    func `the reason names the challenge`(_ challenge: String) async throws {
        try await withServer("* * : read; answer 401 header \"WWW-Authenticate: \(challenge)\"") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            let scheme = String(challenge.prefix { $0 != " " })
            #expect(failure.fault == .credential, "\(failure.reason)")
            #expect(failure.reason.contains(scheme), "\(failure.reason)")
            #expect(!failure.reason.contains("nonce"), "\(failure.reason)")
        }
    }

    @Test func `every challenge of a list is named`() async throws {
        let script = """
            * * : read; answer 401 header "WWW-Authenticate: Negotiate" \
            header "WWW-Authenticate: Digest realm=a, nonce=b"
            """
        try await withServer(script, token: "hush") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            #expect(failure.reason.contains("Negotiate") && failure.reason.contains("Digest"), "\(failure.reason)")
        }
    }

    @Test func `a command after a refusal sends a query before a large file`() async throws {
        let script = "* * : read; answer 401 header \"WWW-Authenticate: Digest realm=a, nonce=b\""
        try await withServer(script) { server, harness in
            let file = try harness.hollowFile(20_000_000)
            for number in 1...3 {
                let failure = try await harness.outcome(file: file, to: "\(server.origin)/\(number)").failure
                #expect(failure?.fault == .credential, "\(failure?.reason ?? "success")")
            }
            let later = server.requests.filter { $0.target != "/1" }
            #expect(!later.isEmpty && later.map(\.bytes).reduce(0, +) < 1_000_000, "\(later.map(\.bytes))")
        }
    }
}
