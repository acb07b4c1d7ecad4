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
