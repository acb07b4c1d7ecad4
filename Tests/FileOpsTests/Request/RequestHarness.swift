import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport

@testable import FileOps
@testable import Transfers

/// Executes requests as a worker does.
struct RequestHarness {
    let server: ScriptedServer
    let directory: TemporaryDirectory
    private let operation: RequestOperation

    init(
        _ server: ScriptedServer, credentials: [Destination: Credential], directory: TemporaryDirectory,
        configuration: HTTPConfiguration = HTTPConfiguration()
    ) {
        self.server = server
        self.directory = directory
        var operation = RequestOperation(
            transport: HTTPTransport(configuration: configuration), credentials: CredentialStore(credentials),
            evidence: DestinationEvidence())
        operation.confinement = configuration.confinement
        self.operation = operation
    }

    /// The same server, with an operation of another configuration, without credentials.
    func using(_ configuration: HTTPConfiguration) -> RequestHarness {
        RequestHarness(server, credentials: [:], directory: directory, configuration: configuration)
    }

    func confined(_ confinement: Confinement) -> RequestHarness {
        var configuration = HTTPConfiguration()
        configuration.confinement = confinement
        return using(configuration)
    }

    /// Runs a test with a server that follows a script.
    /// - Parameter token: the bearer token for the server.
    static func with(
        _ script: String, token: String? = nil, _ body: (RequestHarness) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            try server.run(script)
            let directory = try TemporaryDirectory("request")
            defer { directory.remove() }
            var credentials: [Destination: Credential] = [:]
            if let token {
                let file = try directory.file("token", Array(token.utf8))
                chmod(file, 0o600)
                credentials[Destination(scheme: "http", host: "127.0.0.1", port: server.port)] = .bearer(.file(file))
            }
            try await body(RequestHarness(server, credentials: credentials, directory: directory))
        }
    }

    func url(_ path: String) -> JSONValue { .string("\(server.origin)\(path)") }

    /// - Parameter crashes: nil: an earlier execution, if there was one, has died with its worker.
    func execution(
        _ payload: JSONValue, claim: Int = 1, crashes: Int? = nil, checkpoint: [UInt8]? = nil,
        saver: @escaping @Sendable ([UInt8]) async throws -> Void = { _ in }
    ) throws -> CommandExecution {
        let attributes = try operation.inspect(payload)
        var command = Command(id: CommandID(), type: "request", destination: attributes.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = attributes.idempotent
        command.claim = claim
        command.crashes = crashes ?? (claim > 1 ? 1 : 0)
        return CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], checkpoint: checkpoint,
            meter: TransferMeter(), saver: saver)
    }

    func outcome(_ payload: JSONValue, claim: Int = 1) async throws -> OperationOutcome {
        try await outcome(of: try execution(payload, claim: claim))
    }

    func outcome(of execution: CommandExecution) async throws -> OperationOutcome {
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }
}
