/// One durable unit of work, as the store has it. This page says what each field means.
public struct Command: Sendable, Equatable {
    /// Primary key. It is sent to the destination as the idempotency key.
    public var id: CommandID
    /// The operation that executes the command: `[a-z0-9.-]+`, at most 64 characters.
    public var type: String
    public var qos = QualityOfService.default
    public var status = CommandStatus.new
    public var destination: Destination
    /// Whether the command may be executed again after an ambiguous end.
    public var idempotent = false
    /// The number of claims so far, never reset. It fences out earlier executions.
    public var claim = 0
    /// A cancellation request, which takes effect when the execution ends or the command is released.
    public var cancelRequested = false
    /// Failures charged so far, 0…``retryLimit``.
    public var retries = 0
    /// Failures charged before the command is given up.
    public var retryLimit = Command.defaultRetryLimit
    /// Deaths of workers charged so far; after ``crashLimit`` of them the command is given up.
    public var crashes = 0
    /// The command was executing when a worker died, and it is not known yet whether it was the cause.
    public var suspect = false
    /// The command is not offered before this time; zero: at once.
    public var notBefore = Timestamp.zero
    /// The command is cancelled at this time, even while it runs.
    public var deadline: Timestamp?
    /// Unique within (type, ordering key) for as long as ``uniqueFor`` says; compared by its bytes.
    public var uniqueKey: String?
    /// How long the command holds its unique key; meaningless without one. See ``holdsUniqueKey(at:)``.
    public var uniqueFor = UniquePeriod.kept
    public var orderingKey: String?
    /// The order of submission within the shard, from 1; assigned by the insert.
    public var turn: Int64 = 0
    /// Bytes that the destination has durably acknowledged, as far as known. A hint that may go down.
    public var offset: Int64 = 0
    /// Bytes in all; 0 where not known.
    public var total: Int64 = 0
    /// The seat of the worker that claimed the command last.
    public var seat: Int?
    /// Why the command has its status: the last error or cancellation, in a sentence.
    public var reason: String?
    public var createdAt: Timestamp
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
    /// Bytes of JSON that a payload may have: 1 MiB.
    public static let payloadLimit = 1 << 20
    /// The default of ``retryLimit``.
    public static let defaultRetryLimit = 5
    /// The maximum of ``retryLimit``.
    public static let maxRetryLimit = 1_000
}
