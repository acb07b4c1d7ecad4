/// The answer of an endpoint to one request.
enum S3Answer<Value: Sendable & Equatable>: Sendable, Equatable {
    case accepted(Value)
    /// The endpoint refuses, also by an error in the body of a 200.
    case refused(S3Refusal)
    /// The status says success, and the rest does not: a sentence about it.
    case unreadable(String)

    var value: Value? { if case .accepted(let value) = self { value } else { nil } }
}
