import Commands
import TestSupport
import Testing

/// Response heads that are larger than usual.
@Suite struct LargeHeadTests {
    @Test(arguments: ["fields 300", "fields 3000", "field 40k"], ["PUT", "POST"])
    func `the status line decides, however many fields follow`(_ parts: String, _ method: String) async throws {
        try await withServer("* * : read; answer 201 \(parts)") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ["fields 20000", "field 100k", "field 2M"], ["PUT", "POST"])
    func `a response head above the limit ends the command after one request`(
        _ parts: String, _ method: String
    ) async throws {
        try await withServer("* * : read; answer 201 \(parts)") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a", method: method)
            #expect(outcome.result?["status"]?.integer == 201 || outcome.failure?.fault == .final, "\(outcome)")
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ["fields 300", "field 100k"])
    func `the status line of a refusal decides whatever follows`(_ parts: String) async throws {
        try await withServer("* * : read; answer 422 \(parts)") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            #expect(failure.fault == .final && !failure.ambiguous, "\(failure.reason)")
            #expect(failure.reason.contains("422"), "\(failure.reason)")
        }
    }
}
