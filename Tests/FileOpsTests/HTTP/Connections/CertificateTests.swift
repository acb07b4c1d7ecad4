import Commands
import TestSupport
import Testing

/// Servers with invalid certificates, or that demand a client certificate.
@Suite struct CertificateTests {
    static let root = TestAuthority("Test root")

    static func options(
        _ identity: TestIdentity, versions: TestIdentity.Versions = .modern, clientRoots: String? = nil
    ) -> ScriptedServer.Options {
        var options = ScriptedServer.Options()
        options.identity = identity
        options.versions = versions
        options.clientRoots = clientRoots
        return options
    }

    @Test(arguments: [
        (TestAuthority.Validity.expired, "expired", "2001-12-31"), (.notYet, "not yet valid", "2100-01-01"),
    ])
    func `the reason of an invalid certificate states its dates and the clock`(
        _ validity: TestAuthority.Validity, _ words: String, _ date: String
    ) async throws {
        let identity = Self.root.issue("localhost", validity: validity)
        try await withServer("", Self.options(identity), trusting: Self.root.certificate) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            for method in ["PUT", "POST"] {
                let url = "https://localhost:\(server.port)/a"
                let failure = try #require(
                    try await harness.outcome(file: file, to: url, method: method).failure)
                #expect(failure.fault != .final && failure.fault != .command, "\(failure.fault): \(failure.reason)")
                #expect(!failure.ambiguous)
                #expect(failure.reason.contains(words) && failure.reason.contains(date), "\(failure.reason)")
                // The date of this host.
                #expect(failure.reason.contains(Timestamp.now.description.prefix(10)), "\(failure.reason)")
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `the reason distinguishes a wrong name from an unknown issuer`() async throws {
        for (identity, words) in [
            (Self.root.authority("Issuer").issue("other.example"), "another host"),
            (TestAuthority("Other root").authority("Issuer").issue("localhost"), "not trusted"),
            (TestIdentity.selfSigned, "not trusted"),
        ] {
            try await withServer("", Self.options(identity), trusting: Self.root.certificate) { server, harness in
                let file = try harness.directory.file("a", sample(1000))
                let failure = try #require(
                    try await harness.outcome(file: file, to: "https://localhost:\(server.port)/a").failure)
                #expect(!failure.ambiguous && failure.reason.contains(words), "\(failure.reason)")
                #expect(server.requests.isEmpty)
            }
        }
    }

    /// With TLS 1.3 the refusal comes after the handshake, at the first read.
    @Test(arguments: [TestIdentity.Versions.only12, .only13], ["PUT", "POST"])
    func `a demanded client certificate is the destination's failure, and nothing was delivered`(
        _ versions: TestIdentity.Versions, _ method: String
    ) async throws {
        let options = Self.options(
            Self.root.issue("localhost"), versions: versions, clientRoots: TestAuthority("Client root").certificate)
        try await withServer("", options, trusting: Self.root.certificate) { server, harness in
            let file = try harness.directory.file("a", sample(300_000))
            let url = "https://localhost:\(server.port)/a"
            let failure = try #require(try await harness.outcome(file: file, to: url, method: method).failure)
            #expect(!failure.ambiguous, "\(failure.reason)")
            #expect(
                ![.final, .command, .reset, .link].contains(failure.fault), "\(failure.fault): \(failure.reason)")
            #expect(failure.reason.contains("client certificate"), "\(failure.reason)")
            #expect(!failure.reason.contains(".swift") && !failure.reason.contains(".cc"), "\(failure.reason)")
            #expect(server.requests.isEmpty)
        }
    }

    /// RFC 8996.
    @Test func `no request is sent over TLS 1.1`() async throws {
        let options = Self.options(Self.root.issue("localhost"), versions: .obsolete)
        try await withServer("", options, trusting: Self.root.certificate, token: "hush") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "https://localhost:\(server.port)/a")
            #expect(server.requests.isEmpty)
            let failure = try #require(outcome.failure)
            #expect(!failure.ambiguous && failure.reason.contains("TLS"), "\(failure.reason)")
        }
    }
}
