internal import Commands

/// Stands in for an operation: it answers as the test says. Payloads are checked by the operation that it replaces.
struct AnsweringOperation: CommandOperation {
    typealias Answer = @Sendable (CommandExecution) async throws -> JSONValue?

    let type: String
    /// Nil where the process does not have the operation: then no payload is checked.
    let replaced: (any CommandOperation)?
    let answer: Answer

    var rule: PayloadRule { replaced?.rule ?? PayloadRule() }

    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        if let replaced { return try replaced.inspect(payload) }
        return try rule.attributes(of: payload)
    }

    func execute(_ execution: CommandExecution) async throws -> [UInt8]? { try await answer(execution)?.bytes }
}
