internal import Commands
internal import Store

/// One execution of a command, and the state of the command after it.
public struct TestRun: Sendable, Equatable {
    /// The state of the command after the execution.
    public enum Outcome: Sendable, Equatable {
        /// The result of the operation; nil for none.
        case success(JSONValue?)
        /// A charged failure. The command runs again at this time: 5 s × 3ⁿ ± 25 % later, or as the failure asks.
        case retry(at: Timestamp)
        /// Given back, uncharged: preempted, or a failure that is not the command's own. It runs again.
        case released
        /// Given up: the failure was final, or its retries are used up.
        case failed
        /// Ended by a cancellation.
        case cancelled
        /// Not idempotent, and it may have been delivered. A person decides.
        case inDoubt
    }

    /// Bytes that the operation has reported.
    public struct Progress: Sendable, Equatable {
        /// Bytes from the start that are durable at the destination.
        public var offset: Int64
        /// Bytes in all; 0: not known.
        public var total: Int64

        /// Makes a report.
        public init(offset: Int64, total: Int64) {
            self.offset = offset
            self.total = total
        }
    }

    /// The command as the execution left it.
    public var command: Command
    /// The state of the command after the execution.
    public var outcome: Outcome
    /// The payload that the operation got: with the results of other commands in the place of references.
    public var payload: JSONValue
    /// The checkpoints that the operation has saved, in order.
    public var checkpoints: [[UInt8]]
    /// The progress that the operation has reported, in order.
    public var progress: [Progress]
    /// Whether the execution has reached the point of its ``Interruption``.
    public var wasInterrupted: Bool

    /// The number of the execution: the claims of the command so far, from 1.
    public var attempt: Int { command.claim }
    /// Why the command came to its status, in a sentence; nil after a success.
    public var reason: String? { command.reason }
}

extension TestRun {
    init(of command: Command, _ record: ExecutionRecorder.Record, in queue: QueueAccess) throws(StoreError) {
        let payload: [UInt8] =
            if let payload = record.payload { payload } else { try queue.payload(command.id) ?? [] }
        self.init(
            command: command, outcome: Outcome(of: command, result: try queue.result(command.id)),
            payload: JSONValue(stored: payload) ?? .null, checkpoints: record.checkpoints, progress: record.progress,
            wasInterrupted: record.wasInterrupted)
    }
}

extension TestRun.Outcome {
    fileprivate init(of command: Command, result: [UInt8]?) {
        switch command.status {
        case .success: self = .success(result.flatMap { JSONValue(stored: $0) })
        case .error: self = .retry(at: command.notBefore)
        case .tooManyTimes: self = .failed
        case .cancelled: self = .cancelled
        case .inDoubt: self = .inDoubt
        case .new, .blocked, .queued, .sent: self = .released
        }
    }
}

extension JSONValue {
    /// Nil for bytes that are not JSON.
    init?(stored bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes) else { return nil }
        self = value
    }
}

/// An end that comes to an execution from outside, at a point that the execution reaches.
///
/// The execution stops at the point: nothing of the operation runs until its task is cancelled. So a test sees the same
/// in each run.
public struct Interruption: Sendable, Equatable {
    /// A point of an execution.
    public enum Point: Sendable, Equatable {
        /// Just before `execute` is called.
        case start
        /// When a checkpoint is saved, counted from 1.
        case checkpoint(Int)
        /// When the operation reports an offset of this many bytes or more.
        case progress(Int64)
    }

    enum Kind: Sendable, Equatable {
        case cancel, preempt, crash
    }

    let kind: Kind
    let point: Point

    /// A person cancels the command.
    public static func cancel(at point: Point = .start) -> Interruption {
        Interruption(kind: .cancel, point: point)
    }

    /// The execution makes way for another one, uncharged: the command is `new` again, and keeps its checkpoint.
    public static func preempt(at point: Point = .start) -> Interruption {
        Interruption(kind: .preempt, point: point)
    }

    /// The worker dies: the command is `new` again, or `inDoubt` where it is not idempotent. Later writes
    /// of the execution have no effect on the store.
    public static func crash(at point: Point = .start) -> Interruption {
        Interruption(kind: .crash, point: point)
    }
}
