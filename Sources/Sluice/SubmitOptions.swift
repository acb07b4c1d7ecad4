/// What a producer may say of a command besides its type and payload. The defaults are the contract's.
public struct SubmitOptions: Sendable, Equatable {
    public var qos: QualityOfService = .default
    /// May it be executed again after an ambiguous end? Nil: as its operation says, and no where that is not known.
    public var idempotent: Bool?
    /// Failures charged before it is given up, 0…``maxRetryLimit``.
    public var retryLimit = Command.defaultRetryLimit
    /// Not earlier than; zero: at once.
    public var notBefore: Timestamp = .zero
    /// Cancelled after, also while running.
    public var deadline: Timestamp?
    /// While a command holds this key, a second submit with the same key and payload returns that command's id.
    public var uniqueKey: String?
    /// How long the command will hold ``uniqueKey``; without a key it means nothing.
    public var uniqueFor = UniquePeriod.kept
    /// Whom the command talks to. Nil: what its operation reads in the payload.
    public var destination: Destination?
    /// Accept a type that no worker has ever been able to run.
    public var allowUnknownType = false

    public init() {}

    /// The most failures that a command may be allowed.
    public static let maxRetryLimit = Command.maxRetryLimit
}

extension CommandDraft {
    /// Checks a payload against its operation and makes the draft of a command.
    ///
    /// - Parameters:
    ///   - text: the payload as its producer wrote it, which is kept byte for byte where the operation does
    ///     not replace the payload: `payload` rounds numbers beyond 64 bits. Nil: the compact text of
    ///     `payload`.
    ///   - registry: operations that know how to read payloads. A type that is not among them is taken as it is: its
    ///     destination is that of the options, and it is not idempotent unless they say so.
    /// - Throws: ``PayloadError`` that names the key or the file.
    package init(
        type: String, payload: JSONValue, text: [UInt8]? = nil, options: SubmitOptions, registry: OperationRegistry
    ) throws(PayloadError) {
        guard CommandDraft.isType(type) else {
            throw PayloadError(.data, "“\(type)” is no command type: use 1 to 64 of a-z, 0-9, “.” and “-”")
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
