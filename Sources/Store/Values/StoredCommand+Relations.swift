internal import Commands

/// The steps of commands that wait for others, and of flows.
extension StoredCommand {
    static let flowCancelled = "its flow was cancelled"
    static let batchCancelled = "its batch was cancelled"

    /// Its last dependency is satisfied.
    mutating func unblock(now: Timestamp, _ changes: inout TransactionChanges) -> Transition {
        if command.notBefore <= now { command.notBefore = .zero }
        command.reason = nil
        return move(to: .new, reason: nil, seat: nil, now: now, &changes)
    }

    /// It waits again: a parent, or a node of this flow, is retried. As after a retry of its own, a deadline that has passed
    /// is removed, and a later one stands again.
    mutating func block(reason: String, now: Timestamp, _ changes: inout TransactionChanges) -> Transition {
        command.reason = nil
        renewDeadline(now: now)
        return move(to: .blocked, reason: reason, seat: nil, now: now, &changes)
    }

    /// - Precondition: it is `blocked`.
    mutating func cancelBlocked(reason: String, now: Timestamp, _ changes: inout TransactionChanges) -> Transition {
        command.reason = reason
        return move(to: .cancelled, reason: reason, seat: nil, now: now, &changes)
    }

    /// The last node of a flow has ended.
    /// - Precondition: the flow is `blocked`.
    mutating func endFlow(
        failed: Int, reason: String?, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition {
        if command.cancelRequested {
            return move(to: .cancelled, reason: command.reason, seat: nil, now: now, &changes)
        }
        command.reason = reason
        return move(to: failed == 0 ? .success : .tooManyTimes, reason: reason, seat: nil, now: now, &changes)
    }
}

extension CommandStatus {
    /// Whether commands that depend on this one need not wait for it any more. A command in doubt waits for a person, and
    /// so do they.
    var isEnd: Bool { isFinal && self != .inDoubt }
}
