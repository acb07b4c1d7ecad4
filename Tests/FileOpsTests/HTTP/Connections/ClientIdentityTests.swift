import Commands
import HTTPClient
import TestSupport
import Testing
import Transfers

/// Client certificates and trusted certificates, by destination.
@Suite struct ClientIdentityTests {
    @Test(
        .enabled(if: runsSlowTests, "takes 10 s"), arguments: [TestIdentity.Versions.only12, .only13],
        ["PUT", "POST"])
    func `a configured client certificate is shown to the server that demands one`(
        _ versions: TestIdentity.Versions, _ method: String
    ) async throws {
        let root = CertificateTests.root
        let clients = TestAuthority("Client root")
        let identity = clients.authority("Client issuer").issue("client")
        var options = CertificateTests.options(
            root.issue("localhost"), versions: versions, clientRoots: clients.certificate)
        options.port = try freePort()
        let directory = try TemporaryDirectory("identity")
        defer { directory.remove() }
        let origin = try #require(
            HTTPOrigin(Destination(scheme: "https", host: "localhost", port: options.port)))
        var rule = TLSSettings.Rule()
        rule.trustRootsFiles = [try directory.file("roots.pem", Array(root.certificate.utf8))]
        rule.identity = .init(
            certificateFile: try directory.file("client.pem", Array(identity.certificate.utf8)),
            keyFile: try directory.file("client.key", Array(identity.key.utf8)))
        var configuration = HTTPConfiguration()
        configuration.client.tls[origin] = rule
        let bytes = sample(300_000)
        try await withServer("", options, configuration: configuration) { server, harness in
            let file = try harness.directory.file("a", bytes)
            let url = "https://localhost:\(server.port)/a"
            let outcome = try await harness.outcome(file: file, to: url, method: method)
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            let holdsIt = server.holds("/a", bytes)
            #expect(holdsIt)
        }
    }
}
