import Commands
import Operations
import TestSupport
import Testing

/// Servers that need time: before the response, within its head, within its body.
@Suite(.enabled(if: runsSlowTests, "slow")) struct SlowAnswerTests {
    @Test(arguments: ["PUT", "POST"])
    func `a server that works after the last byte gets the file once`(_ method: String) async throws {
        try await withServer("* * : read; wait 4s; answer 201", idleTimeout: .seconds(1)) { server, harness in
            let file = try harness.directory.file("a", sample(300_000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `interim responses keep a request alive and are not its answer`() async throws {
        let script =
            "* * : read; interim 102; wait 1s; interim 102; wait 1s; interim 103 header \"Link: </a>\"; answer 201"
        try await withServer(script, idleTimeout: .milliseconds(600)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    /// Everything is sent and the final head says success: nothing that follows can change that.
    @Test(arguments: [
        "body 1000 drip body 1 every 500ms", "chunked body 1000 drip body 1 every 500ms",
        "length none body 1000 drip body 1 every 500ms", "length 1000 body 10",
    ])
    func `a body that drips or never ends does not hold back success`(_ parts: String) async throws {
        try await withServer("* * : read; answer 201 \(parts); hang", idleTimeout: .seconds(2)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `the status of a refusal holds though its body never ends`() async throws {
        let script = "* * : read; answer 422 body 1000 drip body 1 every 500ms"
        try await withServer(script, idleTimeout: .seconds(2)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try await harness.outcome(file: file, to: "\(server.origin)/a").failure
            #expect(failure?.fault == .final && failure?.reason.contains("422") == true, "\(failure?.reason ?? "")")
            #expect(failure?.ambiguous == false)
        }
    }

    @Test func `a head that drips ends within a bounded time`() async throws {
        let script = "* * : read; answer 201 field 1k drip head 1 every 500ms"
        try await withServer(script, idleTimeout: .seconds(2)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try await harness.outcome(file: file, to: "\(server.origin)/a").failure
            #expect(failure?.ambiguous == true, "\(failure?.reason ?? "success")")
            #expect(server.requests.count == 1)
        }
    }
}
