import Commands
import Foundation
import HTTPClient
import TestSupport
import Transfers

/// Runs a test against a server that follows a script, and removes both afterwards.
/// - Parameters:
///   - options: the options of the server.
///   - roots: PEM of certificates that the client trusts in addition to the system's.
///   - token: the bearer token for the server.
func withServer(
    _ script: String = "", _ options: ScriptedServer.Options = .init(), trusting roots: String? = nil,
    idleTimeout: Duration = .seconds(30), token: String? = nil, configuration: HTTPConfiguration = HTTPConfiguration(),
    _ body: (ScriptedServer, UploadHarness) async throws -> Void
) async throws {
    let server = try await ScriptedServer(options)
    try await stopping(server) {
        try server.run(script)
        let directory = try TemporaryDirectory("answers")
        defer { directory.remove() }
        var credentials: [Destination: Credential] = [:]
        if let token {
            let file = try directory.file("token", Array(token.utf8))
            chmod(file, 0o600)
            for host in [options.host, "localhost"] {
                let scheme = options.identity == nil ? "http" : "https"
                credentials[Destination(scheme: scheme, host: host, port: server.port)] = .bearer(.file(file))
            }
        }
        let trustRoots = try roots.map { try directory.file("roots.pem", Array($0.utf8)) }
        let harness = try UploadHarness(
            idleTimeout: idleTimeout, trustRoots: trustRoots, credentials: credentials, configuration: configuration,
            directory: directory)
        try await body(server, harness)
    }
}
