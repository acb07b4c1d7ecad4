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
