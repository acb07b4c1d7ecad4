import Commands
import Operations
import TestSupport
import Testing

/// Whose failure a 503 or a reset is, beside other commands of the same destination.
@Suite struct UnavailableTests {
    @Test(arguments: ["PUT", "POST"])
    func `a 503 is the link's until the destination answers another command`(_ method: String) async throws {
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
    func `a refusal of another command is an answer, beside which a 503 is charged`(_ answer: String) async throws {
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

    /// As nginx does for CORS in front of a server that is down.
    @Test func `a gateway that answers OPTIONS before a server that is down charges no command`() async throws {
        let script = """
            OPTIONS * : answer 204
            *       * : read; answer 503
            """
        try await withServer(script) { server, harness in
            let file = try harness.hollowFile(2 << 20)
            for number in 1...4 {
                // Without “protocol”, so that the destination is asked whether it speaks tus.
                let facts = try harness.operation.inspect([
                    "file": .string(file), "to": .string("\(server.origin)/\(number)"),
                ])
                let failure = try await harness.outcome(of: UploadHarness.execution(facts).execution).failure
                #expect(failure?.fault == .link, "\(failure?.reason ?? "")")
                #expect(server.requests(to: "/\(number)").map(\.method) == ["OPTIONS", "PUT"])
            }
        }
    }

    @Test func `a question that is answered 503 keeps the file back, charged or not`() async throws {
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
                // Its own refusal is no answer to another command.
                _ = try await harness.outcome(file: small, to: "\(server.origin)/c", id: id)
                let failure = try #require(try await harness.outcome(file: large, to: url, id: id).failure)
                #expect(failure.fault == (isCharged ? .command : .link), "\(failure.reason)")
                #expect(!failure.ambiguous)
                #expect(server.requests(to: "/b").map(\.method) == ["HEAD"])
            }
        }
    }

    /// A destination that restarts has answered others moments before. `CommandFailure.judged` decides, in the executor.
    @Test func `a reset stays undecided, whatever the destination has answered`() async throws {
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
