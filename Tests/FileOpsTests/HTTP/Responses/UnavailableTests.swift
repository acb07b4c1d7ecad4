import Commands
import FileOps
import TestSupport
import Testing

/// The fault of a 503 or a reset, with other commands at the same destination.
@Suite struct UnavailableTests {
    @Test(arguments: ["PUT", "POST"])
    func `a 503 is the link's failure until the destination answers another command`(_ method: String) async throws {
        let script = """
            * /b : read; answer 503 header "Retry-After: 9" body "busy"
            * /a : read; answer 201
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let (url, id) = ("\(server.origin)/b", CommandID())
            let first = try #require(try await harness.outcome(file: file, to: url, method: method, id: id).failure)
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a")
            let second = try #require(try await harness.outcome(file: file, to: url, method: method, id: id).failure)
            #expect([first.fault, second.fault] == [.link, .command], "\(second.reason)")
            for failure in [first, second] {
                #expect(failure.isPushback && failure.isAnswer && !failure.ambiguous)
                #expect(failure.retryAfter == .seconds(9))
                #expect(failure.reason.contains("503") && failure.reason.contains("busy"), "\(failure.reason)")
            }
        }
    }

    @Test(arguments: ["400", "404", "500", "507"])
    func `a refusal of another command counts as an answer, so a 503 is charged`(_ answer: String) async throws {
        let script = """
            * /b : read; answer 503
            * /a : read; answer \(answer)
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a")
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/b").failure)
            #expect(failure.fault == .command, "\(failure.reason)")
        }
    }

    @Test(arguments: [429, 500, 502, 503, 504])
    func `only 503 is marked as unavailable`(_ status: Int) async throws {
        try await withServer("* * : read; answer \(status)") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try await harness.outcome(file: file, to: "\(server.origin)/a").failure
            #expect(failure?.isUnavailable == (status == 503), "\(failure?.reason ?? "")")
        }
    }

    @Test func `a destination that answers 503 to everything charges no command`() async throws {
        try await withServer("* * : read; answer 503") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let ids = (1...4).map { _ in CommandID() }
            for id in ids + ids {
                let failure = try await harness.outcome(file: file, to: "\(server.origin)/\(id)", id: id).failure
                #expect(failure?.fault == .link, "\(failure?.reason ?? "")")
            }
        }
    }

    /// nginx answers OPTIONS itself for CORS, even if the server behind it is down.
    @Test func `a gateway that answers OPTIONS for a server that is down does not make 503 charged`() async throws {
        let script = """
            OPTIONS * : answer 204
            *       * : read; answer 503
            """
        try await withServer(script) { server, harness in
            let file = try harness.hollowFile(2 << 20)
            for number in 1...4 {
                // Without “protocol”, so that tus support is queried.
                let attributes = try harness.operation.inspect([
                    "file": .string(file), "to": .string("\(server.origin)/\(number)"),
                ])
                let failure = try await harness.outcome(of: UploadHarness.execution(attributes).execution).failure
                #expect(failure?.fault == .link, "\(failure?.reason ?? "")")
                #expect(server.requests(to: "/\(number)").map(\.method) == ["OPTIONS", "PUT"])
            }
        }
    }

    @Test func `a query that is answered 503 prevents the upload, charged or not`() async throws {
        let script = """
            PUT  /a : read; answer 201
            PUT  /c : read; answer 507
            *    /b : read; answer 503
            """
        for isCharged in [false, true] {
            try await withServer(script) { server, harness in
                let small = try harness.directory.file("a", sample(1000))
                let large = try harness.hollowFile(1_000_000)
                let (id, url) = (CommandID(), "\(server.origin)/b")
                if isCharged { _ = try await harness.outcome(file: small, to: "\(server.origin)/a") }
                // A refusal of the same command is not an answer to another command.
                _ = try await harness.outcome(file: small, to: "\(server.origin)/c", id: id)
                let failure = try #require(try await harness.outcome(file: large, to: url, id: id).failure)
                #expect(failure.fault == (isCharged ? .command : .link), "\(failure.reason)")
                #expect(!failure.ambiguous)
                #expect(server.requests(to: "/b").map(\.method) == ["HEAD"])
            }
        }
    }

    /// A destination that restarts has answered other commands moments before. The executor decides by
    /// `CommandFailure.judged`.
    @Test func `a reset stays undecided whatever the destination has answered`() async throws {
        let script = """
            * /b : read; reset
            * /a : read; answer 201
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let url = "\(server.origin)/b"
            let first = try #require(try await harness.outcome(file: file, to: url).failure)
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a")
            let second = try #require(try await harness.outcome(file: file, to: url).failure)
            for failure in [first, second] {
                #expect(failure.fault == .reset && !failure.isPushback, "\(failure.reason)")
            }
        }
    }
}
