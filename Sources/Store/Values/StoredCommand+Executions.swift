internal import Commands

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
