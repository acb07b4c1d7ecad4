package import Commands

/// The steps of executions: claim, send, end, and the release after a death.
extension StoredCommand {
    /// Claims the command for a worker.
    /// - Parameter isClockHeld: the wall clock is not trusted, so that no deadline has passed.
    /// - Returns: the transitions; nil where the command cannot be claimed.
    mutating func claim(
        seat: Int, epoch: Int64, sent: Bool, now: Timestamp, isClockHeld: @autoclosure () -> Bool,
        _ changes: inout TransactionChanges
    ) -> [Transition]? {
        guard command.status == .new || command.status == .error, command.notBefore <= now, !command.cancelRequested
        else { return nil }
        if let deadline = command.deadline, deadline <= now, !isClockHeld() { return nil }
        command.claim += 1
        command.seat = seat
        command.notBefore = .zero
        self.epoch = epoch
        let queued = move(to: .queued, reason: nil, seat: seat, now: now, &changes)
        guard sent else { return [queued] }
        return [queued, move(to: .sent, reason: nil, seat: seat, now: now, &changes)]
    }

    /// Moves to `sent`, after which the first byte may leave.
    mutating func send(claim: Int, now: Timestamp, _ changes: inout TransactionChanges) -> SendOutcome {
        guard command.claim == claim, command.status == .queued else { return .replaced }
        guard !command.cancelRequested else { return .refused }
        return .sent(move(to: .sent, reason: nil, seat: command.seat, now: now, &changes))
    }

    enum SendOutcome {
        case sent(Transition)
        /// There is a cancellation request.
        case refused
        /// The claim is over.
        case replaced
    }

    /// Ends an execution as ``Settlement`` decides.
    /// - Parameter chance: a number in 0..<1 for the jitter of a backoff.
    /// - Returns: the transitions; nil where the claim is over.
    mutating func end(
        claim: Int, _ result: ExecutionResult, now: Timestamp, chance: Double, _ changes: inout TransactionChanges
    ) -> [Transition]? {
        guard command.claim == claim, command.status.isClaimed else { return nil }
        let settlement = Settlement(of: command, result: result, now: now, chance: chance)
        guard Self.isLegal(settlement.statuses, from: command.status) else { return nil }
        switch result {
        case .success, .failure, .cancelled: command.suspect = false
        // Released early: it stays a suspect, since it has not run to an end.
        case .released: break
        }
        return settle(settlement, seat: command.seat, now: now, &changes)
    }

    /// The part of a command in the death of its worker.
    enum Blame {
        case none
        /// No suspect was executing, and this command may be the cause.
        case suspected
        /// It is one of several suspects that were executing. Each of them runs as the only suspect of its worker from
        /// now on.
        case soleSuspect
        /// It was the only suspect that was executing.
        case charged

        /// - Parameter executingSuspects: of the dead worker. A reap that is repeated after an interruption may find
        ///   fewer than there were, and charge the last of them once.
        static func of(_ command: Command, executingSuspects: Int) -> Self {
            if executingSuspects == 0 { return .suspected }
            guard command.suspect else { return .none }
            return executingSuspects == 1 ? .charged : .soleSuspect
        }
    }

    /// Releases the command of a dead worker.
    /// - Parameters:
    ///   - started: the command may have been executed, whatever its status says; false: it was only claimed.
    mutating func release(
        blame: Blame, started: Bool, reason: String, now: Timestamp,
        _ changes: inout TransactionChanges
    ) -> [Transition] {
        let settlement = Settlement(
            ofDeath: command, charged: blame == .charged, started: started, reason: reason, now: now)
        switch blame {
        case .none: break
        case .suspected: command.suspect = true
        case .soleSuspect: command.isSoleSuspect = true
        case .charged: command.crashes += 1
        }
        return settle(settlement, seat: nil, now: now, &changes)
    }

    private mutating func settle(
        _ settlement: Settlement, seat: Int?, now: Timestamp, _ changes: inout TransactionChanges
    ) -> [Transition] {
        command.retries = settlement.retries
        command.reason = settlement.reason
        let transitions = settlement.statuses.map {
            move(to: $0, reason: settlement.reason, seat: seat, now: now, &changes)
        }
        if command.status == .new || command.status == .error {
            command.notBefore = settlement.notBefore > now ? settlement.notBefore : .zero
        }
        return transitions
    }

    private static func isLegal(_ statuses: [CommandStatus], from status: CommandStatus) -> Bool {
        var status = status
        for next in statuses {
            guard status.mayBecome(next) else { return false }
            status = next
        }
        return true
    }
}

/// One write of a worker. Every write but the claim is fenced by (id, claim, expected status).
package enum ExecutionWrite: Sendable, Equatable {
    /// Takes a ready command: `new` or `error`, due, without a cancellation request, before its deadline.
    /// - Parameters:
    ///   - turn: the row in the shard, 0 where the caller does not know it. It saves 0.8 of 16 µs, the
    ///     look-up of the id.
    ///   - sent: continues to `sent` in the same commit, because the operation has nothing to prepare.
    case claim(CommandID, turn: Int64 = 0, sent: Bool)
    /// The first byte may leave once this is durable. Refused where there is a cancellation request.
    case sent(CommandID, claim: Int)
    /// Progress. It shares the next commit and changes no status.
    case offset(CommandID, claim: Int, offset: Int64, total: Int64)
    /// A checkpoint for the next execution of the command, in whichever worker; replaces the one before.
    case saveCheckpoint(CommandID, claim: Int, state: [UInt8])
    case end(CommandID, claim: Int, ExecutionResult)

    package var id: CommandID {
        switch self {
        case .claim(let id, _, _), .sent(let id, _), .offset(let id, _, _, _), .saveCheckpoint(let id, _, _),
            .end(let id, _, _):
            id
        }
    }
}

/// The result of one ``ExecutionWrite``.
package enum ExecutionOutcome: Sendable, Equatable {
    /// The command after the claim, its payload, the checkpoint of an earlier execution, and the transitions
    /// made.
    case claimed(Command, payload: [UInt8], checkpoint: [UInt8]? = nil, [Transition])
    /// The command cannot be claimed: it is deleted, claimed, requested to be cancelled or past its deadline,
    /// or the worker has no session.
    case refused
    /// Done: the transitions made, in order (none for an offset or a checkpoint), and the charged failures of
    /// the command.
    case done([Transition], retries: Int)
    /// Another execution has the command: stop this one and write nothing more.
    case replaced
}

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
