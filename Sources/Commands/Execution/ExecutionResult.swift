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
