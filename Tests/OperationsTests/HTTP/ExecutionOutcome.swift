import Commands

/// How an execution ended.
enum ExecutionOutcome: CustomStringConvertible {
    case success(JSONValue)
    case failure(CommandFailure)

    var failure: CommandFailure? { if case .failure(let failure) = self { failure } else { nil } }
    var result: JSONValue? { if case .success(let result) = self { result } else { nil } }

    var description: String {
        switch self {
        case .success(let result): "success \(result.text)"
        case .failure(let failure): "\(failure.fault): \(failure.reason)"
        }
    }
}
