/// The failure of an execution: what is at fault, why, and whether the command may have been delivered. An
/// operation throws it.
public struct CommandFailure: Error, Sendable, Equatable {
    /// The part that is at fault. It decides whether the failure is charged to the command.
    ///
    /// The examples are those of `upload` over HTTP. Their status codes are from RFC 9110, section 15, RFC
    /// 4918, section 11, RFC 6585 and RFC 8470.
    ///
    /// For a command without a destination `link`, `credential` and `destination` are charged like `command`,
    /// because no link delays its next execution.
    public enum Fault: Int, Sendable {
        /// Charged, and retried after a backoff (``RetryPolicy``): 408, 421, 425, 429, most 5xx, another 4xx
        /// with `Retry-After`, a redirect to another host, and 503 while the destination answers other
        /// commands.
        case command = 0
        /// Not charged: a name that is not resolved, a refused or unreachable address, a timeout of connect
        /// or TLS, a stall, 511, or a 503 while the destination answers no other command.
        case link = 1
        /// No retry can succeed: another 4xx without `Retry-After`, a redirect within the host, a changed
        /// source, or an invalid payload. The command is given up.
        case final = 2
        /// Not charged. The destination refuses the credential: 401. Retried after 60 s at the earliest.
        case credential = 3
        /// The connection was cut during a request. The worker replaces this fault: by `command` where other
        /// commands succeed at the destination, else by `link`.
        case reset = 4
        /// Not charged. The destination or its proxy refuses every command: a certificate, a demanded client
        /// certificate, a captive portal, 407 of a proxy, or 507. Retried after 60 s at the earliest.
        case destination = 5
    }

    /// The knowledge of a failed operation about its work.
    public enum Delivery: Sendable {
        /// The destination has not done the work: no byte had left, or a final response refused it.
        case refused
        /// The destination may have done the work. A command that is not idempotent then goes to `inDoubt`.
        case unknown
    }

    /// The part that is at fault, which decides whether the failure is charged.
    public var fault: Fault
    /// A sentence that says what happened, to what, and what to do. It becomes the command's reason.
    public var reason: String
    /// Whether the command may have been delivered: a byte may have left and no final response came, or a 502
    /// or 504 came. See ``Delivery``.
    public var ambiguous: Bool
    /// The minimum wait before the next execution, as the destination asked for it (`Retry-After`, RFC 9110,
    /// section 10.2.3). Nil, the default: the wait follows from the fault.
    public var retryAfter: Duration?
    /// The wait before the next execution where the failure is charged, in place of that of ``RetryPolicy``:
    /// for an operation with a table of its own. Nil, the default: by ``RetryPolicy``.
    package var backoff: Duration?
    /// Whether the destination asks for fewer concurrent requests: 429 or 503. The default is false.
    public var isPushback = false
    /// Whether the destination itself reported the failure, by a response or a certificate, so that it can be
    /// reached. The default is false.
    public var isAnswer = false

    /// Whether the answer was 503. Three in a row, to different commands, open the circuit breaker of the destination.
    package var isUnavailable = false

    /// Nothing was attempted: the command waits, uncharged, for ``retryAfter``, and the coordinator learns
    /// nothing about the destination. The fault is ``Fault/link`` then. The default is false.
    package private(set) var isHeldBack = false

    /// The destination has accepted the request, and still makes what it asks for: 202 with `Retry-After`. The command
    /// waits, uncharged, for ``retryAfter``, at most ``ProgressCounter/maxPending`` in all. The default is false.
    package private(set) var isPending = false

    /// The execution has raised the highest durable offset of the command (``ProgressCounter``): failures are counted, and
    /// waits grow, from 0 again.
    package var hasProgress = false
    /// Where the body of an answer was cut off; nil: none was.
    package var bodyEnd: ProgressCounter.BodyEnd?

    /// The result to store, as JSON, where the execution has left one although it failed: the outputs of a
    /// program. Nil, the default: the stored result stays as it is.
    package var result: [UInt8]?

    /// Makes a failure; ``isPushback`` and ``isAnswer`` are false.
    /// - Parameters:
    ///   - fault: what is at fault, which decides whether the failure is charged.
    ///   - reason: a sentence that says what happened, to what, and what to do. It becomes the command's
    ///     reason.
    ///   - delivery: whether the destination may have done the work. The default is ``Delivery/unknown``: only the
    ///     operation can know that nothing was done. It makes no difference for a command that is idempotent, and
    ///     before `sent`.
    ///   - retryAfter: the minimum wait before the next execution. Nil, the default: it follows from the
    ///     fault.
    @_disfavoredOverload
    public init(_ fault: Fault, reason: String, delivery: Delivery = .unknown, retryAfter: Duration? = nil) {
        self.init(fault, reason: reason, ambiguous: delivery == .unknown, retryAfter: retryAfter)
    }

    /// As ``init(_:reason:delivery:retryAfter:)``, for operations of this package, which state each ambiguous failure.
    package init(_ fault: Fault, reason: String, ambiguous: Bool = false, retryAfter: Duration? = nil) {
        self.fault = fault
        self.reason = reason
        self.ambiguous = ambiguous
        self.retryAfter = retryAfter
    }

    /// The end of an execution that has attempted nothing, because its command has to wait.
    /// - Parameters:
    ///   - reason: what it waits for, in a sentence.
    ///   - wait: how long it waits at the most.
    package static func heldBack(reason: String, for wait: Duration) -> CommandFailure {
        var failure = CommandFailure(.link, reason: reason, retryAfter: wait)
        failure.isHeldBack = true
        return failure
    }

    /// The end of an execution whose destination still makes what it asks for.
    /// - Parameters:
    ///   - reason: what it waits for, in a sentence.
    ///   - wait: as the destination asked for it; 1 s to 60 s are waited.
    package static func pending(reason: String, for wait: Duration) -> CommandFailure {
        var failure = heldBack(reason: reason, for: min(max(wait, .seconds(1)), .seconds(60)))
        failure.isPending = true
        return failure
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

extension CommandFailure {
    /// The failure of an operation that threw another error, which is charged.
    package init(thrown error: any Error, by type: String, ambiguous: Bool) {
        let reason =
            error is CancellationError
            ? "the operation “\(type)” gave up a part of its work, although it was not told to stop"
            : "the operation “\(type)” failed: \(error.words)"
        self.init(.command, reason: reason, ambiguous: ambiguous)
    }
}

extension Error {
    /// The error in words, for a reason: its description, or the name of its case (“invalid header token”).
    package var words: String {
        if self is CancellationError { return "it was stopped" }
        if let failure = self as? CommandFailure { return failure.reason }
        let text = "\(self)"
        guard !(self is any CustomStringConvertible), text.first?.isLowercase == true, text.allSatisfy(\.isLetter)
        else {
            return text
        }
        return text.reduce(into: "") { words, letter in
            words += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)"
        }
    }
}

/// The end of an execution, as the worker saw it. The next status of the command follows from it.
public enum ExecutionResult: Sendable, Equatable {
    /// The operation returned. `result` is what it returned, as JSON; nil for none.
    case success(result: [UInt8]?)
    /// The operation failed. The fault is never `reset` here, because the worker has replaced it.
    case failure(CommandFailure)
    /// The execution was stopped early, for example by preemption or a drain. Nothing is charged. `reason` is
    /// a sentence, and `ambiguous` says whether the command may have been delivered.
    case released(reason: String, ambiguous: Bool)
    /// The worker stopped the execution because of a cancellation request: of a person, a deadline or a
    /// policy. `reason` is a sentence.
    case cancelled(reason: String)

    /// The result to store, as JSON, within ``StoredLimits/result``; nil: none.
    package var storedResult: [UInt8]? {
        switch self {
        case .success(let result): result.map(StoredLimits.bounded(result:))
        case .failure(let failure): failure.result.map(StoredLimits.bounded(result:))
        case .released, .cancelled: nil
        }
    }
}
