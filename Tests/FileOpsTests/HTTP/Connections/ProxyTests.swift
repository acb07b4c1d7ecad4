import Commands
import HTTPClient
import TestSupport
import Testing
import Transfers

/// Proxies, with curl's rules (curl(1), ENVIRONMENT).
@Suite struct ProxyTests {
    /// - Parameters:
    ///   - variables: the environment. PROXY stands for the proxy's address.
    ///   - script: the script of the proxy. SERVER stands for the server's address.
    private func with(
        _ variables: [String: String], _ script: String, _ options: ScriptedServer.Options = .init(),
        _ body: (_ proxy: ScriptedServer, _ server: ScriptedServer, UploadHarness) async throws -> Void
    ) async throws {
        let proxy = try await ScriptedServer()
        let server = try await ScriptedServer(options)
        try await stopping(proxy, server) {
            try proxy.run(script.replacing("SERVER", with: "127.0.0.1:\(server.port)"))
            let variables = variables.mapValues { $0.replacing("PROXY", with: "127.0.0.1:\(proxy.port)") }
            var configuration = HTTPConfiguration()
            configuration.client.proxies = try ProxySettings { variables[$0] }
            let directory = try TemporaryDirectory("proxy")
            defer { directory.remove() }
            let roots = try directory.file("roots.pem", Array(CertificateTests.root.certificate.utf8))
            let harness = try UploadHarness(trustRoots: roots, configuration: configuration, directory: directory)
            try await body(proxy, server, harness)
        }
    }

    @Test func `a proxy for http gets the absolute URL and its password, and no name is looked up`() async throws {
        let script = """
            * * without proxy-authorization "Basic dTpw" : answer 407
            * http://* : forward SERVER
            """
        try await with(["http_proxy": "http://u:p@PROXY"], script) { proxy, server, harness in
            let bytes = sample(300_000)
            let file = try harness.directory.file("a", bytes)
            let outcome = try await harness.outcome(file: file, to: "http://media.invalid/a?b=c")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(proxy.requests.map(\.target) == ["http://media.invalid/a?b=c"])
            let holdsIt = server.holds("/a", bytes)
            #expect(holdsIt)
            #expect(server.requests.map { $0["proxy-authorization"] } == [nil])
        }
    }

    @Test func `https goes through a tunnel with the server's certificate`() async throws {
        let options = CertificateTests.options(CertificateTests.root.issue("media.invalid"))
        try await with(["https_proxy": "http://PROXY"], "CONNECT * : tunnel SERVER", options) {
            proxy, server, harness in
            let bytes = sample(300_000)
            let file = try harness.directory.file("a", bytes)
            let outcome = try await harness.outcome(file: file, to: "https://media.invalid/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(proxy.requests.map { "\($0.method) \($0.target)" } == ["CONNECT media.invalid:443"])
            let holdsIt = server.holds("/a", bytes)
            #expect(holdsIt)
        }
    }

    @Test(arguments: ["127.0.0.1", "*", "127.0.0.0/8"])
    func `hosts in no_proxy are reached without the proxy`(_ exceptions: String) async throws {
        try await with(["http_proxy": "http://PROXY", "no_proxy": exceptions], "* * : answer 502") {
            proxy, server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(outcome.result?["status"]?.integer == 201, "\(outcome)")
            #expect(proxy.connections == 0)
        }
    }

    @Test func `HTTP_PROXY in capitals is ignored, because a CGI request can set it`() async throws {
        try await with(["HTTP_PROXY": "http://PROXY"], "* * : answer 502") { proxy, server, harness in
            let file = try harness.directory.file("a", sample(1000))
            _ = try await harness.outcome(file: file, to: "\(server.origin)/a")
            #expect(proxy.connections == 0 && server.requests.count == 1)
        }
    }

    @Test func `a refusal of a proxy is named and not ambiguous`() async throws {
        let script = "CONNECT * : answer 407 header \"Proxy-Authenticate: Basic realm=a\""
        try await with(["https_proxy": "http://PROXY"], script) { proxy, _, harness in
            let file = try harness.directory.file("a", sample(1000))
            let outcome = try await harness.outcome(file: file, to: "https://media.invalid/a", method: "POST")
            let failure = try #require(outcome.failure)
            #expect(!failure.ambiguous && failure.fault != .command && failure.fault != .final, "\(failure.reason)")
            #expect(failure.reason.contains("proxy") && failure.reason.contains("407"), "\(failure.reason)")
        }
    }
}
