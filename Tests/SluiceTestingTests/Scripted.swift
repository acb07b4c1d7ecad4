import SluiceTesting

/// An operation with closures of the test.
struct Scripted: CommandOperation {
    var type = "scripted"
    var isIdempotent = true
    var destination: Destination = .none
    var preparesBeforeSending = false
    var body: @Sendable (CommandExecution) async throws -> JSONValue? = { _ in nil }
    var preparation: @Sendable (CommandExecution) async throws -> Void = { _ in }

    var rule: PayloadRule { PayloadRule(isIdempotent: isIdempotent) }

    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        guard payload["wrong"] == nil else { throw PayloadError(.data, "“wrong” is not a key of scripted") }
        return PayloadAttributes(destination: destination, idempotent: isIdempotent)
    }

    func prepare(_ execution: CommandExecution) async throws { try await preparation(execution) }
    func execute(_ execution: CommandExecution) async throws -> [UInt8]? { try await body(execution)?.bytes }
}

extension Destination {
    static let api = Destination(scheme: "https", host: "api.example.com", port: 443)
}

extension TestRun {
    var retryTime: Timestamp? { if case .retry(let time) = outcome { time } else { nil } }
}
