import Commands
import TestSupport
import Testing

/// Failures of the destination: they are not charged, and all its commands wait.
@Suite struct DestinationFaultTests {
    @Test func `a 507 is the destination's failure`() async throws {
        try await withServer("* * : read; answer 507 header \"Retry-After: 90\"") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            for method in ["PUT", "POST"] {
                let outcome = try await harness.outcome(
                    file: file, to: "\(server.origin)/a", method: method)
                let failure = try #require(outcome.failure)
                #expect(failure.fault == .destination && !failure.ambiguous, "\(failure.reason)")
                #expect(failure.retryAfter == .seconds(90))
            }
        }
    }

    @Test(arguments: [TestAuthority.Validity.expired, .notYet])
    func `a certificate outside its dates is the destination's failure`(
        _ validity: TestAuthority.Validity
    ) async throws {
        let options = CertificateTests.options(
            CertificateTests.root.issue("localhost", validity: validity))
        try await withServer("", options, trusting: CertificateTests.root.certificate) {
            server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let url = "https://localhost:\(server.port)/a"
            let failure = try #require(try await harness.outcome(file: file, to: url).failure)
            #expect(failure.fault == .destination, "\(failure.reason)")
        }
    }

    @Test(arguments: [TestIdentity.Versions.only12, .only13], ["PUT", "POST"])
    func `a demanded client certificate is the destination's failure`(
        _ versions: TestIdentity.Versions, _ method: String
    ) async throws {
        let options = CertificateTests.options(
            CertificateTests.root.issue("localhost"), versions: versions,
            clientRoots: TestAuthority("Client root").certificate)
        try await withServer("", options, trusting: CertificateTests.root.certificate) {
            server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let url = "https://localhost:\(server.port)/a"
            let failure = try #require(
                try await harness.outcome(file: file, to: url, method: method).failure)
            #expect(failure.fault == .destination && !failure.ambiguous, "\(failure.reason)")
        }
    }

    @Test func `three commands redirected to one other origin are a captive portal`() async throws {
        let script =
            "* * : read; answer 302 header \"Location: http://portal.example/login?to={target}\""
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            var faults: [CommandFailure.Fault?] = []
            for number in 1...4 {
                faults.append(
                    try await harness.outcome(file: file, to: "\(server.origin)/\(number)").failure?.fault)
            }
            #expect(faults.suffix(2) == [.destination, .destination], "\(faults)")
        }
    }

    @Test(arguments: ["answer 201", "answer 302 header \"Location: http://other.example/\""])
    func `redirects with another answer between them are not a captive portal`(_ between: String)
        async throws
    {
        let script = """
            * * every 2 : read; \(between)
            * * : read; answer 302 header "Location: http://portal.example/"
            """
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            for number in 1...8 {
                let failure = try await harness.outcome(file: file, to: "\(server.origin)/\(number)")
                    .failure
                #expect(failure?.fault != .destination, "\(failure?.reason ?? "")")
            }
        }
    }

    @Test func `repeated redirects of one command are not a captive portal`() async throws {
        let script = "* * : read; answer 302 header \"Location: http://portal.example/\""
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let id = CommandID()
            for _ in 1...5 {
                let failure = try await harness.outcome(file: file, to: "\(server.origin)/a", id: id)
                    .failure
                #expect(failure?.fault != .destination, "\(failure?.reason ?? "")")
            }
        }
    }
}
