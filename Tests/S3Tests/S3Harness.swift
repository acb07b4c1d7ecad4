import Commands
import Foundation
import HTTPClient
import Operations
import Synchronization
import TestSupport

@testable import S3
@testable import Transfers

/// Executes uploads to a ``S3Server`` as workers do, with the checkpoint of the command.
final class S3Harness: Sendable {
    let store = S3Server()
    let server: ScriptedServer
    let directory: TemporaryDirectory
    let id = CommandID()
    let operation: S3Operation
    private let saved = Mutex<[UInt8]?>(nil)
    private let saves = Atomic(0)

    private init(_ server: ScriptedServer, _ directory: TemporaryDirectory, _ keys: [Destination: S3AccessKey]) {
        self.server = server
        self.directory = directory
        operation = S3Operation(
            transport: HTTPTransport(configuration: HTTPConfiguration()),
            credentials: CredentialStore([:], accessKeys: keys), evidence: DestinationEvidence())
    }

    /// Runs a test with a store and its access key.
    /// - Parameter token: the session token that the client sends.
    static func with(
        secret: String = S3Server.secretKey, token: String? = nil, _ body: (S3Harness) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            let directory = try TemporaryDirectory("s3")
            defer { directory.remove() }
            func file(_ name: String, _ text: String) throws -> Secret {
                let path = try directory.file(name, Array(text.utf8))
                chmod(path, 0o600)
                return .file(path)
            }
            let endpoint = Destination(scheme: "http", host: "127.0.0.1", port: server.port)
            let key = S3AccessKey(
                id: S3Server.accessKey, secret: try file("secret", secret),
                token: try token.map { try file("token", $0) })
            let harness = S3Harness(server, directory, [endpoint: key])
            server.handle(by: harness.store)
            try await body(harness)
        }
    }

    /// A file of random bytes. Parts have 5 MiB.
    func file(_ size: Int, name: String = "a.mp4") throws -> (path: String, bytes: [UInt8]) {
        var random = SeededRandom(seed: UInt64(size))
        var bytes = [UInt8](repeating: 0, count: size)
        for index in stride(from: 0, to: size, by: 4096) { bytes[index] = UInt8.random(in: 0...255, using: &random) }
        return (try directory.file(name, bytes), bytes)
    }

    func payload(_ file: String, _ more: [JSONValue.Member] = []) -> JSONValue {
        .object(
            [
                .init("file", .string(file)), .init("endpoint", .string(server.origin)),
                .init("bucket", .string(S3Server.bucket)), .init("key", "in/"), .init("partSize", .integer(5 << 20)),
            ].filter { given in !more.contains { $0.name == given.name } } + more)
    }

    func execution(
        _ payload: JSONValue, id: CommandID? = nil, claim: Int = 1, meter: TransferMeter = TransferMeter()
    ) throws -> CommandExecution {
        let attributes = try operation.inspect(payload)
        var command = Command(id: id ?? self.id, type: "s3", destination: attributes.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = attributes.idempotent
        command.claim = claim
        command.total = attributes.total
        return CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], checkpoint: saved.withLock { $0 },
            meter: meter
        ) { [self] state in
            // The checkpoint of a process that is dead is not written.
            guard !store.isClientDead else { throw CancellationError() }
            saves.add(1, ordering: .relaxed)
            saved.withLock { $0 = state }
        }
    }

    /// The number of saved checkpoints.
    var saveCount: Int { saves.load(ordering: .relaxed) }
    var checkpoint: S3Checkpoint? { S3Checkpoint(saved.withLock { $0 }) }
    func setCheckpoint(_ checkpoint: S3Checkpoint?) { saved.withLock { $0 = checkpoint?.bytes } }

    /// Executes a command that continues from the checkpoint of the execution before.
    func outcome(_ payload: JSONValue, claim: Int = 1) async throws -> OperationOutcome {
        try await outcome(of: try execution(payload, claim: claim))
    }

    func outcome(of execution: CommandExecution) async throws -> OperationOutcome {
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        } catch is CancellationError {
            return .failure(CommandFailure(.link, reason: "it was cancelled"))
        }
    }
}
