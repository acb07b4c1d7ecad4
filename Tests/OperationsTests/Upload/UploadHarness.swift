import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing
import Work

/// A directory, an upload operation, and what it takes to execute commands with it as a worker would.
struct UploadHarness {
    let directory: TemporaryDirectory
    let operation: UploadOperation

    /// - Parameter token: shown to that receiver, from a file.
    init(token: String, to receiver: MisbehavingReceiver) throws {
        let directory = try TemporaryDirectory("operations")
        let file = try directory.file("token", Array(token.utf8))
        chmod(file, 0o600)
        let origin = Destination(scheme: "http", host: "127.0.0.1", port: receiver.port)
        try self.init(credentials: [origin: .bearer(.file(file))], directory: directory)
    }

    init(
        connectTimeout: Duration = .seconds(10), idleTimeout: Duration = .seconds(30), trustRoots: String? = nil,
        credentials: [Destination: Credential] = [:], lockWaits: [Duration] = [.milliseconds(1)],
        contentRange: Set<Destination> = [], tus: Set<Destination> = [],
        configuration: HTTPConfiguration = HTTPConfiguration(),
        chunkSizes: [Destination: Int64] = [:], directory: TemporaryDirectory? = nil
    ) throws {
        self.directory = try directory ?? TemporaryDirectory("operations")
        var configuration = configuration
        configuration.client.connectTimeout = connectTimeout
        configuration.client.idleTimeout = idleTimeout
        configuration.client.tls.trustRootsFile = trustRoots
        configuration.lockWaits = lockWaits
        var timing = UploadTiming()
        timing.secondQuestion = .milliseconds(1)
        timing.contradictedWaits = [.milliseconds(1)]
        timing.acceptedWaits = [.milliseconds(1), .milliseconds(1)]
        operation = UploadOperation(
            configuration: configuration, credentials: CredentialStore(credentials),
            resumes: ResumeRules(contentRange: contentRange, tus: tus, chunkSizes: chunkSizes), timing: timing)
    }

    /// An execution of an inspected payload: of the protocol put, unless `extra` names one.
    func execution(
        file: String, to url: String, extra: [JSONValue.Member] = [], claim: Int = 1, id: CommandID = CommandID(),
        idempotent: Bool? = nil, qos: Commands.QualityOfService = .default, createdAt: Timestamp = .now
    ) throws -> (execution: CommandExecution, meter: TransferMeter) {
        let named = extra.contains { $0.name == "protocol" } ? extra : extra + [.init("protocol", "put")]
        let facts = try operation.inspect(.object([.init("file", .string(file)), .init("to", .string(url))] + named))
        return Self.execution(facts, claim: claim, id: id, idempotent: idempotent, qos: qos, createdAt: createdAt)
    }

    static func execution(
        _ facts: PayloadAttributes, claim: Int = 1, id: CommandID = CommandID(), idempotent: Bool? = nil,
        qos: Commands.QualityOfService = .default, createdAt: Timestamp = .now
    ) -> (execution: CommandExecution, meter: TransferMeter) {
        var command = Command(id: id, type: "upload", destination: facts.destination, createdAt: createdAt)
        command.qos = qos
        command.status = .sent
        command.idempotent = idempotent ?? facts.idempotent
        command.claim = claim
        command.total = facts.total
        let meter = TransferMeter(total: facts.total)
        return (CommandExecution(command: command, payload: facts.payload?.bytes ?? [], meter: meter), meter)
    }

    /// A file of that size without the disk for it, and without the time to fill it.
    func hollowFile(_ size: Int, name: String = "hollow") throws -> String {
        let file = try directory.file(name, [])
        #expect(truncate(file, off_t(size)) == 0)
        return file
    }

    /// Executes and returns the result.
    func run(_ execution: CommandExecution) async throws -> JSONValue {
        let result = try #require(try await operation.execute(execution))
        return try JSONValue(parsing: result)
    }

    func upload(file: String, to url: String, extra: [JSONValue.Member] = []) async throws -> JSONValue {
        try await run(try execution(file: file, to: url, extra: extra).execution)
    }

    /// Executes what must fail and returns the failure.
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

/// Runs a test with a receiver and a harness, and clears both away.
func withReceiver(
    _ options: MisbehavingReceiver.Options = .init(), idleTimeout: Duration = .seconds(30), trustRoots: String? = nil,
    configuration: HTTPConfiguration = HTTPConfiguration(),
    _ body: (MisbehavingReceiver, UploadHarness) async throws -> Void
) async throws {
    let receiver = try await MisbehavingReceiver(options)
    do {
        let harness = try UploadHarness(idleTimeout: idleTimeout, trustRoots: trustRoots, configuration: configuration)
        defer { harness.directory.remove() }
        try await body(receiver, harness)
    } catch {
        await receiver.stop()
        throw error
    }
    await receiver.stop()
}

/// Bytes that differ from each other, the same at every call.
func sample(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(count))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
    bytes.removeSubrange(count...)
    return bytes
}
