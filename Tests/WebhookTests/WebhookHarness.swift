import Commands
import Foundation
import HTTPClient
import Operations
import Settings
import TestSupport

@testable import Transfers
@testable import Webhook

/// Executes webhooks as a worker does, for one endpoint with one secret unless a test names others.
struct WebhookHarness {
    static let secret = "whsec_c2x1aWNlLXRlc3Qta2V5LW9mLTMyLWJ5dGVzLWxvbmc="

    let server: ScriptedServer
    let directory: TemporaryDirectory

    /// Runs a test with a server that follows a script.
    static func with(_ script: String, _ body: (WebhookHarness) async throws -> Void) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            try server.run(script)
            let directory = try TemporaryDirectory("webhook")
            defer { directory.remove() }
            try await body(WebhookHarness(server: server, directory: directory))
        }
    }

    var origin: Destination { Destination(scheme: "http", host: "127.0.0.1", port: server.port) }

    /// A secret in a file that only its owner may read.
    func secret(_ text: String = Self.secret, _ name: String = "secret", mode: mode_t = 0o600) throws -> Secret {
        let file = try directory.file(name, Array(text.utf8))
        chmod(file, mode)
        return .file(file)
    }

    func endpoint(
        _ secrets: [Secret], named name: String = "billing", timeout: Duration = .seconds(20)
    ) -> WebhookEndpoint {
        WebhookEndpoint(name: name, origin: origin, secrets: secrets, timeout: timeout)
    }

    func operation(
        _ endpoints: [WebhookEndpoint]? = nil, evidence: DestinationEvidence = DestinationEvidence(),
        states: WebhookEndpointStates? = nil
    ) throws -> WebhookOperation {
        WebhookOperation(
            transport: HTTPTransport(configuration: HTTPConfiguration()),
            endpoints: WebhookEndpoints(try endpoints ?? [endpoint([secret()])]), credentials: CredentialStore(),
            evidence: evidence, states: states)
    }

    /// The payload of an event, with further members.
    func payload(_ more: [JSONValue.Member] = []) -> JSONValue {
        .object([.init("url", .string("\(server.origin)/hooks?key=hush")), .init("type", "upload.done")] + more)
    }

    func execution(
        _ payload: JSONValue, claim: Int = 1, retries: Int = 0, id: CommandID = CommandID(),
        createdAt: Timestamp = .now, publisher: @escaping @Sendable (String, JSONValue) -> Void = { _, _ in }
    ) throws -> CommandExecution {
        let attributes = try operation([]).inspect(payload)
        var command = Command(id: id, type: "webhook", destination: attributes.destination, createdAt: createdAt)
        command.status = .sent
        command.idempotent = attributes.idempotent
        command.claim = claim
        command.retries = retries
        return CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], meter: TransferMeter(), publisher: publisher)
    }

    func outcome(of execution: CommandExecution, by operation: WebhookOperation? = nil) async throws
        -> OperationOutcome
    {
        do {
            let operation = try operation ?? self.operation()
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }
}
