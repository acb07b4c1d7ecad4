/// The fields of a command that a producer may set, in addition to its type and payload.
public struct SubmitOptions: Sendable, Equatable {
    /// The default is `default`.
    public var qos: QualityOfService = .default
    /// Whether it may be executed again after an ambiguous end. Nil: as its operation says, and false for a
    /// type without a known operation.
    public var idempotent: Bool?
    /// Charged failures after which it is given up, 0…``maxRetryLimit``. The default is 10.
    public var retryLimit = Command.defaultRetryLimit
    /// The earliest start; zero, the default, is at once.
    public var notBefore: Timestamp = .zero
    /// The command is cancelled at this time, also while it runs. Nil, the default: never.
    public var deadline: Timestamp?
    /// While a command holds this key, a second submit with the same key and payload returns that command's
    /// id.
    public var uniqueKey: String?
    /// How long the command holds ``uniqueKey``; without a key it has no effect. The default is `kept`.
    public var uniqueFor = UniquePeriod.kept
    /// The destination of the command. Nil: the one that its operation reads in the payload.
    public var destination: Destination?
    /// Accept a type that no worker has ever been able to run.
    public var allowUnknownType = false

    public init() {}

    /// The maximum of ``retryLimit``.
    public static let maxRetryLimit = Command.maxRetryLimit
}

extension CommandDraft {
    /// Checks a payload against its operation and makes the draft of a command.
    ///
    /// - Parameters:
    ///   - text: the payload as its producer wrote it, which is stored byte for byte unless the operation
    ///     replaces the payload, because `payload` rounds numbers beyond 64 bits. Nil: the compact text of
    ///     `payload`.
    ///   - registry: the operations that check payloads. For a type without an operation, the options set the
    ///     destination, and the command is not idempotent unless they say so.
    /// - Throws: ``PayloadError`` that names the key or the file.
    package init(
        type: String, payload: JSONValue, text: [UInt8]? = nil, options: SubmitOptions, registry: OperationRegistry
    ) throws(PayloadError) {
        guard CommandDraft.isType(type) else {
            throw PayloadError(.data, "“\(type)” is not a command type: use 1 to 64 of a-z, 0-9, “.” and “-”")
        }
        guard (0...SubmitOptions.maxRetryLimit).contains(options.retryLimit) else {
            throw PayloadError(
                .data,
                "retryLimit is \(options.retryLimit) and must be from 0 to \(SubmitOptions.maxRetryLimit)")
        }
        let facts =
            try registry[type]?.inspect(payload)
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
        retryLimit = options.retryLimit
        notBefore = options.notBefore
        deadline = options.deadline
        uniqueKey = options.uniqueKey
        total = facts.total
        uniqueFor = options.uniqueFor
        if uniqueKey != nil { identity = facts.identity?.bytes }
    }
}
