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
