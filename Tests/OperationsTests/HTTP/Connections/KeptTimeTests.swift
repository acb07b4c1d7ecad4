import Commands
import Operations
import TestSupport
import Testing

/// How long a connection is kept beside what its server says.
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
            // What is tested is time that passes.
            try await Task.sleep(for: .milliseconds(1050))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/b", method: method)
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let used = server.requests.map(\.connection)
            #expect(used.count == 2 && used[0] != used[1], "\(used)")
        }
    }

    /// gunicorn keeps connections for 2 s, many for 5 s, and says nothing of it.
    @Test func `what may be sent only once meets no connection that was idle for a second`() async throws {
        let script = """
            * * idle > 1s : close
            * * : read; answer 201
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a", method: "POST")
            try await Task.sleep(for: .milliseconds(1050))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/b", method: "POST")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let used = server.requests.map(\.connection)
            #expect(used.count == 2 && used[0] != used[1], "\(used)")
        }
    }

    @Test func `a connection that is busy is used on, whatever time its server announces`() async throws {
        try await withServer("* * : read; answer 201 header \"Keep-Alive: timeout=5\"") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            for _ in 1...5 { _ = try await harness.outcome(file: file, to: "\(server.origin)/a", method: "POST") }
            #expect(server.requests.map(\.connection) == [0, 0, 0, 0, 0])
        }
    }
}
