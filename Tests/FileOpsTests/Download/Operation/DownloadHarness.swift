import Commands
import Foundation
import HTTPClient
import Operations
import Synchronization
import TestSupport

@testable import FileOps
@testable import Transfers

/// Executes downloads of one command as workers do, one execution after the other.
final class DownloadHarness: Sendable {
    let directory: TemporaryDirectory
    let payload: JSONValue
    let id = CommandID()
    private let operation: DownloadOperation
    private let state = Mutex<(claim: Int, checkpoint: [UInt8]?, retries: Int)>((0, nil, 0))

    init(
        _ payload: JSONValue, in directory: TemporaryDirectory, credentials: CredentialStore = CredentialStore()
    ) throws {
        self.directory = directory
        var configuration = HTTPConfiguration()
        configuration.client.idleTimeout = .seconds(2)
        operation = DownloadOperation(
            transport: HTTPTransport(configuration: configuration), credentials: credentials,
            evidence: DestinationEvidence(), umask: 0o022)
        self.payload = try operation.inspect(payload).payload ?? payload
    }

    /// Runs a test with a directory for the downloads.
    static func withDirectory(_ body: (TemporaryDirectory) async throws -> Void) async throws {
        let directory = try TemporaryDirectory("download")
        defer { directory.remove() }
        try await body(directory)
    }

    /// The checkpoint of the earlier executions.
    var checkpoint: DownloadCheckpoint? { DownloadCheckpoint(state.withLock { $0.checkpoint }) }

    func setRetries(_ retries: Int) { state.withLock { $0.retries = retries } }

    /// The next execution.
    func execution(_ meter: TransferMeter = TransferMeter()) throws -> CommandExecution {
        let (claim, checkpoint, retries) = state.withLock { state in
            state.claim += 1
            return state
        }
        var command = Command(
            id: id, type: "download", destination: try operation.inspect(payload).destination, createdAt: .now)
        (command.status, command.idempotent, command.claim, command.retries) = (.sent, true, claim, retries)
        return CommandExecution(
            command: command, payload: payload.bytes, checkpoint: checkpoint, meter: meter,
            saver: { bytes in self.state.withLock { $0.checkpoint = bytes } })
    }

    func execute() async throws -> OperationOutcome { try await outcome(of: try execution()) }

    func outcome(of execution: CommandExecution) async throws -> OperationOutcome {
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(await execution.counted(failure) as? CommandFailure ?? failure)
        }
    }

    var destination: Destination { get throws { try operation.inspect(payload).destination } }

    /// Names of the files in the directory that are part files.
    var parts: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasSuffix(".part") }
    }
}
