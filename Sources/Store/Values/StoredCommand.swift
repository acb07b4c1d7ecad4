internal import Commands

/// A command with what a store keeps of it besides, and the rules of its life. Pure: both stores do what this decides.
struct StoredCommand: Equatable {
    var command: Command
    /// The incarnation that claimed it last.
    var epoch: Int64?
    /// What tells an equal submit; there where a unique key is.
    var fingerprint: [UInt8]?
    /// The unique key was given up: by the command's end, or to a later submit because its period had lapsed.
    var keyIsFree = false
    /// The deadline while it still has something to do.
    var openDeadline: Timestamp?
    /// When it came to `tooManyTimes` or `inDoubt`, which are kept until somebody asks for their removal.
    var deadAt: Timestamp?
    /// `seq` of its newest transition.
    var last: Int64 = 0

    var id: CommandID { command.id }

    /// Whether the queue offers it.
    var isReady: Bool { (command.status == .new || command.status == .error) && command.notBefore == .zero }

    var unique: UniqueKey? {
        guard let key = command.uniqueKey, !keyIsFree else { return nil }
        return UniqueKey(type: command.type, orderingKey: command.orderingKey ?? "", key: key)
    }

    /// A new command from what a producer chose.
    /// - Parameter fingerprint: the draft's, which is computed before a transaction begins.
    init(_ draft: CommandDraft, fingerprint: [UInt8]?, id: CommandID, turn: Int64, now: Timestamp) {
        command = Command(
            id: id, type: draft.type, qos: draft.qos, status: .new, destination: draft.destination,
            idempotent: draft.idempotent, retryLimit: draft.retryLimit,
            notBefore: draft.notBefore > now ? draft.notBefore : .zero, deadline: draft.deadline,
            uniqueKey: draft.uniqueKey, turn: turn, total: draft.total, createdAt: now, updatedAt: now)
        command.uniqueFor = draft.uniqueFor
        openDeadline = draft.deadline
        self.fingerprint = fingerprint
    }

    init(
        command: Command, epoch: Int64?, fingerprint: [UInt8]?, keyIsFree: Bool, openDeadline: Timestamp?,
        deadAt: Timestamp?, last: Int64
    ) {
        self.command = command
        self.epoch = epoch
        self.fingerprint = fingerprint
        self.keyIsFree = keyIsFree
        self.openDeadline = openDeadline
        self.deadAt = deadAt
        self.last = last
    }

    static let deadlinePassed = "its deadline passed"

    // MARK: Steps

    /// Records the first transition of a new command.
    mutating func begin(_ journal: inout Journal) {
        journal.add(1, to: .new, command.qos)
        last =
            journal.record(
                id, .new, at: command.createdAt, seat: nil, claim: 0, reason: nil, previous: 0
            ).seq
    }

    /// Goes to a status that the table of ``CommandStatus/mayBecome(_:)`` allows. Every change of status comes here.
    private mutating func step(
        to status: CommandStatus, reason: String?, seat: Int?, now: Timestamp, _ journal: inout Journal
    ) -> Transition {
        precondition(command.status.mayBecome(status), "\(command.status) never becomes \(status)")
        journal.add(-1, to: command.status, command.qos)
        journal.add(1, to: status, command.qos)
        let transition = journal.record(
            id, status, at: now, seat: seat, claim: command.claim, reason: reason, previous: last)
        last = transition.seq
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
        return transition
    }

    // MARK: Executions

    /// Takes the command for a worker. - Returns: the transitions; nil where it is not to be had.
    mutating func claim(
        seat: Int, epoch: Int64, sent: Bool, now: Timestamp, _ journal: inout Journal
    ) -> [Transition]? {
        guard command.status == .new || command.status == .error, command.notBefore <= now, !command.cancelRequested
        else { return nil }
        if let deadline = command.deadline, deadline <= now { return nil }
        command.claim += 1
        command.seat = seat
        command.notBefore = .zero
        self.epoch = epoch
        let queued = step(to: .queued, reason: nil, seat: seat, now: now, &journal)
        guard sent else { return [queued] }
        return [queued, step(to: .sent, reason: nil, seat: seat, now: now, &journal)]
    }

    /// The first byte may leave. - Returns: nil where the claim is over or a wish stands.
    mutating func send(claim: Int, now: Timestamp, _ journal: inout Journal) -> SendOutcome {
        guard command.claim == claim, command.status == .queued else { return .replaced }
        guard !command.cancelRequested else { return .refused }
        return .sent(step(to: .sent, reason: nil, seat: command.seat, now: now, &journal))
    }

    enum SendOutcome {
        case sent(Transition)
        case refused
        case replaced
    }

    /// Ends an execution as ``Settlement`` decides. - Returns: nil where the claim is over.
    mutating func end(
        claim: Int, _ ending: ExecutionResult, now: Timestamp, chance: Double, _ journal: inout Journal
    ) -> [Transition]? {
        guard command.claim == claim, command.status.isClaimed else { return nil }
        let settlement = Settlement(of: command, ending: ending, now: now, chance: chance)
        guard Self.isLegal(settlement.statuses, from: command.status) else { return nil }
        switch ending {
        case .success, .failure, .cancelled: command.suspect = false
        // It was stopped before it could show whether it kills.
        case .released: break
        }
        return settle(settlement, seat: command.seat, now: now, &journal)
    }

    /// Takes the command from a dead worker.
    /// - Parameters:
    ///   - charged: this one is convicted of the death.
    ///   - suspected: nobody is convicted, and this one may have been it.
    ///   - started: it may have been executed, whatever its status says; else it was only claimed.
    mutating func release(
        charged: Bool, suspected: Bool, started: Bool, reason: String, now: Timestamp, _ journal: inout Journal
    ) -> [Transition] {
        let settlement = Settlement(ofDeath: command, charged: charged, started: started, reason: reason, now: now)
        if charged { command.crashes += 1 }
        if suspected { command.suspect = true }
        return settle(settlement, seat: nil, now: now, &journal)
    }

    private mutating func settle(
        _ settlement: Settlement, seat: Int?, now: Timestamp, _ journal: inout Journal
    ) -> [Transition] {
        command.retries = settlement.retries
        command.reason = settlement.reason
        let transitions = settlement.statuses.map {
            step(to: $0, reason: settlement.reason, seat: seat, now: now, &journal)
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

    // MARK: Wishes

    enum Cancellation {
        case cancelled(Transition)
        case requested
        case ended
    }

    mutating func cancel(reason: String, now: Timestamp, _ journal: inout Journal) -> Cancellation {
        switch command.status {
        case .new, .error, .blocked, .inDoubt:
            command.reason = reason
            return .cancelled(step(to: .cancelled, reason: reason, seat: nil, now: now, &journal))
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

    /// A person wants it to run again. It takes its unique key back, which the caller must have found free,
    /// unless the key's period has lapsed. - Returns: nil where the status does not allow it.
    mutating func retry(now: Timestamp, _ journal: inout Journal) -> Transition? {
        switch command.status {
        case .error, .cancelled, .tooManyTimes: return renew(reason: "retried by a person", now: now, &journal)
        case .new, .queued, .sent, .success, .blocked, .inDoubt: return nil
        }
    }

    /// A person says what became of a command in doubt. - Returns: nil where it is not in doubt.
    mutating func resolve(as status: CommandStatus, now: Timestamp, _ journal: inout Journal) -> Transition? {
        guard command.status == .inDoubt, command.status.mayBecome(status) else { return nil }
        if status == .new { return renew(reason: "resolved by a person: to be executed again", now: now, &journal) }
        let reason = "resolved by a person: \(status == .success ? "it was delivered" : "cancelled")"
        command.reason = status == .success ? nil : reason
        return step(to: status, reason: reason, seat: nil, now: now, &journal)
    }

    private mutating func renew(reason: String, now: Timestamp, _ journal: inout Journal) -> Transition {
        command.retries = 0
        command.crashes = 0
        command.suspect = false
        command.cancelRequested = false
        command.notBefore = .zero
        command.reason = nil
        if let deadline = command.deadline, deadline <= now { command.deadline = nil }
        openDeadline = command.deadline
        // After its period a key is not taken back: the command runs again beside the one that may hold it now.
        if !command.uniqueFor.hasLapsed(since: command.createdAt, at: now) { keyIsFree = false }
        return step(to: .new, reason: reason, seat: nil, now: now, &journal)
    }

    /// - Returns: whether it may still have another quality.
    mutating func requalify(_ qos: QualityOfService, now: Timestamp, _ journal: inout Journal) -> Bool {
        guard !command.status.isFinal else { return false }
        journal.add(-1, to: command.status, command.qos)
        journal.add(1, to: command.status, qos)
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
        ReadyCommand(
            id: id, type: command.type, qos: command.qos, destination: command.destination, turn: command.turn,
            createdAt: command.createdAt, suspect: command.suspect,
            remaining: ReadyCommand.remaining(from: command.offset, of: command.total))
    }

    var claimed: ClaimedRow {
        ClaimedRow(
            id: id, status: command.status, type: command.type, qos: command.qos, destination: command.destination,
            seat: command.seat ?? 0, epoch: epoch ?? 0, claim: command.claim, retries: command.retries,
            suspect: command.suspect, updatedAt: command.updatedAt)
    }
}
