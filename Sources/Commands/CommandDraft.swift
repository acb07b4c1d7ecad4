/// A command that is about to be submitted: the fields that the producer chooses.
public struct CommandDraft: Sendable, Equatable {
    public var type: String
    /// JSON for the operation, at most 1 MiB.
    public var payload: [UInt8]
    public var destination: Destination
    public var qos: QualityOfService
    public var idempotent: Bool
    /// Failures charged before the command is given up, 0…``Command/maxRetryLimit``.
    public var retryLimit = Command.defaultRetryLimit
    /// The command is not offered before this time; zero: at once.
    public var notBefore = Timestamp.zero
    /// The command is cancelled at this time, even while it runs.
    public var deadline: Timestamp?
    /// 1 to 512 bytes. While a command holds this key, an equal draft of the same type makes no second
    /// command, and a draft with another payload or destination is refused.
    public var uniqueKey: String?
    /// How long the command will hold the key. A draft that finds an existing command does not change that
    /// command's period.
    public var uniqueFor = UniquePeriod.kept
    /// Bytes in all; 0 where not known.
    public var total: Int64 = 0
    /// Bytes that are compared instead of the payload where two drafts have the same unique key: for a
    /// payload that names something made anew at each submit. Nil: the payload is compared.
    package var identity: [UInt8]?

    /// Makes a draft whose other fields have their defaults.
    /// - Parameters:
    ///   - type: of the operation: 1 to 64 of a-z, 0-9, “.” and “-”.
    ///   - payload: JSON for the operation, at most 1 MiB.
    ///   - idempotent: whether the command may be executed again after an ambiguous end.
    public init(
        type: String, payload: [UInt8], destination: Destination, qos: QualityOfService = .default, idempotent: Bool
    ) {
        self.type = type
        self.payload = payload
        self.destination = destination
        self.qos = qos
        self.idempotent = idempotent
    }

    /// Whether `type` has the form of a command type.
    public static func isType(_ type: String) -> Bool {
        !type.isEmpty && type.utf8.count <= 64
            && type.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}
