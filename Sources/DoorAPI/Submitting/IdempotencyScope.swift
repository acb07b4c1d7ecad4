internal import Commands
internal import Crypto
internal import Door
internal import HTTPTypes
internal import Queue
internal import Uploads

/// The `Idempotency-Key` of a submit. It belongs to a token, whatever the request submits, and lasts as long as the commands
/// of its first request are kept: the unique key of a command has the key, the line, and a fingerprint of the text.
struct IdempotencyScope: Sendable, Hashable {
    private let key: IdempotencyKey

    /// - Parameter token: ``Principal/owner``.
    init(token: String, value: String) { key = IdempotencyKey(value: value, token: token) }

    /// Nil where the request has none.
    init?(_ request: DoorRequest) throws(Problem) {
        guard let key = try IdempotencyKeyField.read(request.fields, token: request.principal?.owner) else {
            return nil
        }
        self.key = key
    }

    /// The start of the unique keys of all lines. A key is ASCII, so the sign ends it.
    var prefix: String { "\(RequestKey.prefix)\(key.token):\(key.value)§" }

    /// - Parameters:
    ///   - line: of a bulk, from 1; 0 for a request that is not a bulk.
    ///   - text: the bytes of the line, or of the request.
    func uniqueKey(line: Int, _ text: [UInt8]) -> String {
        let digest = Hexadecimal.text(SHA256.hash(data: text).prefix(16))
        return "\(prefix)\(line)#\(digest)"
    }

    /// Reads the commands of earlier requests with the key. It blocks.
    func earlier(in queue: QueueAccess) throws -> EarlierRequest {
        EarlierRequest(try queue.commands(ofRequestKeys: prefix), prefix: prefix)
    }

    /// The key belongs to another request.
    static let conflict = Problem(
        .unprocessableContent, "idempotency-key-conflict",
        "The Idempotency-Key belongs to an earlier request with another content; choose a new key.")

    /// The key belongs to a request that has not ended.
    static let inUse = Problem(
        .conflict, "idempotency-key-in-use",
        "Another request with this Idempotency-Key runs; send this one again when that has ended.",
        fields: [.retryAfter: "1"])
}
