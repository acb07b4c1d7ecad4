internal import Commands
internal import Operations
internal import Store

/// Values that transitions return.
extension HeldCommands {
    /// A command that got a slot, for its task.
    struct Start: Sendable {
        let execution: CommandExecution
        let operation: any CommandOperation
    }

    /// The step that follows a stop.
    enum StopAction: Sendable {
        /// Its end follows from its task.
        case cancel(Task<Void, Never>)
        /// Nothing of it has begun: this write ends it.
        case write(ExecutionWrite)
    }

    /// The remains of an execution that the worker holds no longer.
    struct Gone: Sendable {
        let execution: CommandExecution
        /// Nil where nothing of it had begun.
        let run: ExecutionState.Run?
        let failure: CommandFailure?
        /// Waits for the commit of `sent`.
        let sent: CheckedContinuation<Bool, Never>?
    }
}
