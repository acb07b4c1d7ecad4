/// What a producer submits: the fields of a command that are its to choose.
public struct CommandDraft: Sendable, Equatable {
    public var type: String
    /// JSON for the operation, at most 1 MiB.
    public var payload: [UInt8]
    public var destination: Destination
    public var qos: QualityOfService
    public var idempotent: Bool
    /// Failures charged before it is given up, 0…``Command/largestRetryLimit``.
    public var retryLimit: Int
    public var notBefore: Timestamp
    public var deadline: Timestamp?
    /// While a command holds this key, 1 to 512 bytes, an equal draft of the same type makes no second
    /// command, and one with another payload or destination is refused.
    public var uniqueKey: String?
    /// How long the command will hold the key. Where an existing command is found, its own period stays as it
    /// is.
    public var uniqueFor = UniquePeriod.kept
    /// Bytes in all, where known.
    public var total: Int64
    /// Bytes that tell whether a draft with the same unique key is an equal one, in place of the payload: for
    /// a payload that names something made anew at each submit. Nil: the bytes of the payload tell.
    package var identity: [UInt8]?

    public init(
        type: String, payload: [UInt8], destination: Destination, qos: QualityOfService = .default, idempotent: Bool,
        retryLimit: Int = Command.defaultRetryLimit, notBefore: Timestamp = .zero, deadline: Timestamp? = nil,
        uniqueKey: String? = nil, total: Int64 = 0
    ) {
        self.type = type
        self.payload = payload
        self.destination = destination
        self.qos = qos
        self.idempotent = idempotent
        self.retryLimit = retryLimit
        self.notBefore = notBefore
        self.deadline = deadline
        self.uniqueKey = uniqueKey
        self.total = total
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
