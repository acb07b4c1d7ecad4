/// Why an execution failed, and what is at fault. Operations throw it.
public struct CommandFailure: Error, Sendable, Equatable {
    public enum Fault: Int, Sendable {
        /// Counts towards the retry limit: 408, 425, 429, most 5xx, 503 while the destination answers other
        /// commands.
        case command = 0
        /// Not charged: DNS, refused, unreachable, a timeout of connect or TLS, a stall, any other 503. For a
        /// command without a destination it is charged like `command`.
        case link = 1
        /// No retry can succeed: other 4xx, a changed source, an invalid payload.
        case final = 2
        /// Not charged; the credential is probably wrong: 401. Retried after a minute. For a command without
        /// a destination it is charged like `command`.
        case credential = 3
        /// The connection was cut during a request. The worker decides: `command` where other commands
        /// succeed at the destination, else `link`.
        case reset = 4
        /// Not charged; the destination itself is at fault: certificate, demanded client certificate, captive
        /// portal, 507. Retried after a minute. For a command without a destination it is charged like
        /// `command`.
        case destination = 5
    }

    public var fault: Fault
    /// A sentence that says what happened, to what, and what to do.
    public var reason: String
    /// Whether the command may have been delivered: a byte may have left and no final response came, or a 502
    /// or 504 came.
    public var ambiguous: Bool
    /// The minimum wait that the destination asked for.
    public var retryAfter: Duration?
    /// Whether the destination asks for fewer concurrent requests: 429 or 503.
    public var isPushback = false
    /// Whether a response of the destination reported the failure, so that the destination can be reached.
    public var isAnswer = false

    /// Makes a failure; ``isPushback`` and ``isAnswer`` are false.
    /// - Parameters:
    ///   - fault: what is at fault, which decides whether the failure is charged.
    ///   - reason: a sentence that says what happened, to what, and what to do. It becomes the command's
    ///     reason.
    ///   - ambiguous: whether the command may have been delivered. Then a command that is not idempotent goes
    ///     to `inDoubt`.
    ///   - retryAfter: the minimum wait; nil: as the fault implies.
    public init(_ fault: Fault, reason: String, ambiguous: Bool = false, retryAfter: Duration? = nil) {
        self.fault = fault
        self.reason = reason
        self.ambiguous = ambiguous
        self.retryAfter = retryAfter
    }

    /// The failure with ``Fault/reset`` replaced by `command` or `link`. For a command without a destination
    /// every fault but `final` becomes `command`, because no link and no circuit breaker would delay its next
    /// execution.
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
