import Commands
import Foundation
import HTTPClient
import Operations
import Synchronization
import TestSupport

@testable import Sync
@testable import Transfers

/// Executes syncs into one collection as workers do.
final class SyncHarness: Sendable {
    let server: ScriptedServer
    let origin: ListOrigin
    let directory: TemporaryDirectory
    let collections: CollectionDirectory
    private let operation: SyncOperation
    private let claims = Mutex<[CommandID: Int]>([:])
    private let published = Mutex<[(topic: String, body: JSONValue)]>([])

    static let name = "things"

    /// Runs a test with a server whose answers come from a closure.
    static func with(
        _ answer: @escaping @Sendable (ListOrigin.Request) -> Behaviour,
        _ body: (SyncHarness) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            let origin = ListOrigin(answer)
            server.handle(by: origin)
            let directory = try TemporaryDirectory("sync")
            defer { directory.remove() }
            try await body(try SyncHarness(server, origin, directory))
        }
    }

    private init(_ server: ScriptedServer, _ origin: ListOrigin, _ directory: TemporaryDirectory) throws {
        (self.server, self.origin, self.directory) = (server, origin, directory)
        _ = try directory.makeDirectory("run")
        collections = CollectionDirectory(data: directory.path)
        var configuration = HTTPConfiguration()
        configuration.client.idleTimeout = .seconds(2)
        operation = SyncOperation(
            transport: HTTPTransport(configuration: configuration), credentials: CredentialStore(),
            evidence: DestinationEvidence(), collections: collections)
    }

    var file: String { collections.file(Self.name) }

    /// - Parameter members: of the payload, as JSON.
    func payload(_ members: String = "", path: String = "/list") throws -> JSONValue {
        let more = members.isEmpty ? "" : ",\(members)"
        let text = "{\"url\":\"\(server.origin)\(path)\",\"collection\":\"\(Self.name)\"\(more)}"
        return try JSONValue(parsing: text.utf8)
    }

    /// The next execution of a command.
    /// - Parameter isRenewed: a person has begun the command again.
    func execution(
        _ id: CommandID, _ payload: JSONValue, retries: Int = 0, isRenewed: Bool = false,
        meter: TransferMeter = TransferMeter()
    ) throws -> CommandExecution {
        let attributes = try operation.inspect(payload)
        var command = Command(id: id, type: "sync", destination: attributes.destination, createdAt: .now)
        (command.status, command.idempotent, command.retries) = (.sent, true, retries)
        command.claim = claims.withLock { claims in
            claims[id, default: 0] += 1
            return claims[id] ?? 1
        }
        command.reason = command.claim > 1 && !isRenewed ? "the worker died" : nil
        return CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], meter: meter,
            publisher: { [self] topic, body in published.withLock { $0.append((topic, body)) } })
    }

    func outcome(of execution: CommandExecution) async throws -> OperationOutcome {
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    /// One execution.
    func sync(
        _ members: String = "", path: String = "/list", id: CommandID = CommandID(), retries: Int = 0,
        isRenewed: Bool = false
    ) async throws -> OperationOutcome {
        try await outcome(
            of: try execution(id, try payload(members, path: path), retries: retries, isRenewed: isRenewed))
    }

    /// The events so far.
    var events: [(topic: String, body: JSONValue)] { published.withLock { $0 } }

    // MARK: The collection

    /// The records by their keys.
    func records() throws -> [String: String] {
        guard collections.exists(Self.name) else { return [:] }
        var records: [String: String] = [:]
        try CollectionReader(collections, Self.name).query(CollectionQuery()) { records[$0.key] = $0.body }
        return records
    }

    func keys() throws -> Set<String> { Set(try records().keys) }

    func rev() throws -> Int64 { try CollectionReader(collections, Self.name).summary().rev }

    /// A connection of another program, which only reads.
    func probe() throws -> SQLiteProbe { try SQLiteProbe(file, flags: 1) }

    func put(_ lines: String) throws {
        _ = try CollectionWriter(collections, Self.name).put(lines: Array(lines.utf8), key: nil)
    }
}

extension JSONValue {
    /// Members that are integers, in this order.
    func numbers(_ names: String...) -> [Int64] { names.map { self[$0]?.integer ?? -1 } }
}
