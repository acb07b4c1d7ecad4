package import Commands
package import Operations

/// How an execution ended.
package enum OperationOutcome: CustomStringConvertible {
    case success(JSONValue)
    case failure(CommandFailure)

    package var failure: CommandFailure? { if case .failure(let failure) = self { failure } else { nil } }
    package var result: JSONValue? { if case .success(let result) = self { result } else { nil } }

    /// One execution of a command that may be repeated.
    package static func of(_ payload: JSONValue, by operation: some CommandOperation) async throws -> OperationOutcome {
        let attributes = try operation.inspect(payload)
        var command = Command(
            id: CommandID(), type: operation.type, destination: attributes.destination, createdAt: .now)
        (command.status, command.idempotent, command.claim) = (.sent, attributes.idempotent, 1)
        let execution = CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? payload.bytes, meter: TransferMeter())
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    package var description: String {
        switch self {
        case .success(let result): "success \(result.text)"
        case .failure(let failure): "\(failure.fault): \(failure.reason)"
        }
    }
}
