import Commands
import TestSupport
import Testing

/// Refusals that may pass later, or on another connection, are not final.
@Suite struct RefusalTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var answer: String
        var fault: CommandFailure.Fault
        var retryAfter: Duration?

        var testDescription: String { answer }
    }

    @Test(arguments: [
        Case(answer: "423", fault: .command),
        Case(answer: "423 header \"Retry-After: 9\"", fault: .command, retryAfter: .seconds(9)),
        Case(answer: "413 header \"Retry-After: 9\"", fault: .command, retryAfter: .seconds(9)),
        Case(answer: "403 header \"Retry-After: 9\"", fault: .command, retryAfter: .seconds(9)),
        Case(answer: "404 header \"Retry-After: 9\"", fault: .command, retryAfter: .seconds(9)),
        Case(answer: "421", fault: .command),
        Case(answer: "511", fault: .link),
    ])
    func `a refusal that passes is not final`(_ example: Case) async throws {
        try await withServer("* * : read; answer \(example.answer)") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            let failure = try #require(outcome.failure)
            #expect(failure.fault == example.fault, "\(failure.reason)")
            #expect(failure.retryAfter == example.retryAfter)
            #expect(!failure.ambiguous)
            // 511 comes from a network between client and destination (RFC 6585, section 6).
            #expect(failure.isAnswer == (example.answer != "511"))
        }
    }

    /// RFC 9110, section 15.5.20: the client may retry over a different connection.
    @Test(arguments: ["PUT", "POST"])
    func `a misdirected request is sent once more over another connection`(_ method: String) async throws {
        let script = """
            * /a #1 : read; answer 421
            * * : read; answer 201
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.outcome(file: file, to: "\(server.origin)/first", method: method)
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let used = server.requests(to: "/a").map(\.connection)
            #expect(used.count == 2 && used.first != used.last, "\(used)")
        }
    }

    /// A server sends 408 when it closes an idle connection (RFC 9110, section 15.5.9), so it refused
    /// nothing.
    @Test func `a 408 on a kept connection is sent again on a new one, uncharged`() async throws {
        let script = """
            * /a #1 : answer 408 header "Connection: close"; close
            * * : read; answer 201
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.outcome(file: file, to: "\(server.origin)/first")
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let used = server.requests(to: "/a").map(\.connection)
            #expect(used.count == 2 && used.first == 0 && used.last != 0, "\(used)")
        }
    }

    @Test func `a full destination is not the command's failure`() async throws {
        try await withServer("* * : answer 507 header \"Connection: close\" body \"quota\"; close") { server, harness in
            let file = try harness.hollowFile(50_000_000)
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            #expect(failure.fault != .command && failure.fault != .final, "\(failure.fault): \(failure.reason)")
            #expect(failure.reason.contains("507") && !failure.ambiguous, "\(failure.reason)")
            #expect(server.requests.map(\.bytes).reduce(0, +) < 5_000_000)
        }
    }

    @Test func `redirects of everything to one other origin are the destination's failure`() async throws {
        try await withServer("* * : read; answer 302 header \"Location: http://portal.example/login?to={target}\"") {
            server, harness in
            let file = try harness.directory.file("a", sample(1000))
            var failures: [CommandFailure] = []
            for number in 1...4 {
                failures += [try await harness.outcome(file: file, to: "\(server.origin)/\(number)").failure]
                    .compactMap { $0 }
            }
            #expect(failures.count == 4)
            let last = try #require(failures.last)
            #expect(last.fault != .final && last.fault != .command, "\(last.fault): \(last.reason)")
            #expect(last.reason.contains("portal.example"), "\(last.reason)")
        }
    }
}
