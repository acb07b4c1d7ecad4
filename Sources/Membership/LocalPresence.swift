internal import CLinux
internal import Commands
internal import Glibc
package import Host
internal import Store
internal import ZeroMQ

extension DataDirectory {
    /// The processes of the installation, all of them on this machine.
    package var presence: any Presence { LocalPresence(run) }
}

/// Roles as locks in `run/` of a data directory (``RunDirectory``): the kernel releases a lock with its process and with
/// nothing else. A process that obtains the lock of a seat knows that the worker is dead.
struct LocalPresence: Presence {
    private let run: RunDirectory

    init(_ run: RunDirectory) { self.run = run }

    // MARK: Roles

    func takeSeat() throws(StoreError) -> any HeldSeat {
        for seat in 0..<Role.maxSeats {
            if let lock = try run.take(.seat(seat)) { return try LocalSeat(seat, lock, in: run) }
        }
        throw StoreError(
            .busy, "all \(Role.maxSeats) seats in \(run.path) are taken: end a worker before starting another")
    }

    func takeCoordination(now: Timestamp) throws(StoreError) -> any HeldCoordination {
        try LocalCoordination(take(.coordinator, "coordinator"), in: run, now: now)
    }

    func takeDoor() throws(StoreError) -> any HeldRole { LocalDoor(try take(.door, "door"), in: run) }

    private func take(_ lock: RunDirectory.Lock, _ name: String) throws(StoreError) -> FileLock {
        guard let held = try run.take(lock, timeout: Self.releaseTime) else {
            let holder = run.probe(lock).pid.map { ", process \($0)," } ?? ""
            throw StoreError(
                .busy, "another \(name)\(holder) holds \(run.lock(lock)): one is enough for a data directory")
        }
        held.sign("\(getpid())\n")
        return held
    }

    func holder(of role: Role) -> Holder? {
        let probe = run.probe(role.lock)
        return probe.isHeld ? Holder(pid: probe.pid) : nil
    }

    func signOfLife(of role: Role) -> LockPulse? {
        LockPulse(path: run.pulse(role.lock), of: run.lock(role.lock))
    }

    // MARK: Deaths

    func isTaken(seat: Int, byOtherThan epoch: Int64) -> Bool {
        TextFile.read(run.lock(.seat(seat))).map { $0 != LocalSeat.signature(of: epoch) } ?? false
    }

    func proveDeath(inSeat seat: Int) throws(StoreError) -> DeathProof? {
        try run.take(.seat(seat)).map(DeathProof.init)
    }

    func deathReport(on session: Session) -> DeathReport {
        guard session.bootID == ProcessIdentity.bootID else { return DeathReport(.reboot, started: nil) }
        return DeathReport(
            IntentionalKill.isNoted(in: run, session) ? .intended : .crash,
            started: IntentLog.read(in: run, seat: session.seat, epoch: session.epoch))
    }

    func watch(_ session: Session) -> (any ProcessWatch)? {
        guard
            let process = WatchedProcess(pid: session.pid, startTime: session.startTime, bootID: session.bootID)
        else { return nil }
        return LocalProcessWatch(process, pid: session.pid, in: run)
    }

    func noteIntentionalKill(of pid: Int32) { IntentionalKill.note(in: run, pid: pid) }

    func removeStaleNotes(
        _ sessions: () throws(StoreError) -> SessionReading
    ) throws(StoreError) -> SessionReading {
        let files =
            try run.files(prefix: RunDirectory.intentLogPrefix) + run.files(prefix: RunDirectory.intentionalKillPrefix)
        let reading = try sessions()
        guard let complete = reading.complete else { return reading }
        let known = Set(
            complete.all.flatMap {
                [
                    run.intentLog(seat: $0.seat, epoch: $0.epoch),
                    run.intentionalKill(pid: $0.pid, startTime: $0.startTime),
                ]
            })
        for path in files where !known.contains(path) { unlink(path) }
        return reading
    }
}

extension Role {
    fileprivate var lock: RunDirectory.Lock {
        switch self {
        case .coordinator: .coordinator
        case .door: .door
        case .worker(let seat): .seat(seat)
        }
    }
}

/// The note that a worker is killed intentionally, so that its death charges no command: `up` kills its workers, and the
/// coordinator kills a worker that a signal has stopped.
///
/// The process that kills leaves the note in `run/` before. The coordinator that reaps the worker finds it, even where it
/// was started later.
enum IntentionalKill {
    static func note(in run: RunDirectory, pid: Int32) {
        guard let start = ProcessIdentity.startTime(of: pid) else { return }
        let descriptor = open(run.intentionalKill(pid: pid, startTime: start), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    static func isNoted(in run: RunDirectory, _ session: Session) -> Bool {
        access(run.intentionalKill(pid: session.pid, startTime: session.startTime), F_OK) == 0
    }
}

extension RunDirectory {
    fileprivate static let intentionalKillPrefix = "ordered-"

    fileprivate func intentionalKill(pid: Int32, startTime: Int64) -> String {
        "\(path)/\(Self.intentionalKillPrefix)\(pid)-\(startTime)"
    }
}

/// A worker's process by its pidfd, which becomes readable when the process ends.
private final class LocalProcessWatch: ProcessWatch {
    private let process: WatchedProcess
    private let pid: Int32
    private let run: RunDirectory
    private var registration: (loop: PollLoop, Registration)?

    init(_ process: consuming WatchedProcess, pid: Int32, in run: RunDirectory) {
        self.process = process
        self.pid = pid
        self.run = run
    }

    func whenEnded(on loop: PollLoop, _ body: @escaping () -> Void) {
        let registered = loop.whenReadable(descriptor: process.descriptor) { [weak self] in
            // The descriptor of a process that has ended stays readable.
            self?.stop()
            body()
        }
        registration = (loop, registered)
    }

    func stop() {
        if let (loop, registered) = registration { loop.remove(registered) }
        registration = nil
    }

    func killHung() {
        if ProcessIdentity.isStopped(pid) { IntentionalKill.note(in: run, pid: pid) }
        process.kill()
    }
}
