/// How an execution ended, as the worker saw it. What becomes of the command is decided by ``Settlement``.
public enum ExecutionResult: Sendable, Equatable {
    /// The destination said yes. `result` is JSON: HTTP status, chosen headers, up to 64 KiB of body.
    case success(result: [UInt8]?)
    case failure(CommandFailure)
    /// Given back: preempted, drained, or nobody's fault. Nothing is charged.
    case released(reason: String, ambiguous: Bool)
    /// Its owner stopped it because a person, a deadline or a policy wished so.
    case cancelled(reason: String)
}

/// Why an execution failed, and whose fault it is. Operations throw it.
public struct CommandFailure: Error, Sendable, Equatable {
    public enum Fault: Int, Sendable {
        /// Counts towards the retry limit: 408, 425, 429, most 5xx, 503 while the destination answers other commands.
        case command = 0
        /// Not charged: DNS, refused, unreachable, time-outs of connect and TLS, a stall, any other 503. Of a command
        /// without a destination it is charged like `command`.
        case link = 1
        /// No retry can mend it: other 4xx, a changed source, an invalid payload.
        case final = 2
        /// Not charged, and the credential is in question: 401. Tried again after a minute. Of a command without a
        /// destination it is charged like `command`.
        case credential = 3
        /// The connection was cut in mid-request. The command's where others succeed at its destination, else the link's:
        /// the worker, which sees them, decides.
        case reset = 4
        /// Not charged, and the destination itself is in question: certificate, demanded client certificate, captive
        /// portal, 507. Tried again after a minute. Of a command without a destination it is charged like `command`.
        case destination = 5
    }

    public var fault: Fault
    /// A sentence that says what happened, to what, and what to do.
    public var reason: String
    /// A byte may have left and no final response came, or a 502 or 504 came.
    public var ambiguous: Bool
    /// What the destination asked for; a lower bound of the wait.
    public var retryAfter: Duration?
    /// The destination wants fewer requests at once: 429 or 503.
    public var isPushback = false
    /// A response of the destination says so: it can be reached.
    public var isAnswer = false

    /// Makes a failure; ``isPushback`` and ``isAnswer`` are false.
    /// - Parameters:
    ///   - fault: whose fault it is, which decides whether it is charged.
    ///   - reason: a sentence that says what happened, to what, and what to do; kept as the command's reason.
    ///   - ambiguous: it may have been delivered; then what is not idempotent goes to `inDoubt`.
    ///   - retryAfter: not executed again earlier; nil: as the fault has it.
    public init(_ fault: Fault, reason: String, ambiguous: Bool = false, retryAfter: Duration? = nil) {
        self.fault = fault
        self.reason = reason
        self.ambiguous = ambiguous
        self.retryAfter = retryAfter
    }

    /// With a ``Fault/reset`` decided. Where there is no destination there is no link to blame, and nothing that would
    /// hold the command back from its next execution.
    package func judged(at destination: Destination, othersSucceed: Bool) -> CommandFailure {
        var judged = self
        if fault == .reset { judged.fault = othersSucceed ? .command : .link }
        switch judged.fault {
        case .link, .credential, .destination: if destination == .none { judged.fault = .command }
        case .command, .final, .reset: break
        }
        return judged
    }
}

/// What becomes of a claimed command when its execution ends: the one place where that is decided. Pure.
package struct Settlement: Sendable, Equatable {
    /// The minimum wait of a command that its destination refused for a reason of the destination's own. Such
    /// failures are not charged, so no retry limit ends them, and servers lock out clients that log in without a pause.
    package static let refusalPause: Duration = .seconds(60)

    /// The statuses to go through, in order; each is a transition row of its own.
    package var statuses: [CommandStatus]
    package var retries: Int
    package var notBefore: Timestamp
    package var reason: String?

    /// Decides the end of an execution.
    /// - Parameters:
    ///   - command: the row as it stands, `queued` or `sent`.
    ///   - ending: what the worker saw.
    ///   - now: wall clock.
    ///   - chance: a number in 0..<1 for the jitter of a backoff.
    package init(
        of command: Command, ending: ExecutionResult, policy: RetryPolicy = RetryPolicy(), now: Timestamp, chance: Double
    ) {
        retries = command.retries
        notBefore = command.notBefore
        let uncertain = command.status == .sent && !command.idempotent
        switch ending {
        case .success:
            statuses = [.success]
            reason = nil
        case .cancelled(let why):
            statuses = [.cancelled]
            // Who wished it is said in the row.
            reason = Self.cancellation(command, because: command.cancelRequested ? command.reason ?? why : why)
        case .released(let why, let ambiguous):
            (statuses, reason) = Self.back(command, reason: why, inDoubt: ambiguous && uncertain)
        case .failure(let failure):
            reason = failure.reason
            if failure.ambiguous && uncertain && !command.cancelRequested {
                statuses = [.inDoubt]
                return
            }
            switch failure.fault {
            case .link:
                (statuses, reason) = Self.back(command, reason: failure.reason, inDoubt: false)
                if let wait = failure.retryAfter { notBefore = now + wait }
            case .credential, .destination:
                (statuses, reason) = Self.back(command, reason: failure.reason, inDoubt: false)
                if statuses == [.new] { notBefore = now + max(failure.retryAfter ?? .zero, Self.refusalPause) }
            case .command where command.cancelRequested, .reset where command.cancelRequested,
                .final where command.cancelRequested:
                statuses = [.cancelled]
                reason = Self.cancellation(command, because: "cancelled; its last execution failed: \(failure.reason)")
            case .final:
                statuses = [.error, .tooManyTimes]
            case .command where command.retries >= command.retryLimit,
                .reset where command.retries >= command.retryLimit:
                statuses = [.error, .tooManyTimes]
            case .command, .reset:
                let wait = policy.delay(retries: command.retries, retryAfter: failure.retryAfter, chance: chance)
                statuses = [.error]
                retries = command.retries + 1
                notBefore = now + wait
            }
        }
    }

    /// Decides what the death of a worker does to a command that it had claimed.
    /// - Parameters:
    ///   - charged: this one is convicted of the crash. It waits 2, 4, 8 and 16 s, so that the deaths of one poisonous
    ///     command are not those of a child that cannot live, at which a supervisor stops (5 in 10 s).
    ///   - started: it may have been executed; false where it was certainly no more than claimed.
    ///   - now: wall clock.
    package init(ofDeath command: Command, charged: Bool, started: Bool = true, reason why: String, now: Timestamp) {
        retries = command.retries
        notBefore = command.notBefore
        let uncertain = started && command.status == .sent && !command.idempotent
        if charged && command.crashes + 1 >= Command.crashLimit && !uncertain && !command.cancelRequested {
            statuses = [.error, .tooManyTimes]
            reason = "\(command.crashes + 1) workers died while they executed it; the last: \(why)"
        } else {
            (statuses, reason) = Self.back(command, reason: why, inDoubt: uncertain)
            if charged, statuses == [.new] { notBefore = now + .seconds(2 << min(command.crashes, 5)) }
        }
    }

    private static func back(_ command: Command, reason: String, inDoubt: Bool) -> ([CommandStatus], String) {
        if command.cancelRequested { return ([.cancelled], cancellation(command, because: "cancelled; \(reason)")) }
        return inDoubt ? ([.inDoubt], reason) : ([.new], reason)
    }

    private static func cancellation(_ command: Command, because reason: String) -> String {
        command.status == .sent ? "\(reason); may have been delivered" : reason
    }
}
