import Commands
import TestSupport
import Testing
import Transfers

/// The timeout from the last byte of a request to its final response.
@Suite struct ResponseTimeoutTests {
    @Test func `a server may take ten minutes unless the configuration says otherwise`() {
        #expect(HTTPConfiguration().responseTimeout == .seconds(600))
    }

    @Test(arguments: ["hang", "interim 102; wait 400ms; interim 102; wait 400ms; interim 102; hang"])
    func `a command without a response in time is sent once, charged and ambiguous`(
        _ steps: String
    ) async throws {
        var configuration = HTTPConfiguration()
        configuration.responseTimeout = .seconds(1)
        try await withServer("* * : read; \(steps)", configuration: configuration) { server, harness in
            let file = try harness.directory.file("a", sample(300_000))
            let failure = try #require(
                try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            #expect(failure.fault == .command && failure.ambiguous, "\(failure.reason)")
            #expect(server.requests.count == 1)
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `the response timeout starts after the last byte of the body`() async throws {
        var configuration = HTTPConfiguration()
        configuration.responseTimeout = .milliseconds(500)
        var options = ScriptedServer.Options()
        options.receiveBuffer = 16 << 10
        let script = "* * : read at 400k; answer 201"
        try await withServer(script, options, configuration: configuration) { server, harness in
            let file = try harness.directory.file("a", sample(1_400_000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
        }
    }
}
