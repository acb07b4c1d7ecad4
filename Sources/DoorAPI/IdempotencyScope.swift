internal import Commands
internal import Crypto
internal import Door
internal import HTTPTypes
internal import Queue
internal import Synchronization
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

/// The keys of requests that run, so that two requests with one `Idempotency-Key` do not both find that there was none.
final class RunningKeys: Sendable {
    private let keys = Mutex<Set<IdempotencyScope>>([])

    /// Runs `body` as the only request with its key.
    /// - Parameter key: nil runs it beside all others.
    /// - Throws: ``Problem`` 409 where another runs, and the errors of `body`.
    func run<Value>(_ key: IdempotencyScope?, _ body: () async throws -> Value) async throws -> Value {
        guard let key else { return try await body() }
        guard keys.withLock({ $0.insert(key).inserted }) else { throw IdempotencyScope.inUse }
        defer { keys.withLock { _ = $0.remove(key) } }
        return try await body()
    }
}

/// The commands that earlier requests with one `Idempotency-Key` have made. Pure.
struct EarlierRequest: Sendable {
    /// By line: the unique key, and its command.
    private var lines: [Int: (key: String, id: CommandID)] = [:]

    /// - Parameters:
    ///   - commands: by their unique keys.
    ///   - prefix: of these keys.
    init(_ commands: [String: CommandID], prefix: String) {
        for (key, id) in commands {
            guard let line = Int(key.dropFirst(prefix.count).prefix { $0 != "#" }) else { continue }
            lines[line] = (key, id)
        }
    }

    /// The command that a repeated line has made; nil where it is to be made.
    /// - Parameters:
    ///   - key: the unique key of the line.
    ///   - line: 0 for a request that is not a bulk.
    /// - Throws: 422 where the key belongs to a line with another text, or to a request of another kind.
    func command(_ key: String, line: Int) throws(Problem) -> CommandID? {
        if let found = lines[line] {
            guard found.key == key else { throw IdempotencyScope.conflict }
            return found.id
        }
        guard lines.isEmpty || line > 0 && lines[0] == nil else { throw IdempotencyScope.conflict }
        return nil
    }
}
