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

/// The backoff after a charged failure: 5 s × 3ⁿ ± 25 %, at most an hour, where n failures were charged
/// before.
///
/// The values are not checked. They must be finite and not negative.
public struct RetryPolicy: Sendable {
    /// The wait after the first failure. The default is 5 s.
    public var base: Duration = .seconds(5)
    /// The factor by which each further failure multiplies the wait, from 1. The default is 3.
    public var factor = 3.0
    /// The share, 0…1, by which a wait is randomly made shorter or longer. Without it, commands that failed
    /// together would run again together. The default is 0.25.
    public var jitter = 0.25
    /// The maximum wait, with its jitter. A longer `Retry-After` passes it. The default is an hour.
    public var maxDelay: Duration = .seconds(3600)

    /// The longest wait between two executions: the one that a program of `exec` may ask for. Webhooks wait up to 30 h.
    package static let longestWait: Duration = .seconds(7 * 86_400)

    /// Makes a policy with the defaults.
    public init() {}

    /// The wait from a failure to the next execution, in whole milliseconds unless `retryAfter` is longer.
    /// - Parameters:
    ///   - retries: failures charged before this one. A negative number counts as 0.
    ///   - retryAfter: the minimum that the destination asked for; nil where it asked for none.
    ///   - chance: a number in 0..<1 that decides the jitter: 0 gives the shortest wait, 0.5 no jitter.
    public func delay(retries: Int, retryAfter: Duration?, chance: Double) -> Duration {
        var seconds = base.seconds
        for _ in 0..<min(max(retries, 0), 32) { seconds = min(seconds * factor, maxDelay.seconds) }
        seconds = min(seconds * (1 + jitter * (2 * chance - 1)), maxDelay.seconds)
        // A policy of another program may have any values; a century is longer than any wait.
        let bounded = seconds >= 0 ? min(seconds, 3e9) : 0
        return max(.milliseconds(Int64(bounded * 1000)), retryAfter ?? .zero)
    }
}

/// How much of the texts of operations and destinations the store keeps.
package enum StoredLimits {
    /// Bytes of a reason; the rest is cut between two characters.
    package static let reason = 2 << 10
    /// Bytes of a result. A stored response of 64 KiB takes up to six times as many where each of its bytes is escaped.
    package static let result = 512 << 10
    /// Bytes of a checkpoint. The table of the 10,000 parts of an S3 upload takes half of it.
    package static let checkpoint = 1 << 20

    /// A reason of at most ``reason`` bytes.
    package static func bounded(_ text: String) -> String {
        guard text.utf8.count > reason else { return text }
        var kept = ""
        var left = reason - "…".utf8.count
        for character in text {
            left -= character.utf8.count
            guard left >= 0 else { break }
            kept.append(character)
        }
        return kept + "…"
    }

    /// A result of at most ``result`` bytes. One that is larger is replaced by a sentence, because the command has
    /// succeeded all the same.
    package static func bounded(result bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > result else { return bytes }
        let problem = "the result has \(bytes.count) bytes, and at most \(result) are kept"
        return JSONValue.object([.init("problem", .string(problem))]).bytes
    }
}
