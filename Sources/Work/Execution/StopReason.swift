internal import Commands

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
