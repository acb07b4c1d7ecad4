/// One durable unit of work, as it stands in the store. The page that tells the data.
public struct Command: Sendable, Equatable {
    /// Primary key; also sent to the destination as the idempotency key.
    public var id: CommandID
    /// Which operation executes it: `[a-z0-9.-]+`, at most 64 characters.
    public var type: String
    public var qos: QualityOfService
    public var status: CommandStatus
    public var destination: Destination
    /// May it be executed again after an ambiguous end?
    public var idempotent: Bool
    /// Raised at every claim, never reset: the fence that keeps out earlier executions.
    public var claim: Int
    /// A wish that whoever ends or releases the command fulfils.
    public var cancelRequested: Bool
    /// Failures charged, 0…retryLimit.
    public var retries: Int
    public var retryLimit: Int
    /// Deaths of workers charged; ``crashLimit`` of them are the end.
    public var crashes: Int
    /// Was executing when a worker died, and nobody knows yet whether it was the reason.
    public var suspect: Bool
    /// Not offered earlier; zero: at once.
    public var notBefore: Timestamp
    /// Cancelled after, also while running.
    public var deadline: Timestamp?
    /// Unique within (type, ordering key) for as long as ``uniqueFor`` says; compared by its bytes.
    public var uniqueKey: String?
    /// How long the command holds its unique key; without one it means nothing. See ``holdsUniqueKey(at:)``.
    public var uniqueFor = UniquePeriod.kept
    public var orderingKey: String?
    /// The order of submission within the shard; assigned by the insert, from 1.
    public var turn: Int64
    /// Bytes that the destination has durably acknowledged, as far as known: a hint that may go down.
    public var offset: Int64
    /// Bytes in all; 0 when not known.
    public var total: Int64
    /// The seat of the worker that claimed it last.
    public var seat: Int?
    /// The last error or gate, in a sentence.
    public var reason: String?
    public var createdAt: Timestamp
    public var updatedAt: Timestamp

    package init(
        id: CommandID, type: String, qos: QualityOfService, status: CommandStatus, destination: Destination,
        idempotent: Bool, claim: Int = 0, cancelRequested: Bool = false, retries: Int = 0, retryLimit: Int,
        crashes: Int = 0, suspect: Bool = false, notBefore: Timestamp = .zero, deadline: Timestamp? = nil,
        uniqueKey: String? = nil, orderingKey: String? = nil, turn: Int64 = 0, offset: Int64 = 0, total: Int64 = 0,
        seat: Int? = nil, reason: String? = nil, createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.id = id
        self.type = type
        self.qos = qos
        self.status = status
        self.destination = destination
        self.idempotent = idempotent
        self.claim = claim
        self.cancelRequested = cancelRequested
        self.retries = retries
        self.retryLimit = retryLimit
        self.crashes = crashes
        self.suspect = suspect
        self.notBefore = notBefore
        self.deadline = deadline
        self.uniqueKey = uniqueKey
        self.orderingKey = orderingKey
        self.turn = turn
        self.offset = offset
        self.total = total
        self.seat = seat
        self.reason = reason
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// Deaths of workers after which a command is given up. Not 3: where workers are killed from outside every other
    /// second, one healthy command of some 5,000 was struck three times in one run of four.
    package static let crashLimit = 5
    /// How long a command in `success` or `cancelled` is kept before it is pruned, unless configured otherwise.
    package static let defaultRetention: Duration = .seconds(7 * 86_400)
    /// Bytes of JSON that a payload may have: 1 MiB.
    public static let payloadLimit = 1 << 20
    /// The default of ``retryLimit``.
    public static let defaultRetryLimit = 5
    /// The most that ``retryLimit`` may be.
    public static let largestRetryLimit = 1_000
}
