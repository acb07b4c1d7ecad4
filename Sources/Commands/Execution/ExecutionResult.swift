/// How an execution ended, as the worker saw it. ``Settlement`` decides what that means for the command.
public enum ExecutionResult: Sendable, Equatable {
    /// The destination accepted. `result` is JSON: HTTP status, chosen headers, up to 64 KiB of body.
    case success(result: [UInt8]?)
    case failure(CommandFailure)
    /// The execution was stopped early, by preemption or a drain. Nothing is charged.
    case released(reason: String, ambiguous: Bool)
    /// The worker stopped the execution because of a cancellation request: of a person, a deadline or a
    /// policy.
    case cancelled(reason: String)
}
