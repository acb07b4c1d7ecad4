import Commands
import Foundation
import HTTPClient
import TestSupport
import Testing

/// Servers that repeat a credential in their answers.
@Suite struct SecretEchoTests {
    private static let secret = "hush-5f3c9a-open-sesame"

    /// How the secret is sent to the server.
    private enum Form {
        case bearer, basic, header

        func credential(_ secret: Secret) -> Credential {
            switch self {
            case .bearer: .bearer(secret)
            case .basic: .basic(user: "me", password: secret)
            case .header: .header(name: "X-Api-Key", value: secret)
            }
        }
    }

    private func check(_ text: String, _ what: String) {
        for form in [
            Self.secret, Data(Self.secret.utf8).base64EncodedString(),
            Data("me:\(Self.secret)".utf8).base64EncodedString(),
        ] {
            #expect(!text.contains(form), "\(what)")
        }
    }

    private func with(
        _ script: String, _ form: Form,
        _ body: (ScriptedServer, UploadHarness, String) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer()
        let directory = try TemporaryDirectory("secrets")
        defer { directory.remove() }
        try await stopping(server) {
            try server.run(script)
            let secret = try directory.file("secret", Array(Self.secret.utf8))
            chmod(secret, 0o600)
            let origin = Destination(scheme: "http", host: "127.0.0.1", port: server.port)
            let harness = try UploadHarness(credentials: [origin: form.credential(.file(secret))], directory: directory)
            try await body(server, harness, try directory.file("a", sample(1000)))
        }
    }

    @Test func `a refusal that repeats a credential is stored without it`() async throws {
        let script = """
            * /bearer : read; answer 403 body "not permitted: {authorization} for {target}"
            * /value : read; answer 403 body "no user has the token \(Self.secret), sorry"
            """
        try await with(script, .bearer) { server, harness, file in
            for path in ["/bearer", "/value"] {
                let failure = try #require(try await harness.outcome(file: file, to: server.origin + path).failure)
                #expect(failure.reason.contains("403"))
                check(failure.reason, failure.reason)
            }
            #expect(server.requests.map { $0["authorization"] } == Array(repeating: "Bearer \(Self.secret)", count: 2))
        }
        try await with(
            "* * : read; answer 403 body \"{authorization} is \(Self.secret)\"",
            .basic
        ) { server, harness, file in
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            check(failure.reason, failure.reason)
        }
        try await with("* * : read; answer 403 body \"{x-api-key}\"", .header) {
            server, harness, file in
            let failure = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").failure)
            check(failure.reason, failure.reason)
        }
    }

    @Test func `a result that repeats a credential is stored without it`() async throws {
        let script = """
            * * : read; answer 201 header "X-Request-Id: {authorization}" header "Location: /a?token=\(Self.secret)" \
            body "{authorization} has sent {target}"
            """
        try await with(script, .bearer) { server, harness, file in
            let result = try #require(try await harness.outcome(file: file, to: "\(server.origin)/a").result)
            #expect(result["status"]?.integer == 201)
            check(result.text, result.text)
            #expect(result["body"]?.string?.contains("has sent /a") == true, "\(result.text)")
        }
    }

    @Test func `a credential in the header of a payload is replaced as well`() async throws {
        try await withServer("* * : read; answer 403 body \"{authorization}\"") { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let header: JSONValue.Member = .init("headers", ["Authorization": .string("Bearer \(Self.secret)")])
            let failure = try await harness.failure(file: file, to: "\(server.origin)/a", extra: [header])
            check(failure.reason, failure.reason)
        }
    }
}
