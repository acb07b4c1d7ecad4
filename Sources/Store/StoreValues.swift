package import Commands

extension CommandDraft {
    /// What the ready queue needs to know of the command that came of this draft; nil where it was there before, or is
    /// not to run yet.
    /// - Parameter now: when it was submitted.
    package func ready(_ submission: Submission, now: Timestamp) -> ReadyCommand? {
        guard !submission.isExisting, notBefore <= now else { return nil }
        return ReadyCommand(
            id: submission.id, type: type, qos: qos, destination: destination, turn: submission.turn, createdAt: now,
            suspect: false, remaining: ReadyCommand.remaining(of: total))
    }
}

/// What a batch of pruning has deleted.
package struct Pruned: Sendable, Equatable {
    /// Commands.
    package var count = 0
    /// Payloads of those that did not end in success: files that they name may be nobody's now.
    package var abandoned: [[UInt8]] = []

    package init() {}
}

package struct CommandFilter: Sendable, Equatable {
    package var status: CommandStatus?
    package var qos: QualityOfService?
    package var destination: Destination?

    package init(status: CommandStatus? = nil, qos: QualityOfService? = nil, destination: Destination? = nil) {
        self.status = status
        self.qos = qos
        self.destination = destination
    }
}

/// How many commands stand in each status, by quality.
package struct Counts: Sendable, Equatable {
    package var cells: [CommandStatus: [QualityOfService: Int]] = [:]

    package init() {}

    package subscript(_ status: CommandStatus) -> Int { cells[status]?.values.reduce(0, +) ?? 0 }
    package subscript(_ status: CommandStatus, _ qos: QualityOfService) -> Int {
        get { cells[status]?[qos] ?? 0 }
        set { cells[status, default: [:]][qos] = newValue }
    }
}

package struct ReadyKey: Hashable, Sendable {
    package var destination: Destination
    package var qos: QualityOfService

    package init(destination: Destination, qos: QualityOfService) {
        self.destination = destination
        self.qos = qos
    }
}

/// A command in the hands of a worker.
package struct ClaimedRow: Sendable, Equatable {
    package var id: CommandID
    package var status: CommandStatus
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var seat: Int
    package var epoch: Int64
    package var claim: Int
    package var retries: Int
    package var suspect: Bool
    package var updatedAt: Timestamp

    package init(
        id: CommandID, status: CommandStatus, type: String, qos: QualityOfService, destination: Destination, seat: Int,
        epoch: Int64, claim: Int, retries: Int, suspect: Bool, updatedAt: Timestamp
    ) {
        self.id = id
        self.status = status
        self.type = type
        self.qos = qos
        self.destination = destination
        self.seat = seat
        self.epoch = epoch
        self.claim = claim
        self.retries = retries
        self.suspect = suspect
        self.updatedAt = updatedAt
    }
}

/// The incarnation of a worker that sits in a seat.
package struct Session: Sendable, Equatable {
    package var seat: Int
    /// Random, 63 bits.
    package var epoch: Int64
    package var pid: Int32
    /// Field 22 of /proc/PID/stat: clock ticks since boot; tells a reused pid from the real one.
    package var startTime: Int64
    /// /proc/sys/kernel/random/boot_id
    package var bootID: String

    package init(seat: Int, epoch: Int64, pid: Int32, startTime: Int64, bootID: String) {
        self.seat = seat
        self.epoch = epoch
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
    }
}

package struct Expiry: Sendable, Equatable {
    package var cancelled: [StatusEvent]
    package var ownersToNotify: [ClaimedRow]
    package var next: Timestamp?

    package init(cancelled: [StatusEvent], ownersToNotify: [ClaimedRow], next: Timestamp?) {
        self.cancelled = cancelled
        self.ownersToNotify = ownersToNotify
        self.next = next
    }
}

package enum CancelOutcome: Sendable, Equatable {
    case cancelled(StatusEvent)
    /// Somebody holds it: the wish is durable, the owner must be told.
    case requested(ClaimedRow)
    /// It had ended before, in this status.
    case ended(CommandStatus)
}

/// One write of a worker. All but the claim are fenced by (id, claim, expected status).
package enum ExecutionWrite: Sendable, Equatable {
    /// Takes a ready command: `new` or `error`, due, no wish, deadline not passed.
    /// - Parameters:
    ///   - turn: its place in the shard, where the caller knows it: 0.8 of 16 µs less than a look-up of the id.
    ///   - sent: goes on to `sent` in the same commit, because its operation has nothing to prepare.
    case claim(CommandID, turn: Int64 = 0, sent: Bool)
    /// The first byte may leave once this is durable. Refused where a wish stands.
    case sent(CommandID, claim: Int)
    /// Progress: rides along; changes no status.
    case offset(CommandID, claim: Int, offset: Int64, total: Int64)
    /// What the next execution of the command is to find, whichever worker it is in; replaces what was kept before.
    case saveCheckpoint(CommandID, claim: Int, state: [UInt8])
    case end(CommandID, claim: Int, ExecutionResult)

    package var id: CommandID {
        switch self {
        case .claim(let id, _, _), .sent(let id, _), .offset(let id, _, _, _), .saveCheckpoint(let id, _, _), .end(let id, _, _):
            id
        }
    }
}

package enum ExecutionOutcome: Sendable, Equatable {
    /// The command as it stands after the claim, its payload, what an earlier execution has kept, and the transitions
    /// made.
    case claimed(Command, payload: [UInt8], checkpoint: [UInt8]? = nil, [Transition])
    /// Not there to be taken: gone, taken, wished away, past its deadline, or the session is over.
    case refused
    /// Done; the transitions it made in order (none for an offset or a state), and the charged failures as they stand.
    case done([Transition], retries: Int)
    /// Another execution has the command: stop, report, never overwrite.
    case replaced
}
