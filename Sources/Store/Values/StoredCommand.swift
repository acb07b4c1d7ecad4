internal import Commands

/// A row of a store: a command, the columns that only the store uses, and the rules of a command's life.
/// Pure: both stores do what this decides.
struct StoredCommand: Equatable {
    var command: Command
    /// The epoch of the worker that claimed the command last.
    var epoch: Int64?
    /// Equal for drafts that submit the same command; nil without a unique key.
    var digest: [UInt8]?
    /// The command gave its unique key up: when it ended, or to a later submit because its period had lapsed.
    var keyIsFree = false
    /// The deadline as long as it can still change something.
    var openDeadline: Timestamp?
    /// When the command came to `tooManyTimes` or `inDoubt`; nil in every other status. Such commands are
    /// kept until a person has them pruned.
    var deadAt: Timestamp?
    /// `seq` of the command's newest transition.
    var newestSeq: Int64 = 0
    var relations: CommandRelations = []

    var id: CommandID { command.id }

    /// Whether a change may be made on the condition of ``RequestStore``.
    func isUnchanged(since newest: Int64?) -> Bool { newest.map { $0 == newestSeq } ?? true }

    /// Whether the ready queue has the command.
    var isReady: Bool { (command.status == .new || command.status == .error) && command.notBefore == .zero }

    var batch: CommandID? { command.batch }

    /// The ordering key.
    var key: String? { relations.contains(.lane) ? command.orderingKey : nil }

    var unique: UniqueKey? {
        guard let key = command.uniqueKey, !keyIsFree else { return nil }
        return UniqueKey(type: command.type, orderingKey: command.orderingKey ?? "", key: key)
    }

    /// Makes the row of a submitted draft.
    /// - Parameter digest: of the draft, computed before the transaction began.
    init(_ draft: CommandDraft, digest: [UInt8]?, id: CommandID, turn: Int64, now: Timestamp) {
        command = Command(id: id, type: draft.type, destination: draft.destination, createdAt: now)
        command.qos = draft.qos
        command.idempotent = draft.idempotent
        command.retryLimit = draft.retryLimit
        command.notBefore = draft.notBefore > now ? draft.notBefore : .zero
        command.deadline = draft.deadline
        command.uniqueKey = draft.uniqueKey
        command.uniqueFor = draft.uniqueFor
        command.orderingKey = draft.orderingKey
        command.limit = draft.limit
        command.turn = turn
        command.total = draft.total
        if draft.orderingKey != nil { relations = .lane }
        if let batch = draft.batch {
            command.batch = batch
            relations.insert(.batchMember)
        }
        openDeadline = draft.deadline
        self.digest = digest
    }

    static let deadlinePassed = "its deadline passed"

    // MARK: Steps

    /// Records the first transition of a new command.
    mutating func recordCreation(_ changes: inout TransactionChanges) {
        changes.addToCount(1, command.status, command.qos)
        let transition = changes.record(
            id, command.status, at: command.createdAt, seat: nil, claim: 0, reason: nil, previous: 0)
        newestSeq = transition.seq
        if let batch { changes.count(.init(added: 1), of: batch, at: command.createdAt) }
        // The limit of the key may have been raised.
        if key != nil, command.status == .blocked {
            changes.recordRelated(self, .keyAwaited, at: command.createdAt)
        }
    }

    /// Moves to another status. Every change of status passes through here.
    /// - Precondition: ``CommandStatus/mayBecome(_:)`` allows it.
    mutating func move(
        to status: CommandStatus, reason: String?, seat: Int?, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition {
        precondition(command.status.mayBecome(status), "\(command.status) never becomes \(status)")
        let wasEnd = command.status.isEnd
        changes.addToCount(-1, command.status, command.qos)
        changes.addToCount(1, status, command.qos)
        let transition = changes.record(
            id, status, at: now, seat: seat, claim: command.claim, reason: reason.map(StoredLimits.bounded),
            previous: newestSeq)
        command.reason = command.reason.map(StoredLimits.bounded)
        newestSeq = transition.seq
        command.status = status
        command.updatedAt = now
        deadAt = status == .tooManyTimes || status == .inDoubt ? now : nil
        if status.isFinal {
            openDeadline = nil
            command.cancelRequested = false
            command.suspect = false
            command.notBefore = .zero
        }
        if status == .success { command.offset = command.total }
        if command.uniqueFor.isGivenUp(in: status) { keyIsFree = true }
        if let batch, wasEnd != status.isEnd {
            let end = wasEnd ? -1 : 1
            let isFailure = wasEnd || status != .success
            changes.count(.init(ended: end, failed: isFailure ? end : 0), of: batch, at: now)
        }
        if !relations.subtracting(.batchMember).isEmpty, wasEnd != status.isEnd {
            changes.recordRelated(self, wasEnd ? .reopened : .ended, at: now)
            if key != nil, wasEnd, status == .blocked { changes.recordRelated(self, .keyAwaited, at: now) }
        }
        return transition
    }

    // MARK: Executions

    /// Claims the command for a worker.
    /// - Returns: the transitions; nil where the command cannot be claimed.
    mutating func claim(
        seat: Int, epoch: Int64, sent: Bool, now: Timestamp, _ changes: inout TransactionChanges
    ) -> [Transition]? {
        guard command.status == .new || command.status == .error, command.notBefore <= now, !command.cancelRequested
        else { return nil }
        if let deadline = command.deadline, deadline <= now { return nil }
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

    /// Releases the command of a dead worker.
    /// - Parameters:
    ///   - charged: the command is found to be the cause of the death.
    ///   - suspected: no command is found to be the cause, and this one may be it.
    ///   - started: the command may have been executed, whatever its status says; false: it was only claimed.
    mutating func release(
        charged: Bool, suspected: Bool, started: Bool, reason: String, now: Timestamp,
        _ changes: inout TransactionChanges
    ) -> [Transition] {
        let settlement = Settlement(ofDeath: command, charged: charged, started: started, reason: reason, now: now)
        if charged { command.crashes += 1 }
        if suspected { command.suspect = true }
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

    // MARK: Requests of people

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
        case .new, .error, .blocked, .inDoubt:
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

    /// Makes an ended or failed command run again. It takes its unique key back, unless the key's period has
    /// lapsed. The caller must have found the key free.
    /// - Parameters:
    ///   - actor: as in ``RequestStore``.
    ///   - isBlocked: it has to wait for others first.
    /// - Returns: nil where the status does not allow it.
    mutating func retry(
        by actor: String, isBlocked: Bool = false, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition? {
        // Its members are retried, and its end stands.
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

    private mutating func renew(
        reason: String, isBlocked: Bool = false, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition {
        command.retries = 0
        command.crashes = 0
        command.suspect = false
        command.cancelRequested = false
        command.notBefore = .zero
        command.reason = nil
        if let deadline = command.deadline, deadline <= now { command.deadline = nil }
        openDeadline = command.deadline
        // After its period a key is not taken back: another command may hold it now.
        if !command.uniqueFor.hasLapsed(since: command.createdAt, at: now) { keyIsFree = false }
        return move(to: isBlocked ? .blocked : .new, reason: reason, seat: nil, now: now, &changes)
    }

    /// Changes the quality of service.
    /// - Returns: false where the command has ended.
    mutating func requalify(_ qos: QualityOfService, now: Timestamp, _ changes: inout TransactionChanges) -> Bool {
        guard !command.status.isFinal else { return false }
        changes.addToCount(-1, command.status, command.qos)
        changes.addToCount(1, command.status, qos)
        command.qos = qos
        command.updatedAt = now
        return true
    }

    // MARK: Views

    func event(_ transition: Transition, shard: Int) -> StatusEvent {
        StatusEvent(
            transition: transition, type: command.type, qos: command.qos, destination: command.destination,
            retries: command.retries, shard: shard)
    }

    var ready: ReadyCommand {
        var ready = ReadyCommand(
            id: id, type: command.type, qos: command.qos, destination: command.destination, turn: command.turn,
            createdAt: command.createdAt)
        ready.suspect = command.suspect
        ready.limit = command.limit
        ready.remaining = ReadyCommand.remaining(from: command.offset, of: command.total)
        return ready
    }

    var claimed: ClaimedCommand { ClaimedCommand(command, epoch: epoch ?? 0) }
}
