/// Decides the next status of a claimed command when its execution ends or its worker dies. Pure.
package struct Settlement: Sendable, Equatable {
    /// The minimum wait after a failure of the destination or the credential. Such failures are not charged,
    /// so no retry limit ends them, and servers lock out clients that log in without a pause.
    package static let minRefusalDelay: Duration = .seconds(60)

    /// The statuses to pass through, in order; each is a transition of its own.
    package var statuses: [CommandStatus]
    package var retries: Int
    package var notBefore: Timestamp
    package var reason: String?

    /// Decides the end of an execution.
    /// - Parameters:
    ///   - command: the row as it stands, `queued` or `sent`.
    ///   - result: what the worker saw.
    ///   - now: the wall clock.
    ///   - chance: a number in 0..<1 for the jitter of a backoff.
    package init(
        of command: Command, result: ExecutionResult, policy: RetryPolicy = RetryPolicy(), now: Timestamp,
        chance: Double
    ) {
        var failures = command.retries
        if case .failure(let failure) = result, failure.hasProgress { failures = 0 }
        retries = failures
        notBefore = command.notBefore
        let uncertain = command.status == .sent && !command.idempotent
        switch result {
        case .success:
            statuses = [.success]
            reason = nil
        case .cancelled(let why):
            statuses = [.cancelled]
            // Where there is a cancellation request, the row has its reason.
            reason = Self.cancellation(command, because: command.cancelRequested ? command.reason ?? why : why)
        case .released(let why, let ambiguous):
            (statuses, reason) = Self.release(command, reason: why, inDoubt: ambiguous && uncertain)
        case .failure(let failure):
            reason = failure.reason
            if failure.ambiguous && uncertain && !command.cancelRequested {
                statuses = [.inDoubt]
                return
            }
            switch failure.fault {
            case .link:
                (statuses, reason) = Self.release(command, reason: failure.reason, inDoubt: false)
                if let wait = failure.retryAfter { notBefore = now + wait }
            case .credential, .destination:
                (statuses, reason) = Self.release(command, reason: failure.reason, inDoubt: false)
                if statuses == [.new] { notBefore = now + max(failure.retryAfter ?? .zero, Self.minRefusalDelay) }
            case .command where command.cancelRequested, .reset where command.cancelRequested,
                .final where command.cancelRequested:
                statuses = [.cancelled]
                reason = Self.cancellation(command, because: "cancelled; its last execution failed: \(failure.reason)")
            case .final:
                statuses = [.error, .tooManyTimes]
            case .command where failures >= command.retryLimit && !failure.hasProgress,
                .reset where failures >= command.retryLimit && !failure.hasProgress:
                statuses = [.error, .tooManyTimes]
            case .command, .reset:
                let wait =
                    failure.backoff.map { max($0, failure.retryAfter ?? .zero) }
                    ?? policy.delay(retries: failures, retryAfter: failure.retryAfter, chance: chance)
                statuses = [.error]
                // An execution that has brought the command further is not one of a row of failures.
                retries = failure.hasProgress ? 0 : failures + 1
                notBefore = now + wait
            }
        }
    }

    /// Decides what the death of a worker does to a command that it had claimed.
    /// - Parameters:
    ///   - charged: the death is charged to the command. It then waits 2, 4, 8 and 16 s, because a supervisor
    ///     gives up a worker that dies 5 times in 10 s, and one poisonous command must not cause that.
    ///   - started: the command may have been executed; false where it was only claimed.
    ///   - now: the wall clock.
    package init(ofDeath command: Command, charged: Bool, started: Bool = true, reason why: String, now: Timestamp) {
        retries = command.retries
        notBefore = command.notBefore
        let uncertain = started && command.status == .sent && !command.idempotent
        if charged && command.crashes + 1 >= Command.crashLimit && !uncertain && !command.cancelRequested {
            statuses = [.error, .tooManyTimes]
            reason = "\(command.crashes + 1) workers died while they executed it; the last: \(why)"
        } else {
            (statuses, reason) = Self.release(command, reason: why, inDoubt: uncertain)
            if charged, statuses == [.new] { notBefore = now + .seconds(2 << min(command.crashes, 5)) }
        }
    }

    /// Releases the command, or ends it where it has a cancellation request or is in doubt.
    private static func release(_ command: Command, reason: String, inDoubt: Bool) -> ([CommandStatus], String) {
        if command.cancelRequested { return ([.cancelled], cancellation(command, because: "cancelled; \(reason)")) }
        return inDoubt ? ([.inDoubt], reason) : ([.new], reason)
    }

    private static func cancellation(_ command: Command, because reason: String) -> String {
        command.status == .sent ? "\(reason); may have been delivered" : reason
    }
}
