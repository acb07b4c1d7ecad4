/// A command that is about to be submitted: the fields that the producer chooses.
///
/// A draft is not checked while it is made. The submit refuses a value out of the ranges below, and does not
/// parse the payload.
public struct CommandDraft: Sendable, Equatable {
    /// The type, which selects the operation that executes the command: `[a-z0-9.-]+`, 1 to 64 characters.
    public var type: String
    /// JSON for the operation, at most 1 MiB (``Command/payloadLimit``). It is stored byte for byte.
    public var payload: [UInt8]
    /// The destination that network control applies to; ``Destination/none`` where the command uses no
    /// network.
    public var destination: Destination
    /// How urgent the command is.
    public var qos: QualityOfService
    /// Whether the command may be executed again after an ambiguous end.
    public var idempotent: Bool
    /// The maximum number of charged failures that are retried, 0…``Command/maxRetryLimit``. The next one
    /// gives the command up. The default is 5.
    public var retryLimit = Command.defaultRetryLimit
    /// The command is not offered before this time, from 1970 on. Zero, the default: it may be offered at
    /// once.
    public var notBefore = Timestamp.zero
    /// The command is cancelled at this time, even while it runs. Nil, the default: never.
    public var deadline: Timestamp?
    /// 1 to 512 bytes of UTF-8, compared by its bytes. While a command holds this key, a draft of the same
    /// type, payload and destination makes no second command. With another payload or destination it is
    /// refused. Nil, the default: the command has no key.
    public var uniqueKey: String?
    /// How long the command will hold the key; a duration has at least 1 ms. A draft that finds an existing
    /// command does not change that command's period. The default is `kept`.
    public var uniqueFor = UniquePeriod.kept
    /// The commands that must end before it may run, at most 1,000, each once. Without a key the draft goes to the shard of
    /// the first; a parent in another shard lets it run up to a second later. Empty, the default: it may run at once.
    public var dependencies: [Dependency] = []
    /// 1 to 512 bytes of UTF-8, compared by its bytes. Commands with one key run one after the other, in the order of
    /// their submits, whatever their type: each holds the key until it has ended, also in backoff and in doubt, and the
    /// others are `blocked`. Nil, the default: it waits for no other.
    public var orderingKey: String?
    /// How many commands with the ordering key may run at once, 1…1,000; the newest submit sets it. Nil, the default,
    /// leaves it as it is, which is 1 for a key that no command has.
    public var keyLimit: Int?
    /// Whether the command holds its ordering key also when it is given up. `pass`, the default: it does not.
    public var keyFailure = OrderingKeyFailure.pass
    /// The batch of which it becomes a member. It is refused where the batch is sealed or cancelled. Nil, the default: none.
    public var batch: CommandID?
    /// The name of a rate limit, which must exist: the command starts when the limit has a token for it, and so does
    /// each retry. Nil, the default: no named limit holds it back.
    public var limit: String?
    /// Bytes in all, from 0. Zero, the default: they are not known.
    public var total: Int64 = 0
    /// Bytes that are compared instead of the payload where two drafts have the same unique key: for a
    /// payload that names something made anew at each submit. Nil: the payload is compared.
    package var identity: [UInt8]?

    /// The maximum number of ``dependencies``.
    public static let maxDependencies = 1000

    /// Makes a draft whose other fields have their defaults.
    /// - Parameters:
    ///   - type: the type of the operation: 1 to 64 of a-z, 0-9, “.” and “-”.
    ///   - payload: JSON for the operation, at most 1 MiB.
    ///   - destination: ``Destination/none`` where the command uses no network.
    ///   - qos: how urgent the command is. The default is `default`.
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

    /// Whether `type` has the form of a command type: 1 to 64 of a-z, 0-9, “.” and “-”.
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

/// The ordering key of a command that is given up (`tooManyTimes`).
public enum OrderingKeyFailure: String, Sendable, Hashable, CaseIterable {
    /// The next command of the key runs.
    case pass
    /// The command holds its key until a person retries or cancels it.
    case hold

    /// The words that a person writes, for messages.
    package static let forms = "“pass” or “hold”"
}

/// The command that a submit made or found.
public struct Submission: Sendable, Equatable {
    /// The id of the new command, or of the existing one.
    public var id: CommandID
    /// Whether an equal command held the unique key. Then `id` is the id of that command, and nothing was
    /// inserted.
    public var isExisting: Bool
    /// The turn of the new command; 0 for an existing one.
    package var turn: Int64

    /// It waits for others. False for one that existed already.
    package var isBlocked = false
    /// Other commands that are ready and have changed: they have a higher quality of service, because a command of this
    /// commit waits for them. One of its submissions has them.
    package var changed: [CommandID] = []
    /// The quality of service of the command, where it is higher than that of the draft: an urgent command waits for its batch.
    package var qos: QualityOfService?

    package init(id: CommandID, isExisting: Bool, turn: Int64 = 0) {
        self.id = id
        self.isExisting = isExisting
        self.turn = turn
    }
}
