internal import Commands

/// The writes of a commit whose outcome is unknown, made again.
///
/// A claim is held by one execution, which ends it once, so a transition with the seat and the claim of a write shows that the
/// write was made, whatever became of the command since.
extension StoredCommand {
    /// The transitions that a repeated write made the first time.
    /// - Parameters:
    ///   - commit: the writes of the commit.
    ///   - timeline: the transitions of the command, the oldest first.
    /// - Returns: nil where the write was not made then.
    func transitions(
        madeBy write: ExecutionWrite, of commit: [ExecutionWrite], seat: Int, epoch: Int64, in timeline: [Transition]
    ) -> [Transition]? {
        let claim: Int
        switch write {
        case .claim(_, _, let sent):
            // The worker holds no other claim of the command: it asks for none of what it executes.
            guard command.seat == seat, self.epoch == epoch, command.status == (sent ? .sent : .queued) else {
                return nil
            }
            return timeline.filter { $0.claim == command.claim && $0.status.isClaimed }
        case .sent(_, let its), .offset(_, let its, _, _), .saveCheckpoint(_, let its, _), .end(_, let its, _):
            claim = its
        }
        // A later claim has another epoch.
        guard self.epoch == epoch || command.claim > claim else { return nil }
        let own = timeline.filter { $0.claim == claim && $0.seat == seat }
        let ends = own.filter { !$0.status.isClaimed }
        switch write {
        case .claim: return nil
        case .end(_, _, let result):
            guard let last = ends.last, result.mayEnd(in: last) else { return nil }
            return ends
        case .sent:
            guard command.claim == claim, command.status == .sent else { return nil }
            return own.filter { $0.status == .sent }
        case .offset, .saveCheckpoint:
            // An end in the same commit came after them.
            let isEnded = commit.contains {
                if case .end(id, claim, let result) = $0, let last = ends.last {
                    result.mayEnd(in: last)
                } else {
                    false
                }
            }
            return isEnded ? [] : nil
        }
    }
}

extension ExecutionResult {
    /// Whether an end with this result may have made a transition, see ``Settlement``.
    fileprivate func mayEnd(in transition: Transition) -> Bool {
        let reason: String
        switch (self, transition.status) {
        case (.success, let status): return status == .success
        case (.cancelled, let status): return status == .cancelled
        case (.released, .cancelled), (.failure, .cancelled): return true
        case (.released(let its, _), .new), (.released(let its, _), .inDoubt): reason = its
        case (.failure(let failure), .new), (.failure(let failure), .error), (.failure(let failure), .tooManyTimes),
            (.failure(let failure), .inDoubt):
            reason = failure.reason
        case (.released, _), (.failure, _): return false
        }
        return transition.reason == StoredLimits.bounded(reason)
    }
}
