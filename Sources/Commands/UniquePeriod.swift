/// How long a command holds its unique key: the field `uniqueFor`.
///
/// A command in `cancelled` or `tooManyTimes` always gives the key up, as unique jobs of Oban and River do by
/// default, so that an undelivered command can be submitted again. A command in `inDoubt` holds the key,
/// because it may run again. A pruned command holds nothing.
public enum UniquePeriod: Sendable, Hashable {
    /// As long as the command is kept: after a success until it is pruned, by default 7 days after its end.
    case kept
    /// Until the command has ended other than in doubt, so that the same key can be submitted again after
    /// each success.
    case running
    /// For this long from the submit on: at least 1 ms. A part below a millisecond is dropped. `notBefore`,
    /// retries and a success do not change the end. A command that waits or runs for longer does not keep
    /// another one out.
    case duration(Duration)

    /// Whether a command that moves to `status` gives its key up.
    package func isGivenUp(in status: CommandStatus) -> Bool {
        switch status {
        case .cancelled, .tooManyTimes: true
        case .success: self == .running
        case .new, .queued, .sent, .error, .blocked, .inDoubt: false
        }
    }

    /// Whether the period of a command that was submitted at `start` is over, in whatever status.
    package func hasLapsed(since start: Timestamp, at now: Timestamp) -> Bool {
        guard case .duration(let duration) = self else { return false }
        return now >= start + duration
    }

    /// Until when a command that was submitted at `start` holds its key, as words that follow “held”.
    package func end(since start: Timestamp) -> String {
        switch self {
        case .kept:
            "while the command is kept, until \(Command.defaultRetention.components.seconds / 86_400) days after its end"
        case .running: "until the command has ended"
        case .duration(let duration): "until \(start + duration)"
        }
    }
}

extension UniquePeriod: CustomStringConvertible {
    /// `kept`, `running`, or the duration in its largest whole unit of d, h, m, s and ms: `10m`, `1d`,
    /// `1500ms`. The command line reads it back.
    public var description: String {
        switch self {
        case .kept: return "kept"
        case .running: return "running"
        case .duration(let duration):
            let milliseconds = duration.milliseconds
            let units: [(Int64, String)] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")]
            for (unit, name) in units where milliseconds >= unit && milliseconds.isMultiple(of: unit) {
                return "\(milliseconds / unit)\(name)"
            }
            return "\(milliseconds)ms"
        }
    }
}

extension Command {
    /// Whether the command holds its unique key; false without a key.
    /// - Parameter now: the wall clock. At the end of a duration the command no longer holds it.
    public func holdsUniqueKey(at now: Timestamp) -> Bool {
        uniqueKey != nil && !uniqueFor.isGivenUp(in: status) && !uniqueFor.hasLapsed(since: createdAt, at: now)
    }
}

/// The unique keys of commands that requests with an `Idempotency-Key` have made.
///
/// A request may be repeated with another type or ordering key, which the index of unique keys takes for another key, and
/// after its command has given the key up. So these keys have an index of their own, and the door looks there first. It
/// is the only process that makes such keys, and one door has a data directory.
package enum RequestKey {
    /// Every such key begins with it.
    package static let prefix = "idempotency:"
}
