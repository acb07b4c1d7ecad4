internal import Commands
internal import Host
internal import Operations
internal import Store

/// Where a command stands that this worker holds, with what belongs to that state. ``HeldCommands`` makes the
/// transitions.
///
/// ```
///       claim requested
///             ▼
///          claiming ──── the claim found nothing to take ─────────────▶ gone
///             │    └──── no operation here for its type ─▶ givingBack ─▶ gone
///             ▼
///        claimedAhead ── released or cancelled ────────────────┐
///             ▼ a slot is free                                 │
///          starting ──── preempted in the same round ──────────┤
///             ▼ its task exists                                │
///      ┌── preparing ─── failed or stopped ────────────────────┤
///      │      ▼  ▲ refused: a cancellation is requested        │
///      │ committingSent                                        │
///      │      ▼ committed                                      │
///      └─▶ executing ─── returned, failed or stopped ──────────┤
///             ▼ its connection was reset                       │
///       connectionReset ─ judged: its own fault or the link's ─┤
///                                                              ▼
///                            gone ◀── committed ──── committingEnd
/// ```
/// An operation without a preparation goes from `starting` to `executing`: its claim has committed `sent`
/// too. From each state with a claim, a write that finds the command in other hands, or fails for good, leads
/// to `gone` at once.
enum ExecutionState: Sendable {
    /// The claim waits for its commit.
    case claiming(since: MonotonicTime)
    /// Claimed, but this worker has no operation of its type. The release waits for its commit.
    case givingBack(claim: Int)
    /// Claimed, and waits for a slot.
    case claimedAhead(CommandExecution, any CommandOperation, since: MonotonicTime)
    /// It has a slot; its task is made in the same round of changes.
    case starting(CommandExecution)
    /// The preparation runs: nothing has been sent.
    case preparing(Run)
    /// `sent` waits for its commit. The continuation gets false where the operation must not go on.
    case committingSent(Run, CheckedContinuation<Bool, Never>)
    case executing(Run)
    /// Its connection was reset. It waits until those beside it show whether they are reset too.
    case connectionReset(Run, ConnectionReset)
    /// The end waits for its commit. Without a run nothing of it had begun.
    case committingEnd(CommandExecution, Run?, CommandFailure?)

    /// An execution whose task exists.
    struct Run: Sendable {
        let execution: CommandExecution
        /// A stop cancels it; the end comes from the task itself.
        let task: Task<Void, Never>
        /// In the log of started executions; nil where that could not be written.
        let logEntry: Int?
        let began = MonotonicTime.now
        var stop: StopReason?
        /// Resumed in the order of their commits; false: the command is in other hands.
        var checkpoints: [CheckedContinuation<Bool, Never>] = []
    }

    struct ConnectionReset: Sendable {
        let at: MonotonicTime
        /// Bytes of the request may have left.
        let mayHaveSent: Bool
        /// Executions that ran for the same destination then.
        let beside: [CommandClaim]
    }

    /// How a command counts towards the worker's slots.
    enum SlotUse: Sendable {
        /// It has none yet, but counts towards what may be claimed.
        case claimed
        case executing
        /// It has given its slot back.
        case ending
    }

    var slotUse: SlotUse {
        switch self {
        case .claiming, .claimedAhead: .claimed
        case .starting, .preparing, .committingSent, .executing, .connectionReset: .executing
        case .givingBack, .committingEnd: .ending
        }
    }

    /// Its task runs its operation, or waits for the commit of `sent`.
    var isRunning: Bool {
        switch self {
        case .preparing, .committingSent, .executing, .connectionReset: true
        case .claiming, .givingBack, .claimedAhead, .starting, .committingEnd: false
        }
    }

    /// Nil before the claim is committed, and where there is no operation.
    var execution: CommandExecution? {
        switch self {
        case .claiming, .givingBack: nil
        case .claimedAhead(let execution, _, _), .starting(let execution), .committingEnd(let execution, _, _):
            execution
        case .preparing(let run), .committingSent(let run, _), .executing(let run), .connectionReset(let run, _):
            run.execution
        }
    }

    /// Nil before it has begun.
    var run: Run? {
        get {
            switch self {
            case .claiming, .givingBack, .claimedAhead, .starting: nil
            case .preparing(let run), .committingSent(let run, _), .executing(let run), .connectionReset(let run, _):
                run
            case .committingEnd(_, let run, _): run
            }
        }
        set {
            guard let newValue else { return }
            switch self {
            case .claiming, .givingBack, .claimedAhead, .starting: break
            case .preparing: self = .preparing(newValue)
            case .committingSent(_, let continuation): self = .committingSent(newValue, continuation)
            case .executing: self = .executing(newValue)
            case .connectionReset(_, let reset): self = .connectionReset(newValue, reset)
            case .committingEnd(let execution, _, let failure): self = .committingEnd(execution, newValue, failure)
            }
        }
    }

    /// The claim that fences its writes; nil before it is known.
    var claim: Int? {
        if case .givingBack(let claim) = self { claim } else { execution?.claim }
    }

    /// For the sentence of a trap.
    var name: StaticString {
        switch self {
        case .claiming: "claiming"
        case .givingBack: "givingBack"
        case .claimedAhead: "claimedAhead"
        case .starting: "starting"
        case .preparing: "preparing"
        case .committingSent: "committingSent"
        case .executing: "executing"
        case .connectionReset: "connectionReset"
        case .committingEnd: "committingEnd"
        }
    }
}

/// The task of an execution was stopped before its operation was called: it waited for a thread.
struct ExecutionNotBegun: Error {}

extension ExecutionState.Run {
    /// A success that was given wins over a stop.
    func result(of outcome: Result<[UInt8]?, any Error>, mayHaveSent: Bool) -> ExecutionResult {
        switch outcome {
        case .success(let result): return .success(result: result)
        case .failure(let error):
            var failure = error as? CommandFailure
            let mayHaveSent = mayHaveSent && !(error is ExecutionNotBegun)
            if !mayHaveSent { failure?.ambiguous = false }
            if let stop { return stop.result(ambiguous: failure?.ambiguous ?? mayHaveSent) }
            return .failure(
                failure ?? CommandFailure(thrown: error, by: execution.command.type, ambiguous: mayHaveSent))
        }
    }
}

/// Why an execution is told to stop.
enum StopReason: Sendable, Equatable {
    case cancelled
    case preempted
    case drained
    /// Claimed ahead, and the executions before it take longer than was expected.
    case overdue
    /// The coordinator takes it off its link for a while.
    case releasedByNetwork(reason: String)
    /// The coordinator ends it, by the policy of its link.
    case cancelledByNetwork(reason: String)

    /// Another execution may go on from where this one stops.
    var isRelease: Bool {
        switch self {
        case .cancelled, .cancelledByNetwork: false
        case .preempted, .drained, .overdue, .releasedByNetwork: true
        }
    }

    /// The result of an execution that was stopped.
    /// - Parameter ambiguous: the destination may have done the work already.
    func result(ambiguous: Bool) -> ExecutionResult {
        isRelease ? .released(reason: reason, ambiguous: ambiguous) : .cancelled(reason: reason)
    }

    /// For a metric.
    var name: String {
        switch self {
        case .cancelled, .cancelledByNetwork: "cancelled"
        case .preempted: "preempted"
        case .drained: "drained"
        case .overdue: "overdue"
        case .releasedByNetwork: "network"
        }
    }

    /// Those that release a command.
    static let names: Set<String> = [
        Self.preempted.name, Self.drained.name, Self.overdue.name, Self.releasedByNetwork(reason: "").name,
    ]

    private var reason: String {
        switch self {
        case .cancelled: "cancelled"
        case .preempted: "preempted by a command of high quality of service"
        case .drained: "released by a worker that was asked to stop"
        case .overdue: "what its worker executes takes long"
        case .releasedByNetwork(let reason), .cancelledByNetwork(let reason): reason
        }
    }
}

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
