internal import Commands

/// A row of `dependency`. A turn names a command.
struct DependencyRow: Sendable, Equatable {
    enum State: Int, Sendable {
        /// The parent has not ended.
        case open = 0
        /// It stays so, also where the parent is retried.
        case satisfied = 1
        /// The parent's end does not satisfy the condition.
        case unsatisfiable = 2
    }

    var parent: Int64
    var child: Int64
    var condition: DependencyCondition
    var state: State
}

/// The end of a parent, as its dependants see it.
enum ParentOutcome: Sendable {
    case success
    /// `tooManyTimes` or `cancelled`.
    case failed(mayFail: Bool)
    /// Cancelled because the end that it handles did not come.
    case notNeeded

    /// Nil for a command that has not ended. One in doubt has not.
    init?(_ status: CommandStatus, _ flags: NodeRow.Flags) {
        switch status {
        case .success: self = .success
        case .tooManyTimes, .cancelled:
            self = flags.contains(.notNeeded) ? .notNeeded : .failed(mayFail: flags.contains(.mayFail))
        case .new, .queued, .sent, .error, .blocked, .inDoubt: return nil
        }
    }

    func satisfies(_ condition: DependencyCondition) -> Bool {
        switch (self, condition) {
        case (_, .end), (.success, .success), (.failed, .failure), (.failed(mayFail: true), .success): true
        case (.success, .failure), (.failed, .success), (.notNeeded, _): false
        }
    }

    /// Whether a child whose condition is not satisfied was not needed; otherwise it could not run.
    func makesUnneeded(_ condition: DependencyCondition) -> Bool {
        switch self {
        case .success, .notNeeded: true
        case .failed: false
        }
    }
}
