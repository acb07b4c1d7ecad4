import Commands
import TestSupport
import Testing

/// How long an idle connection is used.
@Suite struct KeptTimeTests {
    @Test(arguments: ["PUT", "POST"])
    func `a connection is not used beyond the time that its server announces`(_ method: String) async throws {
        let script = """
            * * idle > 1s : reset
            * * : read; answer 201 header "Keep-Alive: timeout=1"
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            // The client closes the connection before the announced time is over.
            try await until("the close of the connection") { descriptors(connectedTo: server.port).isEmpty }
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/b", method: method)
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let used = server.requests.map(\.connection)
            #expect(used.count == 2 && used[0] != used[1], "\(used)")
        }
    }

    /// gunicorn keeps connections for 2 s, and many servers for 5 s, without announcing it.
    @Test func `a POST does not use a connection that was idle for a second`() async throws {
        let script = """
            * * idle > 1s : close
            * /slow : read; wait 1050ms; answer 201
            * * : read; answer 201
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a", method: "POST")
            // The connection is idle while another client gets an answer after more than a second.
            try await withAnotherClient { other in
                _ = try await other.outcome(file: file, to: "\(server.origin)/slow")
            }
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/b", method: "POST")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let used = server.requests.filter { $0.target != "/slow" }.map(\.connection)
            #expect(used.count == 2 && used[0] != used[1], "\(used)")
        }
    }

    @Test func `a busy connection is used again whatever time its server announces`() async throws {
        try await withServer("* * : read; answer 201 header \"Keep-Alive: timeout=5\"") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            for _ in 1...5 { _ = try await harness.outcome(file: file, to: "\(server.origin)/a", method: "POST") }
            #expect(server.requests.map(\.connection) == [0, 0, 0, 0, 0])
        }
    }

    private func withAnotherClient(_ body: (UploadHarness) async throws -> Void) async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        try await body(harness)
    }
}
