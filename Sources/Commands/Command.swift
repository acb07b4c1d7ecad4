/// One durable unit of work, as the store has it.
///
/// Sizes are bytes, and times are the wall clock of the process that wrote the row. A default is the value of
/// a new command.
public struct Command: Sendable, Equatable {
    /// The primary key. An `upload` over HTTP sends it as `Idempotency-Key`.
    public var id: CommandID
    /// The type, which selects the operation that executes the command: `[a-z0-9.-]+`, 1 to 64 characters.
    public var type: String
    /// How urgent the command is. The default is `default`.
    public var qos = QualityOfService.default
    /// The status after the newest transition. The default is `new`.
    public var status = CommandStatus.new
    /// The destination that the command talks to; ``Destination/none`` where it uses no network.
    public var destination: Destination
    /// Whether the command may be executed again after an ambiguous end. The default is false.
    public var idempotent = false
    /// The number of claims so far, from 0. It is never reset, so it fences out earlier executions.
    public var claim = 0
    /// Whether a cancellation is requested. The request takes effect when the execution ends without success,
    /// or when the command is released.
    public var cancelRequested = false
    /// Failures charged so far, 0…``retryLimit``.
    public var retries = 0
    /// The maximum of ``retries``, 0…``maxRetryLimit``. The next charged failure gives the command up.
    /// The default is 5.
    public var retryLimit = Command.defaultRetryLimit
    /// Deaths of workers charged so far. The fifth gives the command up, unless it is in doubt or its
    /// cancellation is requested.
    public var crashes = 0
    /// Whether the command was executing when a worker died, and may be the cause. The default is false.
    public var suspect = false { didSet { if !suspect { isSoleSuspect = false } } }
    /// Whether its worker died beside other suspects. It runs to its end as the only suspect of its worker, so that the
    /// next death tells which one is the cause.
    package var isSoleSuspect = false
    /// The command is not offered before this time, for example before the end of its backoff. Zero, the
    /// default: it may be offered at once.
    public var notBefore = Timestamp.zero
    /// The command is cancelled at this time, even while it runs. Nil, the default: never.
    public var deadline: Timestamp?
    /// Unique among the commands of one type and ordering key, for the period of ``uniqueFor``. It has 1 to
    /// 512 bytes of UTF-8, and is compared by its bytes. Nil, the default: the command has none.
    public var uniqueKey: String?
    /// How long the command holds its unique key, see ``holdsUniqueKey(at:)``. Without a key it has no
    /// effect. The default is `kept`.
    public var uniqueFor = UniquePeriod.kept
    /// Commands with one ordering key run one after the other. Nil, the default: it waits for no other.
    public var orderingKey: String?
    /// The batch of which it is a member. Nil, the default: none.
    public var batch: CommandID?
    /// The name of the rate limit that its starts count against; nil, the default: none.
    public var limit: String?
    /// The position in the order of submission within the shard, from 1; 0 before the insert.
    public var turn: Int64 = 0
    /// Bytes that the destination has durably acknowledged, as far as known. It may go down, because an
    /// operation asks the destination again. A success sets it to ``total``.
    public var offset: Int64 = 0
    /// Bytes in all; 0 where they are not known.
    public var total: Int64 = 0
    /// The seat, 0…255, of the worker that claimed the command last; nil before the first claim.
    public var seat: Int?
    /// The last error, release or cancellation, in a sentence. A claim does not change it, and a success
    /// removes it. Nil where there is none.
    public var reason: String?
    /// The time of the submit.
    public var createdAt: Timestamp
    /// The time of the last transition, stored progress, or change of the quality of service.
    public var updatedAt: Timestamp

    /// Makes a command whose other fields have the values of a new one.
    package init(id: CommandID, type: String, destination: Destination, createdAt: Timestamp) {
        self.id = id
        self.type = type
        self.destination = destination
        self.createdAt = createdAt
        updatedAt = createdAt
    }

    /// Deaths of workers after which a command is given up. With 3, one healthy command of about 5,000 was
    /// given up in one of four runs in which a worker was killed from outside every other second.
    package static let crashLimit = 5
    /// How long a command in `success` or `cancelled` is kept before it is pruned, unless configured
    /// otherwise.
    package static let defaultRetention: Duration = .seconds(7 * 86_400)
    /// The maximum size of a payload: 1 MiB (1,048,576 bytes). A submit refuses a larger one.
    public static let payloadLimit = 1 << 20
    /// The default of ``retryLimit``: 5. With the defaults of ``RetryPolicy`` these retries take 10 minutes,
    /// 605 s ± 25 %.
    public static let defaultRetryLimit = 5
    /// The maximum of ``retryLimit``: 1,000.
    public static let maxRetryLimit = 1_000
}

/// One execution of a command, named by the command and its claim. The claim is counted, so that a late word about an
/// earlier execution names another value.
package struct CommandClaim: Hashable, Sendable {
    package var id: CommandID
    package var claim: Int

    package init(id: CommandID, claim: Int) {
        self.id = id
        self.claim = claim
    }
}
