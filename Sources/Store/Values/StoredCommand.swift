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

    /// It has been given up, and holds its ordering key all the same.
    var holdsKey: Bool { key != nil && command.status == .tooManyTimes && relations.contains(.holdsKeyOnFailure) }

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
        if draft.orderingKey != nil {
            relations = draft.keyFailure == .hold ? [.lane, .holdsKeyOnFailure] : .lane
        }
        if let batch = draft.batch {
            command.batch = batch
            relations.insert(.batchMember)
        }
        openDeadline = draft.deadline
        self.digest = digest
    }

    /// Makes the row of a submitted draft that ends at once. It holds no key, and is in no batch.
    /// - Parameter status: `cancelled` or `tooManyTimes`.
    init(
        _ draft: CommandDraft, digest: [UInt8]?, id: CommandID, turn: Int64, endedAs status: CommandStatus,
        reason: String,
        now: Timestamp
    ) {
        var draft = draft
        draft.notBefore = .zero
        draft.keyFailure = .pass
        draft.batch = nil
        self.init(draft, digest: digest, id: id, turn: turn, now: now)
        command.status = status
        command.reason = StoredLimits.bounded(reason)
        keyIsFree = true
        openDeadline = nil
        deadAt = status == .tooManyTimes ? now : nil
    }

    /// Why the command is cancelled by its deadline.
    /// - Parameter cause: why it could not start; nil where that is not known.
    func deadlinePassed(because cause: String?) -> String {
        let last: String? =
            switch command.status {
            case .new, .error, .inDoubt: cause ?? command.reason
            case .blocked: relations.isComposite ? nil : "it waited for other commands"
            default: nil
            }
        return "its deadline passed" + (last.map { "; \($0)" } ?? "")
    }

    // MARK: Steps

    /// Records the first transition of a new command.
    mutating func recordCreation(_ changes: inout TransactionChanges) {
        changes.addToCount(1, command.status, command.qos)
        let transition = changes.record(
            id, command.status, at: command.createdAt, seat: nil, claim: 0, reason: command.reason, previous: 0)
        newestSeq = transition.seq
        if let batch { changes.count(.init(added: 1), of: batch, at: command.createdAt) }
        // The limit of the key may have been raised.
        if key != nil, command.status == .blocked {
            changes.recordRelated(self, .keyAwaited, at: command.createdAt)
        }
        // The plan of a flow has raised its nodes.
        if command.status == .blocked, key != nil || relations.isDisjoint(with: [.member, .flow, .batch]) {
            changes.recordRelated(self, .submitted, at: command.createdAt)
        }
    }

    /// Moves to another status. Every change of status passes through here.
    /// - Precondition: ``CommandStatus/mayBecome(_:)`` allows it.
    mutating func move(
        to status: CommandStatus, reason: String?, seat: Int?, now: Timestamp, _ changes: inout TransactionChanges
    ) -> Transition {
        precondition(command.status.mayBecome(status), "\(command.status) never becomes \(status)")
        let (wasEnd, heldKey) = (command.status.isEnd, holdsKey)
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
        if heldKey, status == .cancelled { changes.recordRelated(self, .keyGivenUp, at: now) }
        return transition
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
        ready.isSoleSuspect = command.isSoleSuspect
        ready.limit = command.limit
        ready.remaining = ReadyCommand.remaining(from: command.offset, of: command.total)
        return ready
    }

    var claimed: ClaimedCommand { ClaimedCommand(command, epoch: epoch ?? 0) }
}

extension ReadyKey {
    init(_ row: StoredCommand) {
        self.init(destination: row.command.destination, qos: row.command.qos, limit: row.command.limit)
    }
}

/// How a command is related to others: which tables have rows of it. Empty for a command that waits for none, and that
/// none waits for; such a command costs nothing more than one comparison.
///
/// The raw value is the column `relations`.
struct CommandRelations: OptionSet, Sendable {
    let rawValue: Int

    /// It has a row in `node`: it waits or waited for others, is a part of a flow, or is a flow.
    static let node = CommandRelations(rawValue: 1)
    /// Others wait for it: it is the parent of rows in `dependency`.
    static let parent = CommandRelations(rawValue: 2)
    /// It is a flow: it has a row in `flow`.
    static let flow = CommandRelations(rawValue: 4)
    /// It is a node or a callback of a flow, and is deleted with it.
    static let member = CommandRelations(rawValue: 8)
    /// It has an ordering key: `lane` and `waiter` may have rows of it.
    static let lane = CommandRelations(rawValue: 16)
    /// It is a batch.
    static let batch = CommandRelations(rawValue: 32)
    /// It is a member of a batch, whose part counts it.
    static let batchMember = CommandRelations(rawValue: 64)
    /// Commands of other shards wait for it: `remote_dependant` may have rows of it.
    static let watched = CommandRelations(rawValue: 128)
    /// It holds its ordering key also when it has been given up, until a person retries or cancels it.
    static let holdsKeyOnFailure = CommandRelations(rawValue: 256)

    /// It ends when others have ended, and no worker runs it.
    var isComposite: Bool { !isDisjoint(with: [.flow, .batch]) }
}

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
