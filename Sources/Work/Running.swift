internal import Commands

/// A command between its claim and the commit of its end.
///
/// `@unchecked Sendable`: what can change is touched only in the executor's changes. A class, because a command is
/// several hundred bytes that a dictionary would move at each access.
final class Running: @unchecked Sendable {
    /// Why an operation was told to stop.
    enum Stop: Sendable {
        case cancelled
        case preempted
        case drained

        var reason: String {
            switch self {
            case .cancelled: "cancelled"
            case .preempted: "preempted by a command of high quality of service"
            case .drained: "released by a worker that was asked to stop"
            }
        }
    }

    let command: Command
    let payload: [UInt8]
    let kept: [UInt8]?
    let operation: any Operation
    let meter: TransferMeter
    /// Nil until it has begun. Who stops it later leaves the end to the task.
    var task: Task<Void, Never>?
    var stop: Stop?
    var fault: Failure.Fault?
    /// On the board.
    var place: Int?
    var isEnding = false
    /// Resumed when `sent` is committed; false: it is not ours any more.
    var sent: CheckedContinuation<Bool, Never>?
    /// Resumed in the order of their commits; false: it is not ours any more.
    var keeping: [CheckedContinuation<Bool, Never>] = []
    var reported = TransferMeter.Reading()

    init(command: Command, payload: [UInt8], kept: [UInt8]?, operation: any Operation) {
        self.command = command
        self.payload = payload
        self.kept = kept
        self.operation = operation
        meter = TransferMeter(offset: command.offset, total: command.total)
    }

    /// What an execution that was told to stop, or failed, comes to.
    func ending(of error: (any Error)?, began: Bool) -> Ending {
        let ambiguous = (error as? Failure)?.ambiguous ?? began
        switch stop {
        case .cancelled: return .cancelled(reason: Stop.cancelled.reason)
        case .preempted, .drained: return .released(reason: stop?.reason ?? "", ambiguous: ambiguous)
        case nil: break
        }
        switch error {
        case let failure as Failure: return .failure(failure)
        case let error?: return .failure(Failure(.command, reason: "\(error)", ambiguous: began))
        case nil: return .released(reason: "stopped", ambiguous: began)
        }
    }
}
