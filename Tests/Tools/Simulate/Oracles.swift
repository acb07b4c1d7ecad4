internal import Commands

/// A rule that a run has broken.
struct Violation: Sendable, Equatable {
    var oracle: String
    var id: CommandID?
    var words: String
}

/// The rules that every run keeps. Pure functions of the store's rows and of the ledger of the run.
enum Oracles {
    struct Execution: Sendable, Equatable {
        var process: Int
        var claim: CommandClaim
        /// Its operation has returned.
        var hasEnded = false
    }

    /// O1: at most one execution of a command may send, and none after another claim or an end.
    /// - Parameters:
    ///   - others: executions of the command that have not ended, in processes that live.
    ///   - row: nil where the store has none.
    static func mayExecute(_ execution: Execution, others: [Execution], row: Command?) -> Violation? {
        let claim = execution.claim
        func broken(_ words: String) -> Violation { Violation(oracle: "O1", id: claim.id, words: words) }
        if let other = others.first(where: { $0 != execution }) {
            return broken(
                "process \(execution.process) executes claim \(claim.claim) while process \(other.process) executes claim "
                    + "\(other.claim.claim)")
        }
        guard let row else { return broken("process \(execution.process) executes a command that the store has not") }
        guard row.status == .sent, row.claim == claim.claim else {
            return broken(
                "process \(execution.process) executes claim \(claim.claim), and the command is \(row.status) with claim "
                    + "\(row.claim)")
        }
        return nil
    }

    /// O2: an acknowledged command exists until it is pruned.
    static func exists(_ id: CommandID, row: Command?, isPruned: Bool) -> Violation? {
        row == nil && !isPruned ? Violation(oracle: "O2", id: id, words: "it was acknowledged and is lost") : nil
    }

    /// O3: each transition is of the table, claims and numbers grow, and what has ended stays ended.
    /// - Parameters:
    ///   - last: of the command before; nil: it is the first.
    ///   - seq: of the shard's transition before.
    static func follows(_ next: Transition, after last: Transition?, seq: Int64) -> Violation? {
        func broken(_ words: String) -> Violation { Violation(oracle: "O3", id: next.id, words: words) }
        guard next.seq == seq + 1 else { return broken("transition \(next.seq) follows \(seq)") }
        guard let last else {
            let isFirst = next.status == .new || next.status == .blocked || next.status == .success
            return isFirst && next.claim == 0 ? nil : broken("its first status is \(next.status)")
        }
        guard successors(of: last.status).contains(next.status) else {
            return broken("\(last.status) became \(next.status)")
        }
        let claim = last.claim + (next.status == .queued ? 1 : 0)
        guard next.claim == claim else {
            return broken("claim \(last.claim) became \(next.claim) with \(next.status)")
        }
        return nil
    }

    /// The life of a command (ARCHITECTURE.md), in its own words, and not by `CommandStatus.mayBecome`.
    private static func successors(of status: CommandStatus) -> Set<CommandStatus> {
        switch status {
        case .new: [.queued, .cancelled]
        case .queued: [.sent, .error, .new, .cancelled]
        case .sent: [.success, .error, .new, .inDoubt, .cancelled]
        case .error: [.queued, .tooManyTimes, .new, .cancelled]
        case .success: []
        case .cancelled: [.new, .blocked]
        case .blocked: [.new, .cancelled, .success, .tooManyTimes]
        case .inDoubt: [.success, .new, .cancelled]
        case .tooManyTimes: [.new, .blocked, .cancelled]
        }
    }

    /// O3: each row has the status and the claim of its last transition.
    static func agrees(_ row: Command, with last: Transition?) -> Violation? {
        guard row.status != last?.status || row.claim != last?.claim else { return nil }
        let words = last.map { "\($0.status) with claim \($0.claim)" } ?? "missing"
        return Violation(
            oracle: "O3", id: row.id,
            words: "its row is \(row.status) with claim \(row.claim), and its last transition \(words)")
    }

    /// O3: the counts are those of the rows.
    static func agree(_ counts: [CommandStatus: Int], with rows: [Command]) -> Violation? {
        for status in CommandStatus.allCases {
            let number = rows.count { $0.status == status }
            guard counts[status, default: 0] != number else { continue }
            return Violation(
                oracle: "O3",
                words: "\(counts[status, default: 0]) commands are counted as \(status), and \(number) are")
        }
        return nil
    }

    /// O6: a command that waits for others waits for one that can still end as it needs.
    /// - Parameters:
    ///   - open: the parents that have not satisfied it.
    ///   - isSettled: no message and no cascade is under way.
    static func isOwed(_ row: Command, open: Int, parents: [Command], isSettled: Bool) -> Violation? {
        guard row.status == .blocked, isSettled, open > 0 else { return nil }
        let isLive = parents.contains { !$0.status.isFinal || $0.status == .inDoubt }
        return isLive
            ? nil
            : Violation(
                oracle: "O6", id: row.id,
                words: "it waits for \(open) commands, and each of them has ended: "
                    + parents.map { "\($0.id) \($0.status)" }.joined(separator: ", "))
    }

    /// O6: a flow or batch has ended when its parts have, and its status follows from theirs.
    static func follows(_ row: Command, fromOpen open: Int, failed: Int, isSealed: Bool) -> Violation? {
        func broken(_ words: String) -> Violation {
            Violation(
                oracle: "O6", id: row.id,
                words: "it is \(row.description): \(words)")
        }
        guard isSealed, open == 0 else {
            // A success stays one where a part that failed is retried.
            return row.status == .success || row.status == .blocked || row.status == .new
                ? nil : broken("\(open) of its parts have not ended")
        }
        switch row.status {
        case .success: return failed == 0 ? nil : broken("\(failed) of its parts failed")
        case .tooManyTimes, .cancelled: return nil
        case .blocked, .new, .queued, .sent, .error, .inDoubt: return broken("each of its parts has ended")
        }
    }

    /// O11: after the faults each command ends within the bound.
    static func hasEnded(_ row: Command, within bound: Duration) -> Violation? {
        row.status.isFinal && row.status != .inDoubt
            ? nil
            : Violation(
                oracle: "O11", id: row.id,
                words: "it is \(row.description), \(bound) after the last fault")
    }
}

extension Command {
    fileprivate var description: String {
        "\(status) (\(type), turn \(turn)\(cancelRequested ? ", to be cancelled" : "")"
            + (orderingKey.map { ", ordering key \($0)" } ?? "") + (batch.map { ", in batch \($0)" } ?? "") + ")"
            + (reason.map { ": \($0)" } ?? "")
    }
}
