internal import Door
internal import HTTPTypes
internal import Uploads

/// The `Idempotency-Key` of a submit, which becomes the unique key of its commands: a repeated request finds the commands
/// of the first one, for as long as they are kept.
struct IdempotencyScope: Sendable {
    private let key: IdempotencyKey

    /// Nil where the request has none.
    init?(_ request: DoorRequest) throws(Problem) {
        guard let key = try IdempotencyKeyField.read(request.fields, token: request.principal?.token) else {
            return nil
        }
        self.key = key
    }

    /// - Parameter line: of a bulk, from 1; nil for one command.
    func uniqueKey(line: Int? = nil) -> String {
        "\(SubmitLine.reservedPrefix)\(key.token):\(key.value)" + (line.map { ":\($0)" } ?? "")
    }

    /// The key belongs to another request.
    static let conflict = Problem(
        .unprocessableContent, "idempotency-key-conflict",
        "The Idempotency-Key belongs to an earlier request with another command; choose a new key.")
}
