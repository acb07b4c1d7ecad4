/// Where a command stands. The raw values are part of the contract: they are in the store and in other people's queries.
public enum CommandStatus: Int, Sendable, CaseIterable, Codable {
    /// Durable, waiting for its turn.
    case new = 0
    /// Claimed by a worker.
    case queued = 1
    /// Bytes may have left.
    case sent = 2
    /// An execution failed; waits for its backoff.
    case error = 3
    /// Done.
    case success = 4
    /// Ended by a person, a deadline, a failed parent, or a `cancel` policy of the network; or its destination could
    /// not be reached for 7 days.
    case cancelled = 5
    /// Waits for commands that it depends on.
    case blocked = 6
    /// Not idempotent, and nobody knows whether it was delivered. Waits for a person.
    case inDoubt = 7
    /// Given up: retries or crashes used up, or a failure that no retry can mend. The dead letters.
    case tooManyTimes = 10

    /// The word in events, output and flags.
    public var name: String {
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

    /// The status of that name, nil for any other word.
    public init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    /// Whether a row may go from this status to `next`. The one table of legal transitions: the store refuses all others.
    public func mayBecome(_ next: CommandStatus) -> Bool {
        switch self {
        case .new: next == .queued || next == .cancelled
        case .queued: next == .sent || next == .error || next == .new || next == .cancelled
        case .sent: next == .success || next == .error || next == .new || next == .inDoubt || next == .cancelled
        case .error: next == .queued || next == .tooManyTimes || next == .new || next == .cancelled
        case .success: false
        case .cancelled: next == .new
        case .blocked: next == .new || next == .cancelled
        case .inDoubt: next == .success || next == .new || next == .cancelled
        case .tooManyTimes: next == .new
        }
    }

    /// Ended: nothing but a person changes it again.
    public var isFinal: Bool {
        switch self {
        case .success, .cancelled, .tooManyTimes, .inDoubt: true
        case .new, .queued, .sent, .error, .blocked: false
        }
    }

    /// In the hands of a worker.
    public var isClaimed: Bool { self == .queued || self == .sent }
}

extension CommandStatus: CustomStringConvertible {
    public var description: String { name }
}
