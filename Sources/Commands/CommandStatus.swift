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

    /// The words of tables, pages and sentences. A command may give up at its first failure, so its name would mislead.
    package var word: String {
        switch self {
        case .inDoubt: "in doubt"
        case .tooManyTimes: "gave up"
        default: name
        }
    }

    /// The words as a predicate: `is new`, `gave up`.
    package var clause: String { self == .tooManyTimes ? word : "is \(word)" }

    /// The status that an option names: its ``name`` or its ``word``, in any case, with or without spaces; nil for any other.
    package init?(option text: String) {
        func plain(_ text: String) -> String { text.asciiLowercased.filter { $0 != " " && $0 != "-" && $0 != "_" } }
        let text = plain(text)
        guard let match = Self.allCases.first(where: { plain($0.name) == text || plain($0.word) == text }) else {
            return nil
        }
        self = match
    }

    /// The status that a word of another queue probably means, for a message; nil where it is not known.
    package static func suggestion(for text: String) -> String? {
        let text = text.asciiLowercased
        switch text {
        case "failed", "failure", "errors", "errored": return "error, which is tried again, or gaveUp, which is not"
        case "dead", "deadletter", "dead-letter", "discarded", "givenup", "given-up", "exhausted": return "gaveUp"
        case "done", "ok", "succeeded", "completed", "complete", "finished": return "success"
        case "running", "active", "executing", "started", "processing", "working": return "sent or queued"
        case "pending", "waiting", "ready", "scheduled", "available", "enqueued": return "new"
        case "retry", "retrying", "retryable": return "error"
        case "canceled", "aborted": return "cancelled"
        case "held", "depends": return "blocked"
        default:
            return NearestName.find(text, among: allCases.map { $0.name.asciiLowercased }).flatMap { name in
                allCases.first { $0.name.asciiLowercased == name }?.name
            }
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
