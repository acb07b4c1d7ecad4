internal import Synchronization

/// How long a commit waits for its shard, and what becomes of its writes where it fails. Pure.
///
/// **A shard that another process keeps locked** (one that was stopped within a commit) fails a commit after the timeout.
/// Writes that are retried wait until the shard is free. Optional writes are given up, because they would keep slots from
/// the work of the other shards, and no more of them are made while the shard is locked. Where only optional writes come,
/// or none, the committer tries ten times a second whether the shard is free.
///
/// **A store whose server is away** is the same to the writes. Each attempt has the whole timeout, because it connects first,
/// and the attempts become rarer, up to one a second.
///
/// **A commit whose outcome is unknown** is repeated under each policy, because only a repetition shows which of its writes were
/// made.
package struct CommitPolicy: Sendable {
    /// The condition of a shard at the last attempt.
    package enum Condition: UInt8, Sendable, AtomicRepresentable {
        /// It took a commit, or failed for another reason.
        case free
        case locked
        case unreachable

        fileprivate init(_ code: StoreError.Code) {
            switch code {
            case .busy: self = .locked
            case .unreachable: self = .unreachable
            default: self = .free
            }
        }
    }

    /// The fate of the writes of a commit that has failed. Optional ones are given up in each case.
    enum Remedy: Equatable {
        /// All fail with the error.
        case fail
        /// The same writes may be committed later.
        case retry
        /// Some of the writes can never be committed: smaller commits show which, so that an unreadable row fails only its
        /// own.
        case divide
    }

    struct Failure: Equatable {
        var remedy: Remedy
        var condition: Condition
        /// Nil where it was delivered before.
        var error: StoreError?
        /// The error, or a change of ``condition``, is delivered even where no write is given up.
        var isNews: Bool
    }

    private let timeout: Duration
    private let retries: Bool

    /// For writes whose callers wait, and decide by the error whether they try again. Each waits as long as a submit.
    package static let once = CommitPolicy(timeout: WriteTimeout.foreground, retries: false)
    /// For writes that may not be lost. A commit waits for a second: other processes hold the lock for milliseconds.
    package static let untilCommitted = CommitPolicy(timeout: WriteTimeout.background, retries: true)

    /// From an attempt at a locked shard to the next.
    private static let probeInterval: Duration = .milliseconds(100)
    /// The timeout of such an attempt, where only optional writes wait.
    private static let probeTimeout: Duration = .milliseconds(20)
    /// How long a commit waits for a slot: longer than the flush of a busy disk, but a flush that hangs delays no other.
    static let slotTimeout: Duration = .milliseconds(20)
    /// From a failed commit to the next attempt; it doubles up to the maximum.
    private static let minRetryDelay: Duration = .milliseconds(50)
    private static let maxRetryDelay: Duration = .seconds(1)

    /// How long a commit waits for the lock of its shard.
    /// - Parameter isProbe: the shard was locked at the last attempt, and no write that is retried waits.
    func timeout(isProbe: Bool) -> Duration { isProbe ? Self.probeTimeout : timeout }

    /// From an attempt at a shard that is not free to the next, while no write waits.
    /// - Parameter attempt: such attempts before that one.
    func pause(in condition: Condition, after attempt: Int) -> Duration {
        condition == .unreachable ? delay(after: attempt) : Self.probeInterval
    }

    /// From a failed commit to the next attempt.
    /// - Parameter attempt: attempts before that one.
    func delay(after attempt: Int) -> Duration {
        min(Self.minRetryDelay * (1 << min(attempt, 10)), Self.maxRetryDelay)
    }

    /// - Parameter before: the condition of the shard at the attempt before.
    func failure(_ error: StoreError, in before: Condition) -> Failure {
        if error.code == .unknown { return Failure(remedy: .retry, condition: .free, error: error, isNews: retries) }
        guard retries else { return Failure(remedy: .fail, condition: .free, error: error, isNews: true) }
        let condition = Condition(error.code)
        let isKnown = condition != .free && condition == before
        let mayPass = error.code.mayPass
        return Failure(
            remedy: mayPass ? .retry : .divide, condition: condition, error: isKnown ? nil : error,
            isNews: condition != before || mayPass && !isKnown)
    }

    /// The commits that show which of some writes cannot be committed.
    /// - Parameters:
    ///   - writes: the writes of the failed commit that are retried.
    ///   - hadOthers: it had optional writes too, which may have been the cause.
    /// - Returns: empty for a single write, which has shown it.
    static func divide<Write>(_ writes: [Write], hadOthers: Bool) -> [[Write]] {
        if hadOthers { return [writes] }
        return writes.count == 1 ? [] : writes.map { [$0] }
    }
}

extension StoreError.Code {
    /// Whether the same writes may be committed later.
    fileprivate var mayPass: Bool {
        switch self {
        case .busy, .unreachable, .unknown, .full, .exhausted, .overloaded, .failed, .permission: true
        case .missing, .foreign, .backup, .unsuitable, .moved, .corrupt, .conflict, .invalid, .notFound, .ambiguous:
            false
        }
    }
}

/// How one commit of a ``CommitGroup`` is tried.
package struct CommitAttempt: Sendable, Equatable {
    /// How long to wait for the write locks that other processes hold.
    package var timeout: Duration
    /// The writes were given to a commit whose outcome is unknown (``StoreError/Code-swift.enum/unknown``). Each that it made is
    /// done, and has the outcome that it had then; the others are made now.
    package var isRepetition: Bool

    package init(timeout: Duration, isRepetition: Bool = false) {
        self.timeout = timeout
        self.isRepetition = isRepetition
    }
}

/// How long a write waits for the write lock of a shard while no other process writes to it (``WriterQueue``).
///
/// A turn lasts one commit: milliseconds, unless the process that holds the lock is stopped or its disk
/// hangs.
package enum WriteTimeout {
    /// For a write that a person or a producer waits for.
    package static let foreground: Duration = .seconds(10)
    /// For a write that can be done later, or in another shard.
    static let background: Duration = .seconds(1)
    /// For a batch of drafts that can go to other shards.
    static let batch: Duration = .milliseconds(30)
}
