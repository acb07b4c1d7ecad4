package import Commands
package import Host
package import Store
internal import Synchronization
package import ZeroMQ

/// Work of which an installation needs one process at a time, or one in each seat.
package enum Role: Sendable, Hashable {
    case coordinator
    case door
    /// - Parameter seat: less than ``maxSeats``.
    case worker(seat: Int)

    /// The seats of an installation.
    package static let maxSeats = RunDirectory.Lock.seats.count
}

/// The process that has a role.
package struct Holder: Sendable, Equatable {
    /// Nil where the kernel does not tell: the process is in another container.
    package var pid: Int32?

    package init(pid: Int32?) { self.pid = pid }
}

/// Which process has each role of an installation, and which workers are dead.
///
/// A role ends with its process, in whatever way the process ends, and with nothing else: a process that is stopped still
/// has its role. So two processes never have one role, and a worker whose seat is free is dead.
package protocol Presence: Sendable {
    // MARK: Roles

    /// Takes the lowest free seat.
    /// - Throws: `.busy` where none is free.
    func takeSeat() throws(StoreError) -> any HeldSeat

    /// Takes the role of the coordinator. Blocks for up to ``releaseTime`` while another process has it.
    /// - Throws: `.busy` that names this process.
    func takeCoordination(now: Timestamp) throws(StoreError) -> any HeldCoordination

    /// Takes the role of the door. Blocks as ``takeCoordination(now:)``.
    /// - Throws: `.busy` that names the process that has it.
    func takeDoor() throws(StoreError) -> any HeldRole

    /// - Returns: nil where no process has the role.
    func holder(of role: Role) -> Holder?

    /// The last sign of life of the process that has a role; nil where it left none.
    func signOfLife(of role: Role) -> LockPulse?

    // MARK: Deaths

    /// Whether another worker than the one of this epoch has taken the seat. Epochs are random: two that differ are two
    /// workers, but do not tell which is the later one. False where no worker has taken it.
    func isTaken(seat: Int, byOtherThan epoch: Int64) -> Bool

    /// The proof that the worker of a seat is dead. No other worker takes the seat while the proof is held.
    /// - Returns: nil while the worker may live.
    func proveDeath(inSeat seat: Int) throws(StoreError) -> DeathProof?

    /// The cause of a worker’s death as its machine tells it, and the executions that it had started.
    func deathReport(on session: Session) -> DeathReport

    /// Watches the process of a worker.
    /// - Returns: nil where it has ended or cannot be seen from here, as in another container.
    func watch(_ session: Session) -> (any ProcessWatch)?

    /// Notes that a process of this machine is killed intentionally, so that its death charges no command. Call it before
    /// the signal. Where the note cannot be written, the death counts like any other.
    func noteIntentionalKill(of pid: Int32)

    /// Deletes what workers without a session have left: they have nothing to release any more.
    /// - Parameter sessions: reads the sessions. It is called when the files are listed, because a worker opens its session
    ///   before it makes a file.
    /// - Returns: the sessions.
    func removeStaleNotes(
        _ sessions: () throws(StoreError) -> SessionReading
    ) throws(StoreError) -> SessionReading
}

extension Presence {
    /// How long a start waits for the role of a process that was killed a moment ago: the kernel frees the memory of a
    /// process before its locks, and the children of a killed `sluice up` end when they see that.
    package static var releaseTime: Duration { .seconds(3) }

    /// The process that still has a role after ``releaseTime``; nil as soon as none has it. Blocks.
    /// - Parameter pause: waits between two looks.
    package func remainingHolder(of role: Role, pause: () -> Void = RunDirectory.pause) -> Holder? {
        let end = MonotonicTime.now + Self.releaseTime
        while true {
            let found = holder(of: role)
            guard found != nil, MonotonicTime.now < end else { return found }
            pause()
        }
    }

    /// Sessions of dead workers that held a seat before the worker of this epoch. Empty where a later worker, which may
    /// live, has taken the seat.
    /// - Parameter sessions: reads the sessions.
    package func predecessors(
        of epoch: Int64, inSeat seat: Int, _ sessions: () throws(StoreError) -> [Session]
    ) throws(StoreError) -> [Session] {
        // In this order: a worker that takes the seat after the sessions were read has none among them.
        let others = try sessions().filter { $0.seat == seat && $0.epoch != epoch }
        return isTaken(seat: seat, byOtherThan: epoch) ? [] : others
    }
}

/// A role of this process. It ends when the last reference goes.
package protocol HeldRole: AnyObject, Sendable {
    /// Gives a sign of life, and restores the proof of the role where it was removed. Call it four times a second.
    /// - Returns: whether the proof had to be restored.
    /// - Throws: `.missing` where another process may have the role now, or none can reach this process: it must end. After
    ///   another error the next call tries again.
    func renew() throws(StoreError) -> Bool
}

/// The role of a worker.
package protocol HeldSeat: HeldRole {
    /// Its row in each shard. The epoch is random, 63 bits, never 0.
    var session: Session { get }

    /// - Parameter capacity: the maximum number of executions whose end is not committed.
    /// - Returns: nil where the log cannot be made. The worker then runs without one.
    func openIntentLog(capacity: Int) -> sending IntentLog?

    /// Deletes the log of a worker that has drained.
    func removeIntentLog()
}

/// The role of the coordinator.
package protocol HeldCoordination: HeldRole {
    /// The number of this coordinator, greater than all before. Workers obey the greatest that they have heard.
    var epoch: Int64 { get }
}

/// Why a coordinator or a worker must end: it has lost its role. The first reason stays.
package final class PresenceLoss: Sendable {
    private let reason = Mutex<StoreError?>(nil)

    package init() {}

    package var error: StoreError? { reason.withLock { $0 } }

    package func set(_ error: StoreError) { reason.withLock { $0 = $0 ?? error } }
}

/// The proof that the worker of a seat is dead. Hold it until the commands of the worker are released.
package final class DeathProof: Sendable {
    private let evidence: any AnyObject & Sendable

    /// - Parameter evidence: keeps other workers from the seat for as long as it is referenced.
    package init(_ evidence: any AnyObject & Sendable) { self.evidence = evidence }
}

/// The cause of a worker’s death as its machine tells it.
package struct DeathReport: Sendable, Equatable {
    package enum Cause: Sendable {
        /// Its process ended before it had drained.
        case crash
        /// A person had stopped or killed it.
        case intended
        /// The machine was restarted.
        case reboot
    }

    package var cause: Cause
    /// Nil where they are not known, and all commands that it had claimed may have been started.
    package var started: StartedExecutions?

    package init(_ cause: Cause, started: StartedExecutions?) {
        self.cause = cause
        self.started = started
    }
}

/// A watch on the process of a worker, which need not be a child. Confined to one loop.
package protocol ProcessWatch: AnyObject {
    /// Calls `body` on the loop when the process has ended, once.
    func whenEnded(on loop: PollLoop, _ body: @escaping () -> Void)

    /// The body is not called any more. Call it before the last reference goes.
    func stop()

    /// Kills a worker that hangs, and never a later owner of its process id. Where a person has stopped the process, its
    /// commands did not cause that, so its death is noted as intended and charges none of them.
    func killHung()
}
