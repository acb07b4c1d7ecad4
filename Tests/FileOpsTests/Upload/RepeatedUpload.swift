import Commands
import FileOps
import Operations
import Synchronization
import TestSupport
import Testing

/// One command that is executed several times, with its checkpoint.
final class RepeatedUpload: Sendable {
    let harness: UploadHarness
    let id = CommandID()
    private let attributes: PayloadAttributes
    private let state = Mutex<(claim: Int, checkpoint: [UInt8]?, meter: TransferMeter?)>((0, nil, nil))

    /// - Parameters:
    ///   - transferProtocol: nil for none.
    ///   - idempotent: nil: the operation decides.
    init(
        _ harness: UploadHarness, file: String, to url: String, _ transferProtocol: String?,
        extra: [JSONValue.Member] = [], idempotent: Bool? = nil
    ) throws {
        self.harness = harness
        var members: [JSONValue.Member] = [.init("file", .string(file)), .init("to", .string(url))] + extra
        if let transferProtocol { members.append(.init("protocol", .string(transferProtocol))) }
        var attributes = try harness.operation.inspect(.object(members))
        attributes.idempotent = idempotent ?? attributes.idempotent
        self.attributes = attributes
    }

    /// The checkpoint for the next execution.
    var checkpoint: JSONValue? { state.withLock { $0.checkpoint }.flatMap { try? JSONValue(parsing: $0) } }

    /// Bytes that the last execution has reported.
    var offset: Int64 { state.withLock { $0.meter?.reading.offset ?? 0 } }

    /// Replaces the checkpoint for the next execution.
    func setCheckpoint(_ value: JSONValue?) { state.withLock { $0.checkpoint = value?.bytes } }

    /// - Parameter onSave: is called once a checkpoint is saved. An error that it throws ends the execution.
    func next(
        onSave: @escaping @Sendable () throws -> Void = {}
    ) -> (execution: CommandExecution, meter: TransferMeter) {
        let meter = TransferMeter(total: attributes.total)
        // The store has the offset that the previous execution reported.
        let (claim, checkpoint, offset) = state.withLock { state in
            let offset = state.meter?.reading.offset ?? 0
            state.claim += 1
            state.meter = meter
            return (state.claim, state.checkpoint, offset)
        }
        var command = Command(id: id, type: "upload", destination: attributes.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = attributes.idempotent
        command.claim = claim
        command.offset = offset
        command.total = attributes.total
        let execution = CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], checkpoint: checkpoint, meter: meter,
            saver: { [self] bytes in
                state.withLock { $0.checkpoint = bytes }
                try onSave()
            })
        return (execution, meter)
    }

    func run() async throws -> JSONValue { try await harness.run(next().execution) }

    func failure() async throws -> CommandFailure { try await harness.failure(of: next().execution) }
}

extension ReceivedRequest {
    /// `PUT /a`
    var line: String { "\(method) \(target)" }
}
