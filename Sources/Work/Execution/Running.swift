internal import Commands

/// A command between its claim and the commit of its end.
///
/// `@unchecked Sendable`: what can change is touched only in the executor's changes. A class, because a command is
/// several hundred bytes that a dictionary would move at each access.
final class Running: @unchecked Sendable {
    /// Why an operation was told to stop.
    enum Stop: Sendable, Equatable {
        case cancelled
        case preempted
        case drained
        /// The network has it released, or ended in status 5.
        case cut(reason: String)
        case refused(reason: String)

        /// Another execution may go on from where this one is.
        var isRelease: Bool {
            switch self {
            case .cancelled, .refused: false
            case .preempted, .drained, .cut: true
            }
        }

        var reason: String {
            switch self {
            case .cancelled: "cancelled"
            case .preempted: "preempted by a command of high quality of service"
            case .drained: "released by a worker that was asked to stop"
            case .cut(let reason), .refused(let reason): reason
            }
        }
    }

    /// Its connection was cut in mid-request.
    struct Cut {
        /// On the monotonic clock.
        var at: Int64
        /// What was executed for the same destination then, or had been cut just before.
        var beside: [Running]
    }

    let command: Command
    let payload: [UInt8]
    let checkpoint: [UInt8]?
    let operation: any CommandOperation
    let meter: TransferMeter
    let pace: Pace
    /// Nil until it has begun. Who stops it later leaves the end to the task.
    var task: Task<Void, Never>?
    var stop: Stop?
    var cut: Cut?
    /// What it failed of.
    var failure: CommandFailure?
    /// On the board.
    var logEntry: Int?
    var isEnding = false
    /// Resumed when `sent` is committed; false: it is not ours any more.
    var sent: CheckedContinuation<Bool, Never>?
    /// Resumed in the order of their commits; false: it is not ours any more.
    var pendingCheckpoints: [CheckedContinuation<Bool, Never>] = []
    var reported = TransferMeter.Reading()

    init(
        command: Command, payload: [UInt8], checkpoint: [UInt8]?, operation: any CommandOperation,
        bytesPerSecond: Int64?
    ) {
        self.command = command
        self.payload = payload
        self.checkpoint = checkpoint
        self.operation = operation
        meter = TransferMeter(offset: command.offset, total: command.total)
        pace = Pace(bytesPerSecond: bytesPerSecond)
    }

    /// What an execution that was told to stop, or failed, comes to.
    func ending(of error: (any Error)?, began: Bool) -> ExecutionResult {
        let ambiguous = (error as? CommandFailure)?.ambiguous ?? began
        switch stop {
        case .cancelled, .refused: return .cancelled(reason: stop?.reason ?? "")
        case .preempted, .drained, .cut: return .released(reason: stop?.reason ?? "", ambiguous: ambiguous)
        case nil: break
        }
        switch error {
        case let failure as CommandFailure: return .failure(failure)
        case let error?: return .failure(CommandFailure(.command, reason: "\(error)", ambiguous: began))
        case nil: return .released(reason: "stopped", ambiguous: began)
        }
    }
}
