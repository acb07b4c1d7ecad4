internal import Commands

/// The steps that people ask for.
extension StoredCommand {
    enum Cancellation {
        case cancelled(Transition)
        case requested
        case ended
    }

    mutating func cancel(reason: String, now: Timestamp, _ changes: inout TransactionChanges) -> Cancellation {
        switch command.status {
        case .blocked where relations.isComposite:
            // Its nodes or members end first.
            if !command.cancelRequested {
                command.cancelRequested = true
                command.reason = reason
                changes.recordRelated(self, .flowCancelled, at: now)
            }
            openDeadline = nil
            return .requested
        case .new, .error, .blocked, .inDoubt,
            .tooManyTimes where holdsKey:
            command.reason = reason
            return .cancelled(move(to: .cancelled, reason: reason, seat: nil, now: now, &changes))
        case .queued, .sent:
            if !command.cancelRequested {
                command.cancelRequested = true
                command.reason = reason
            }
            openDeadline = nil
            return .requested
        case .success, .cancelled, .tooManyTimes: return .ended
        }
    }

    /// As ``cancel(reason:now:_:)``, also for a command that was given up, which a person puts away. A flow or batch that has
    /// counted its end keeps it, because one end follows another.
    mutating func cancelOrPutAway(
        reason: String, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Cancellation {
        guard command.status == .tooManyTimes, !holdsKey else { return cancel(reason: reason, now: now, &changes) }
        let text = "\(reason), after it was given up" + (command.reason.map { ": \($0)" } ?? "")
        command.reason = text
        return .cancelled(move(to: .cancelled, reason: text, seat: nil, now: now, &changes))
    }

    /// Makes an ended or failed command run again. It takes its unique key back, unless the key's period has
    /// lapsed. The caller must have found the key free.
    /// - Parameters:
    ///   - actor: as in ``RequestStore``.
    ///   - isBlocked: it has to wait for others first.
    /// - Returns: nil where the status does not allow it.
    mutating func retry(
        by actor: String, isBlocked: Bool = false, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition? {
        // Its members are retried, and it waits for them.
        if relations.contains(.batch) { return nil }
        switch command.status {
        case .cancelled where relations.contains(.flow), .tooManyTimes where relations.contains(.flow):
            let transition = renew(reason: "retried by \(actor)", isBlocked: true, now: now, &changes)
            changes.recordRelated(self, .flowRetried, at: now)
            return transition
        case .error, .cancelled, .tooManyTimes:
            return renew(reason: "retried by \(actor)", isBlocked: isBlocked, now: now, &changes)
        case .new, .queued, .sent, .success, .blocked, .inDoubt: return nil
        }
    }

    /// Settles a command in doubt, as a person says.
    /// - Returns: nil where the command is not in doubt.
    mutating func resolve(
        as status: CommandStatus, by actor: String, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition? {
        guard command.status == .inDoubt, command.status.mayBecome(status) else { return nil }
        if status == .new { return renew(reason: "resolved by \(actor): to be executed again", now: now, &changes) }
        let reason = "resolved by \(actor): \(status == .success ? "it was delivered" : "cancelled")"
        command.reason = status == .success ? nil : reason
        return move(to: status, reason: reason, seat: nil, now: now, &changes)
    }

    /// Cancels a command that is to be pruned and holds its ordering key, in doubt or given up.
    /// - Returns: false where it holds none.
    mutating func cancelHolder(now: Timestamp, _ changes: inout TransactionChanges) -> Bool {
        if command.status == .inDoubt { return resolve(as: .cancelled, by: Actor.person, now: now, &changes) != nil }
        guard holdsKey, case .cancelled = cancel(reason: "cancelled by \(Actor.person)", now: now, &changes) else {
            return false
        }
        return true
    }

    private mutating func renew(
        reason: String, isBlocked: Bool = false, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition {
        command.retries = 0
        command.crashes = 0
        command.suspect = false
        command.cancelRequested = false
        command.notBefore = .zero
        command.reason = nil
        renewDeadline(now: now)
        // After its period a key is not taken back: another command may hold it now.
        if !command.uniqueFor.hasLapsed(since: command.createdAt, at: now) { keyIsFree = false }
        return move(to: isBlocked ? .blocked : .new, reason: reason, seat: nil, now: now, &changes)
    }

    /// Lets a command that had ended wait until its deadline again; without one where it has passed.
    mutating func renewDeadline(now: Timestamp) {
        if let deadline = command.deadline, deadline <= now { command.deadline = nil }
        openDeadline = command.deadline
    }

    /// Changes the quality of service.
    /// - Returns: false where the command has ended.
    mutating func requalify(_ qos: QualityOfService, now: Timestamp, _ changes: inout TransactionChanges) -> Bool {
        guard !command.status.isFinal else { return false }
        let isRaised = qos > command.qos
        changes.addToCount(-1, command.status, command.qos)
        changes.addToCount(1, command.status, qos)
        command.qos = qos
        command.updatedAt = now
        if isRaised, command.status == .blocked { changes.recordRelated(self, .raised, at: now) }
        return true
    }
}

/// The names of actors in the reasons of transitions.
package enum Actor {
    package static let person = "a person"
}
