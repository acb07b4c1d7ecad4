import Commands
import Operations
import Synchronization
import TestSupport
import Testing
import Work

/// One command that is executed again and again, with what its executions leave to each other.
final class RepeatedUpload: Sendable {
    let harness: UploadHarness
    let id = CommandID()
    private let facts: PayloadAttributes
    private let state = Mutex<(claim: Int, kept: [UInt8]?, meter: TransferMeter?)>((0, nil, nil))

    /// - Parameters:
    ///   - transferProtocol: nil leaves it open.
    ///   - idempotent: nil leaves it to the operation.
    init(
        _ harness: UploadHarness, file: String, to url: String, _ transferProtocol: String?,
        extra: [JSONValue.Member] = [], idempotent: Bool? = nil
    ) throws {
        self.harness = harness
        var members: [JSONValue.Member] = [.init("file", .string(file)), .init("to", .string(url))] + extra
        if let transferProtocol { members.append(.init("protocol", .string(transferProtocol))) }
        var facts = try harness.operation.inspect(.object(members))
        facts.idempotent = idempotent ?? facts.idempotent
        self.facts = facts
    }

    /// What the next execution finds.
    var kept: JSONValue? { state.withLock { $0.kept }.flatMap { try? JSONValue(parsing: $0) } }

    /// Changes what the next execution finds.
    func keep(_ value: JSONValue?) { state.withLock { $0.kept = value?.bytes } }

    /// - Parameter onKeep: called when what is kept has become durable; what it throws ends the execution there.
    func next(
        onKeep: @escaping @Sendable () throws -> Void = {}
    ) -> (execution: CommandExecution, meter: TransferMeter) {
        let meter = TransferMeter(total: facts.total)
        // The store knows the offset that the execution before has reported.
        let (claim, kept, offset) = state.withLock { state in
            let offset = state.meter?.reading.offset ?? 0
            state.claim += 1
            state.meter = meter
            return (state.claim, state.kept, offset)
        }
        var command = Command(id: id, type: "upload", destination: facts.destination, createdAt: .now)
        command.status = .sent
        command.idempotent = facts.idempotent
        command.claim = claim
        command.offset = offset
        command.total = facts.total
        let execution = CommandExecution(
            command: command, payload: facts.payload?.bytes ?? [], checkpoint: kept, meter: meter,
            saver: { [self] bytes in
                state.withLock { $0.kept = bytes }
                try onKeep()
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
