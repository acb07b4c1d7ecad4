/// The fields of a command that a producer may set, in addition to its type and payload.
public struct SubmitOptions: Sendable, Equatable {
    /// How urgent the command is. The default is `default`.
    public var qos: QualityOfService = .default
    /// Whether the command may be executed again after an ambiguous end. Nil, the default: as its operation
    /// says, or as the rule of its type says (``PayloadRule``), and false for a type without either.
    public var idempotent: Bool?
    /// The maximum number of charged failures that are retried, 0…``maxRetryLimit``. The next one gives the
    /// command up. Nil, the default: as its operation says, which is 5 (``Command/defaultRetryLimit``) for
    /// all but `webhook`.
    public var retryLimit: Int?
    /// The command is not offered before this time, from 1970 on. Zero, the default: it may be offered at
    /// once.
    public var notBefore: Timestamp = .zero
    /// The command is cancelled at this time, even while it runs. Nil, the default: never.
    public var deadline: Timestamp?
    /// 1 to 512 bytes of UTF-8, compared by its bytes. While a command of the same type holds this key, a
    /// submit of the same payload and destination returns that command's id. With another payload or
    /// destination it is refused (`conflict`). Nil, the default: the command has no key.
    public var uniqueKey: String?
    /// How long the command holds ``uniqueKey``; a duration has at least 1 ms. Without a key it has no
    /// effect. The default is `kept`.
    public var uniqueFor = UniquePeriod.kept
    /// The destination of the command. Nil, the default: the one that its operation reads in the payload, and
    /// none for a type without a known operation. `Destination.none` needs its full name here.
    public var destination: Destination?
    /// Whether to accept a type that no worker has ever been able to run. The default is false.
    public var allowUnknownType = false

    /// Makes options with their defaults.
    public init() {}

    /// The maximum of ``retryLimit``: 1,000.
    public static let maxRetryLimit = Command.maxRetryLimit
}

extension CommandDraft {
    /// Checks a payload against its operation and makes the draft of a command.
    ///
    /// - Parameters:
    ///   - text: the payload as its producer wrote it, which is stored byte for byte unless the operation
    ///     replaces the payload, because `payload` rounds numbers beyond 64 bits. Nil: the compact text of
    ///     `payload`.
    ///   - registry: the operations that check payloads. For a type without an operation, the rule that
    ///     its worker has stored holds; without one the options set the destination, and the command is not
    ///     idempotent unless they say so.
    /// - Throws: ``PayloadError`` that names the key or the file.
    package init(
        type: String, payload: JSONValue, text: [UInt8]? = nil, options: SubmitOptions, registry: OperationRegistry
    ) throws(PayloadError) {
        guard CommandDraft.isType(type) else {
            throw PayloadError(.data, "“\(type)” is not a command type: use 1 to 64 of a-z, 0-9, “.” and “-”")
        }
        if let limit = options.retryLimit, !(0...SubmitOptions.maxRetryLimit).contains(limit) {
            throw PayloadError(.data, "retryLimit is \(limit) and must be from 0 to \(SubmitOptions.maxRetryLimit)")
        }
        let facts =
            try registry.attributes(of: payload, type: type)
            ?? PayloadAttributes(destination: options.destination ?? .none, idempotent: false)
        let bytes = facts.payload?.bytes ?? text ?? payload.bytes
        guard bytes.count <= Command.payloadLimit else {
            throw PayloadError(
                .data,
                "the payload has \(bytes.count) bytes and may have \(Command.payloadLimit): submit a reference to it")
        }
        self.init(
            type: type, payload: bytes, destination: options.destination ?? facts.destination, qos: options.qos,
            idempotent: options.idempotent ?? facts.idempotent)
        retryLimit = options.retryLimit ?? facts.retryLimit ?? Command.defaultRetryLimit
        notBefore = options.notBefore
        deadline = options.deadline
        uniqueKey = options.uniqueKey
        total = facts.total
        uniqueFor = options.uniqueFor
        if uniqueKey != nil { identity = facts.identity?.bytes }
    }
}
