/// The status of a command.
///
/// The raw values are part of the contract: they are in the store and in queries of other programs. The
/// values 8 and 9 have no status. `Codable` uses the raw value.
public enum CommandStatus: Int, Sendable, CaseIterable, Codable {
    /// Durable, and ready or waiting for its time.
    case new = 0
    /// Claimed by a worker. Nothing has been sent.
    case queued = 1
    /// A first byte may have left.
    case sent = 2
    /// An execution failed; the command waits for its backoff.
    case error = 3
    /// Executed successfully.
    case success = 4
    /// Ended by a person, a deadline, or a `cancel` policy of the network; or its destination could not be
    /// reached for 7 days.
    case cancelled = 5
    /// Waits for commands that it depends on. A flow waits for its nodes.
    case blocked = 6
    /// The command is not idempotent, and it is not known whether it was delivered. It waits for a person.
    case inDoubt = 7
    /// A dead letter: its retries or crashes are used up, or no retry can repair its failure.
    case tooManyTimes = 10

    /// The word in events, output and options: the name of the case.
    public var name: String { memberName.description }

    /// ``name`` as a literal, for writers of JSON.
    package var memberName: StaticString {
        switch self {
        case .new: "new"
        case .queued: "queued"
        case .sent: "sent"
        case .error: "error"
        case .success: "success"
        case .cancelled: "cancelled"
        case .blocked: "blocked"
        case .inDoubt: "inDoubt"
        case .tooManyTimes: "tooManyTimes"
        }
    }

    /// The status with that ``name``, in the same case; nil for any other word.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// Whether a command may move from this status to `next`. This is the table of legal transitions. The
    /// store refuses all others.
    public func mayBecome(_ next: CommandStatus) -> Bool {
        switch self {
        case .new: next == .queued || next == .cancelled
        case .queued: next == .sent || next == .error || next == .new || next == .cancelled
        case .sent: next == .success || next == .error || next == .new || next == .inDoubt || next == .cancelled
        case .error: next == .queued || next == .tooManyTimes || next == .new || next == .cancelled
        case .success: false
        case .cancelled: next == .new || next == .blocked
        // Only a flow goes from here to `success` or `tooManyTimes`.
        case .blocked: next == .new || next == .cancelled || next == .success || next == .tooManyTimes
        case .inDoubt: next == .success || next == .new || next == .cancelled
        // A person cancels a command that holds its ordering key.
        case .tooManyTimes: next == .new || next == .blocked || next == .cancelled
        }
    }

    /// Whether the command has ended: `success`, `cancelled`, `tooManyTimes` or `inDoubt`. Only a person can
    /// change its status again, and `success` stays.
    public var isFinal: Bool {
        switch self {
        case .success, .cancelled, .tooManyTimes, .inDoubt: true
        case .new, .queued, .sent, .error, .blocked: false
        }
    }

    /// Whether a worker has claimed the command: `queued` or `sent`.
    public var isClaimed: Bool { self == .queued || self == .sent }
}

extension CommandStatus: CustomStringConvertible {
    /// The same as ``name``.
    public var description: String { name }
}
