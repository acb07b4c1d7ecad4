import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice request`, from the command line to the answer.
    struct RequestTests {
        private static let script = """
            GET  /missing : answer 404
            POST /lost    : read; close
            POST /form    : read; answer 303 header "Location: /login"
            *    *        : read; answer 200 header "Content-Type: application/json" body "{\\"ok\\":true}"
            """

        private func with(_ body: (Installation, ScriptedServer) async throws -> Void) async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run(Self.script)
                try await Installation.with { installation in
                    _ = try await installation.up()
                    try await body(installation, server)
                }
            }
        }

        @Test func `the answer is printed as it came, or with its status as JSON`() async throws {
            try await with { installation, server in
                let plain = try await installation.sluice(
                    "request", "POST", "\(server.origin)/a", "--json-body", #"{"a":1}"#, "--wait")
                #expect(plain.code == 0 && plain.output == #"{"ok":true}"#, "\(plain.output)\(plain.errors)")
                let json = try await installation.sluice("request", "\(server.origin)/a", "--wait", "--json").json()
                #expect(json["status"] == "success" && json["result"]?["status"]?.integer == 200, "\(json)")
                #expect(json["result"]?["body"]?.string == #"{"ok":true}"#)
            }
        }

        @Test func `a redirect is a success where it is accepted, and is printed with its Location`() async throws {
            try await with { installation, server in
                let request = ["request", "POST", "\(server.origin)/form", "--body", "x", "--wait"]
                func send(_ more: String...) async throws -> Installation.Finished {
                    try await installation.run(program: "\(Installation.bin)/sluice", request + more)
                }
                let refused = try await send()
                #expect(refused.code == 1 && refused.errors.contains("/login"), "\(refused.errors)")
                let accepted = try await send("--accept", "303")
                #expect(accepted.code == 0 && accepted.output.isEmpty, "\(accepted.output)\(accepted.errors)")
                #expect(accepted.errors.contains("303: Location: /login"), "\(accepted.errors)")
            }
        }

        @Test func `without waiting its UUID is printed, and its result is kept`() async throws {
            try await with { installation, server in
                let id = try #require(
                    try await installation.sluice("request", "DELETE", "\(server.origin)/a?key=hush").ids.first)
                _ = try await installation.await(id, .success, in: try installation.store())
                let shown = try await installation.sluice("status", "\(id)", "--json").output
                #expect(shown.contains(#"\"ok\":true"#) || shown.contains(#""ok":true"#), "\(shown)")
                #expect(!shown.contains("hush"), "\(shown)")
            }
        }

        @Test func `a request that fails exits with 1 and its reason, and a lost POST is in doubt`() async throws {
            try await with { installation, server in
                let missing = try await installation.sluice("request", "\(server.origin)/missing", "--wait")
                #expect(missing.code == 1 && missing.output.isEmpty, "\(missing.output)")
                #expect(missing.errors.contains("was answered 404"), "\(missing.errors)")
                let lost = try #require(
                    try await installation.sluice("request", "POST", "\(server.origin)/lost", "--body", "x").ids.first)
                _ = try await installation.await(lost, .inDoubt, in: try installation.store())
                #expect(server.requests.count { $0.target == "/lost" } == 1)
            }
        }

        @Test(arguments: [
            (["host/path"], 64, "is not a URL"), (["GET"], 64, "is not a URL"), (["TRACE", "http://a/b"], 65, "TRACE"),
            (["PUT", "http://a/b", "--body", "x", "--body-file", "y"], 64, "exclude each other"),
            (["PUT", "http://a/b", "--json-body", "{"], 65, "--json-body"),
            (["PUT", "http://a/b", "--body-file", "/no/such/file"], 66, "/no/such/file"),
            (["http://a/b", "--header", "no colon"], 64, "--header"), (["http://a/b", "--accept", "ok"], 65, "accept"),
        ])
        func `invalid arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await Installation.with { installation in
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["request"] + arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(refused.output.isEmpty)
            }
        }
    }
}
