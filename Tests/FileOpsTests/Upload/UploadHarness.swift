import Commands
import FileOps
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing
import Transfers

/// Executes uploads as a worker does, with a directory of its own.
struct UploadHarness {
    let directory: TemporaryDirectory
    let operation: UploadOperation

    /// - Parameter token: the bearer token for `receiver`, stored in a file.
    init(token: String, to receiver: MisbehavingReceiver) throws {
        let directory = try TemporaryDirectory("operations")
        let file = try directory.file("token", Array(token.utf8))
        chmod(file, 0o600)
        let origin = Destination(scheme: "http", host: "127.0.0.1", port: receiver.port)
        try self.init(credentials: [origin: .bearer(.file(file))], directory: directory)
    }

    init(
        idleTimeout: Duration = .seconds(30), trustRoots: String? = nil, credentials: [Destination: Credential] = [:],
        resumes: ResumeRules = ResumeRules(), configuration: HTTPConfiguration = HTTPConfiguration(),
        directory: TemporaryDirectory? = nil
    ) throws {
        self.directory = try directory ?? TemporaryDirectory("operations")
        var configuration = configuration
        configuration.client.idleTimeout = idleTimeout
        configuration.client.tls.trustRootsFile = trustRoots
        configuration.lockRetryDelays = [.milliseconds(1)]
        var timing = UploadTiming()
        timing.vanishedRecheckDelay = .milliseconds(1)
        timing.contradictionRecheckDelays = [.milliseconds(1)]
        timing.acceptedRecheckDelays = [.milliseconds(1), .milliseconds(1)]
        operation = UploadOperation(
            configuration: configuration, credentials: CredentialStore(credentials), resumes: resumes, timing: timing)
    }

    /// Inspects a payload and returns its execution. The protocol is put, unless `extra` names one.
    func execution(
        file: String, to url: String, extra: [JSONValue.Member] = [], claim: Int = 1, id: CommandID = CommandID(),
        idempotent: Bool? = nil, qos: Commands.QualityOfService = .default, createdAt: Timestamp = .now
    ) throws -> (execution: CommandExecution, meter: TransferMeter) {
        let named = extra.contains { $0.name == "protocol" } ? extra : extra + [.init("protocol", "put")]
        let attributes = try operation.inspect(
            .object([.init("file", .string(file)), .init("to", .string(url))] + named))
        return Self.execution(attributes, claim: claim, id: id, idempotent: idempotent, qos: qos, createdAt: createdAt)
    }

    static func execution(
        _ attributes: PayloadAttributes, claim: Int = 1, id: CommandID = CommandID(), idempotent: Bool? = nil,
        qos: Commands.QualityOfService = .default, createdAt: Timestamp = .now
    ) -> (execution: CommandExecution, meter: TransferMeter) {
        var command = Command(id: id, type: "upload", destination: attributes.destination, createdAt: createdAt)
        command.qos = qos
        command.status = .sent
        command.idempotent = idempotent ?? attributes.idempotent
        command.claim = claim
        command.total = attributes.total
        let meter = TransferMeter(total: attributes.total)
        return (CommandExecution(command: command, payload: attributes.payload?.bytes ?? [], meter: meter), meter)
    }

    /// Creates a file of this size as one hole, which takes neither disk space nor time.
    func hollowFile(_ size: Int, name: String = "hollow") throws -> String {
        let file = try directory.file(name, [])
        #expect(truncate(file, off_t(size)) == 0)
        return file
    }

    /// Executes an upload that must succeed.
    func run(_ execution: CommandExecution) async throws -> JSONValue {
        let result = try #require(try await operation.execute(execution))
        return try JSONValue(parsing: result)
    }

    func upload(file: String, to url: String, extra: [JSONValue.Member] = []) async throws -> JSONValue {
        try await run(try execution(file: file, to: url, extra: extra).execution)
    }

    /// Executes an upload that must fail.
    func failure(file: String, to url: String, extra: [JSONValue.Member] = []) async throws -> CommandFailure {
        try await failure(of: try execution(file: file, to: url, extra: extra).execution)
    }

    func failure(of execution: CommandExecution) async throws -> CommandFailure {
        do {
            let result = try await operation.execute(execution)
            throw Missed("a failure did not come, but \(String(decoding: result ?? [], as: UTF8.self))")
        } catch let failure as CommandFailure {
            return failure
        }
    }
}

/// Runs a test with a receiver and a harness, and removes both afterwards.
func withReceiver(
    _ options: MisbehavingReceiver.Options = .init(), idleTimeout: Duration = .seconds(30), trustRoots: String? = nil,
    configuration: HTTPConfiguration = HTTPConfiguration(),
    _ body: (MisbehavingReceiver, UploadHarness) async throws -> Void
) async throws {
    let receiver = try await MisbehavingReceiver(options)
    try await stopping(receiver) {
        let harness = try UploadHarness(idleTimeout: idleTimeout, trustRoots: trustRoots, configuration: configuration)
        defer { harness.directory.remove() }
        try await body(receiver, harness)
    }
}
