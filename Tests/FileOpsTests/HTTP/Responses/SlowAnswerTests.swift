import Commands
import TestSupport
import Testing

/// Servers that are slow before the response, within its head or within its body.
@Suite(.enabled(if: runsSlowTests, "slow")) struct SlowAnswerTests {
    @Test(arguments: ["PUT", "POST"])
    func `a server that works after the last byte gets the file only once`(_ method: String) async throws {
        try await withServer("* * : read; wait 4s; answer 201", idleTimeout: .seconds(1)) { server, harness in
            let file = try harness.directory.file("a", sample(300_000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `interim responses keep a request alive and do not end it`() async throws {
        let script =
            "* * : read; interim 102; wait 1s; interim 102; wait 1s; interim 103 header \"Link: </a>\"; answer 201"
        try await withServer(script, idleTimeout: .milliseconds(600)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a question has as much time for its answer as a request`() async throws {
        let script = """
            PUT * : read; answer 201
            HEAD * : wait 2s; answer 200 length 1048576
            """
        try await withServer(script, idleTimeout: .milliseconds(500)) { server, harness in
            let file = try harness.directory.file("a", sample(1 << 20))
            let execution = try harness.execution(
                file: file, to: "\(server.origin)/a", extra: [.init("removeSource", true)])
            let result = try await harness.run(execution.execution)
            #expect(result["sourceRemoved"]?.bool == true, "\(result)")
            #expect(server.requests.map(\.method) == ["PUT", "HEAD"])
        }
        let options = "OPTIONS * : wait 2s; answer 200 header \"Allow: PUT\"\nPUT * : read; answer 201"
        try await withServer(options, idleTimeout: .milliseconds(500)) { server, harness in
            let file = try harness.directory.file("a", sample(1 << 20))
            _ = try await RepeatedUpload(harness, file: file, to: "\(server.origin)/in/", nil).run()
            #expect(server.requests.map(\.method) == ["OPTIONS", "PUT"])
        }
    }

    /// The request is complete and the final head says success. The rest of the response cannot change that.
    @Test(arguments: [
        "body 1000 drip body 1 every 500ms", "chunked body 1000 drip body 1 every 500ms",
        "length none body 1000 drip body 1 every 500ms", "length 1000 body 10",
    ])
    func `a response body that is slow or never ends does not delay success`(_ parts: String) async throws {
        try await withServer("* * : read; answer 201 \(parts); hang", idleTimeout: .seconds(2)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a refusal whose body never ends keeps its status`() async throws {
        let script = "* * : read; answer 422 body 1000 drip body 1 every 500ms"
        try await withServer(script, idleTimeout: .seconds(2)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try await harness.outcome(file: file, to: "\(server.origin)/a").failure
            #expect(failure?.fault == .final && failure?.reason.contains("422") == true, "\(failure?.reason ?? "")")
            #expect(failure?.ambiguous == false)
        }
    }

    @Test func `a slow response head is bounded in time`() async throws {
        let script = "* * : read; answer 201 field 1k drip head 1 every 500ms"
        try await withServer(script, idleTimeout: .seconds(2)) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try await harness.outcome(file: file, to: "\(server.origin)/a").failure
            #expect(failure?.ambiguous == true, "\(failure?.reason ?? "success")")
            #expect(server.requests.count == 1)
        }
    }
}
