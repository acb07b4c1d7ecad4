import Commands
import Operations
import TestSupport
import Testing

/// Response heads that are not quite HTTP. The request was carried out, so its status counts.
@Suite struct CarelessHeadTests {
    @Test(
        arguments: [
            "HTTP/1.1 201 Created\\nContent-Length: 0\\nLocation: /made\\n\\n",
            "HTTP/1.1 201 Created\\r\\nContent-Length: 0\\r\\nLocation: /made\\r\\nContent-Length: 0\\r\\n\\r\\n",
            "HTTP/1.1 201 Created\\r\\nContent-Length: 0, 0\\r\\nLocation: /made\\r\\n\\r\\n",
            "HTTP/1.1 100 Continue\\n\\nHTTP/1.1 201 Created\\nContent-Length: 0\\nLocation: /made\\n\\n",
        ], ["PUT", "POST"])
    func `a head that can be mended is read with its fields`(_ head: String, _ method: String) async throws {
        try await withServer("* * : read; send \"\(head)\"") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let first = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            #expect(first.result?["status"] == 201, "\(first)")
            #expect(first.result?["headers"]?["location"] == "/made", "\(first)")
            let second = try await harness.outcome(file: file, to: "\(server.origin)/b", method: method)
            #expect(second.result?["status"] == 201, "\(second)")
            #expect(server.requests.count == 2 && Set(server.requests.map(\.connection)).count == 1)
        }
    }

    @Test(
        arguments: [
            "Content-Length: 0\\r\\nContent-Length: 1", "Content-Length: x",
            "Content-Length: 0\\r\\nTransfer-Encoding: chunked",
        ], ["PUT", "POST"])
    func `the status decides where the rest of a head cannot be read`(_ fields: String, _ method: String) async throws {
        let script = "* * : read; send \"HTTP/1.1 201 Created\\r\\n\(fields)\\r\\n\\r\\n\"; close"
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            #expect(outcome.result?["status"] == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `the body of an answer whose length is not known is not taken for whole`() async throws {
        let script = """
            * * : read; send "HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\nContent-Length: 5\\r\\n\\r\\nabcd"; close
            """
        try await RequestHarness.with(script) { harness in
            let outcome = try await harness.outcome(["url": harness.url("/a")])
            #expect(outcome.failure?.fault == .command, "\(outcome)")
        }
    }

    @Test func `bytes of another protocol are refused at once, however short they are`() async throws {
        try await withServer("* * : read; send \"SSH-2.0-x\"; hang") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.failure?.reason.contains("not HTTP") == true, "\(outcome)")
        }
    }

    /// The kernel's counters are read four times a second, and the failure comes earlier.
    @Test func `an exchange that fails at once tells the bytes that its peer has acknowledged`() async throws {
        try await withServer("* * : read; send \"SSH-2.0-x\"; hang") { server, harness in
            let file = try harness.directory.file("a", sample(1_000_000))
            let (execution, meter) = try harness.execution(file: file, to: "\(server.origin)/a")
            _ = try await harness.failure(of: execution)
            #expect(meter.reading.offset == 1_000_000)
        }
    }

    @Test(arguments: [("413 Content Too Large", "413 Content Too Large"), ("403 Quota used up", "403 Quota used up")])
    func `a reason has the server's words`(_ line: String, _ words: String) async throws {
        try await withServer("* * : read; send \"HTTP/1.1 \(line)\\r\\nContent-Length: 0\\r\\n\\r\\n\"") {
            server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            #expect(failure.reason.hasSuffix("was answered \(words)"), "\(failure.reason)")
        }
    }
}
