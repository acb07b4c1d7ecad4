import Commands
import Work

/// How an execution ended.
enum ExecutionOutcome: CustomStringConvertible {
    case success(JSONValue)
    case failure(CommandFailure)

    var failure: CommandFailure? { if case .failure(let failure) = self { failure } else { nil } }
    var result: JSONValue? { if case .success(let result) = self { result } else { nil } }

    /// One execution of a command that may be repeated.
    static func of(_ payload: JSONValue, by operation: some CommandOperation) async throws -> ExecutionOutcome {
        let attributes = try operation.inspect(payload)
        var command = Command(
            id: CommandID(), type: operation.type, destination: attributes.destination, createdAt: .now)
        (command.status, command.idempotent, command.claim) = (.sent, attributes.idempotent, 1)
        let execution = CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? [], meter: TransferMeter())
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    var description: String {
        switch self {
        case .success(let result): "success \(result.text)"
        case .failure(let failure): "\(failure.fault): \(failure.reason)"
        }
    }
}
