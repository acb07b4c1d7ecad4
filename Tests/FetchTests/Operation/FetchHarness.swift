import Commands
import Foundation
import HTTPClient
import Operations
import Synchronization
import TestSupport

@testable import Fetch
@testable import FileOps
@testable import Transfers

/// Executes fetches as a worker does, and reads the store as a reader does.
struct FetchHarness {
    let server: ScriptedServer
    let directory: TemporaryDirectory
    private let operation: FetchOperation
    private let request: RequestOperation
    private let published = EventLog()

    /// The events of all executions, in their order.
    private final class EventLog: Sendable {
        let events = Mutex<[(topic: String, body: JSONValue)]>([])
    }

    var events: [(topic: String, body: JSONValue)] { published.events.withLock { $0 } }

    /// Runs a test with a server that follows a script.
    static func with(_ script: String, _ body: (FetchHarness) async throws -> Void) async throws {
        try await with({ server in try server.run(script) }, body)
    }

    /// Runs a test with a server that always gives one answer.
    static func with(_ answer: Behaviour, _ body: (FetchHarness) async throws -> Void) async throws {
        try await with({ server in server.handle(by: ListOrigin { _ in answer }) }, body)
    }

    private static func with(
        _ prepare: (ScriptedServer) throws -> Void, _ body: (FetchHarness) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            try prepare(server)
            let directory = try TemporaryDirectory("fetch")
            defer { directory.remove() }
            try await body(FetchHarness(server, directory))
        }
    }

    private init(_ server: ScriptedServer, _ directory: TemporaryDirectory) {
        self.server = server
        self.directory = directory
        let transport = HTTPTransport(configuration: HTTPConfiguration())
        let store = ResponseStoreAccess(directory: "\(directory.path)/cache", maxBytes: 1 << 30)
        operation = FetchOperation(
            transport: transport, credentials: CredentialStore(), evidence: DestinationEvidence(), store: store)
        var request = RequestOperation(
            transport: transport, credentials: CredentialStore(), evidence: DestinationEvidence())
        request.responses = store
        self.request = request
    }

    func payload(_ path: String, _ members: [JSONValue.Member] = []) -> JSONValue {
        .object([.init("url", .string("\(server.origin)\(path)"))] + members)
    }

    func fetch(_ payload: JSONValue) async throws -> OperationOutcome { try await execute(payload, by: operation) }

    /// Sends a POST.
    func post(_ path: String) async throws -> OperationOutcome {
        try await execute(payload(path, [.init("method", "POST"), .init("body", "x")]), by: request)
    }

    private func execute(_ payload: JSONValue, by operation: some CommandOperation) async throws -> OperationOutcome {
        let attributes = try operation.inspect(payload)
        var command = Command(
            id: CommandID(), type: operation.type, destination: attributes.destination, createdAt: .now)
        (command.status, command.idempotent, command.claim) = (.sent, true, 1)
        let execution = CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], meter: TransferMeter(),
            publisher: { [published] topic, body in published.events.withLock { $0.append((topic, body)) } })
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    func fetch(_ path: String, _ members: [JSONValue.Member] = []) async throws -> OperationOutcome {
        try await fetch(payload(path, members))
    }

    func store() throws -> ResponseStore { try ResponseStore(directory: "\(directory.path)/cache") }

    /// The step of a reader.
    func look(_ path: String, _ members: [JSONValue.Member] = []) throws -> StoredFetch.Step {
        try StoredFetch.look(payload(path, members), CredentialStore(), in: try store()).step
    }
}

extension StoredFetch.Step {
    /// The response to show at once.
    var shown: StoredFetch? {
        switch self {
        case .stored(let stored), .storedThenRefresh(let stored): stored
        case .ask(let first, _): first
        case .refused: nil
        }
    }
}
