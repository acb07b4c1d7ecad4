internal import Commands
internal import Glibc
internal import Host
internal import Store
internal import Synchronization

/// A role whose lock file is made anew where it was removed, or replaced, while its process lives.
private final class RoleLock: Sendable {
    private let lock: RunDirectory.Lock
    private let held: FileLock
    private let run: RunDirectory
    /// Of `run/`: a directory that replaces it has another identity.
    private let descriptor: CInt
    /// “the coordinator used it; it ends, because no process can reach it”.
    private let isolation: String

    init(
        _ held: FileLock, _ lock: RunDirectory.Lock, in run: RunDirectory, isolation: String
    ) throws(StoreError) {
        do throws(SystemError) { descriptor = try openDirectory(run.path) } catch { throw StoreError(error) }
        self.held = held
        self.lock = lock
        self.run = run
        self.isolation = isolation
    }

    deinit { close(descriptor) }

    func renew() throws(StoreError) -> Bool {
        guard FileIdentity(of: descriptor) == FileIdentity(at: run.path) else {
            throw StoreError(
                .missing,
                "\(run.path) was removed or replaced while \(isolation) any more. Leave the directory in place.")
        }
        held.beat(in: run.pulse(lock))
        return try run.renew(held, as: lock)
    }
}

extension RunDirectory {
    /// Makes the file of a held lock anew where it was removed or replaced.
    /// - Returns: whether it was.
    /// - Throws: where another process may hold the lock now: its holder must end.
    fileprivate func renew(_ held: FileLock, as lock: Lock) throws(StoreError) -> Bool {
        let path = self.lock(lock)
        do throws(SystemError) {
            switch try held.renew(path) {
            case .unchanged, .delayed: return false
            case .renewed: return true
            case .lost: break
            }
        } catch {
            guard error.code == ENOENT else { throw StoreError(error) }
        }
        throw StoreError(
            .missing,
            "\(path) and \(presence) were removed or replaced while this process held them; it ends, because another "
                + "process may hold them now. Leave the files of a data directory in place.")
    }
}

/// The numbered identity of a worker: the lowest free `run/seat-NN.lock`, held by `flock` for life.
final class LocalSeat: HeldSeat {
    let session: Session
    private let lock: RoleLock
    private let run: RunDirectory

    init(_ seat: Int, _ held: FileLock, in run: RunDirectory) throws(StoreError) {
        let epoch = Int64.random(in: 1...Int64.max)
        // Before its session and its hello: the earlier worker of this seat is known to be gone.
        held.sign(Self.signature(of: epoch))
        lock = try RoleLock(
            held, .seat(seat), in: run,
            isolation: "this worker used it; it ends, because the coordinator cannot reach it")
        let pid = getpid()
        session = Session(
            seat: seat, epoch: epoch, pid: pid, startTime: ProcessIdentity.startTime(of: pid) ?? 0,
            bootID: ProcessIdentity.bootID)
        self.run = run
    }

    /// The text of the lock file, which earlier releases compare.
    static func signature(of epoch: Int64) -> String { "\(epoch)\n" }

    func renew() throws(StoreError) -> Bool { try lock.renew() }

    func openIntentLog(capacity: Int) -> sending IntentLog? {
        IntentLog(in: run, seat: session.seat, epoch: session.epoch, capacity: capacity)
    }

    func removeIntentLog() { IntentLog.remove(in: run, seat: session.seat, epoch: session.epoch) }
}

/// One coordinator for each data directory: `run/coordinator.lock`, taken before any bind.
///
/// The coordinator also holds `run/checkpoint.lock`, of the process that may checkpoint while others write. At its start a
/// producer that checkpoints a large WAL may have that.
final class LocalCoordination: HeldCoordination {
    let epoch: Int64
    private let lock: RoleLock
    private let run: RunDirectory
    private let checkpointLock: Mutex<FileLock?>

    init(_ held: FileLock, in run: RunDirectory, now: Timestamp) throws(StoreError) {
        lock = try RoleLock(
            held, .coordinator, in: run,
            isolation: "the coordinator used it; it ends, because no process can reach it")
        checkpointLock = Mutex(try run.take(.checkpoint))
        epoch = try CoordinatorEpoch.next(in: run, now: now)
        self.run = run
    }

    func renew() throws(StoreError) -> Bool {
        let wasRestored = try lock.renew()
        takeCheckpointLock()
        return wasRestored
    }

    /// Fails where descriptors run out, and is tried again.
    private func takeCheckpointLock() {
        checkpointLock.withLock { held in
            if held == nil { held = (try? run.take(.checkpoint)) ?? nil }
        }
    }
}

/// One door for each data directory: `run/door.lock`.
final class LocalDoor: HeldRole {
    private let held: FileLock
    private let run: RunDirectory

    init(_ held: FileLock, in run: RunDirectory) {
        self.held = held
        self.run = run
    }

    /// A door whose lock file was removed goes on, and its file is not made anew.
    func renew() throws(StoreError) -> Bool {
        held.beat(in: run.pulse(.door))
        return false
    }
}

/// The number of a coordinator. Workers obey the greatest that they have heard, so it grows with each start.
///
/// A file in `run/`, not a row of a shard: a damaged shard does not set it back. The workers that have heard
/// it end with the machine, so it is not synced.
enum CoordinatorEpoch {
    /// Returns a number that is greater than all before. Hold the coordinator's lock.
    static func next(in run: RunDirectory, now: Timestamp) throws(StoreError) -> Int64 {
        let path = run.coordinatorEpoch
        let descriptor: CInt
        do throws(SystemError) {
            descriptor = try openFile(path, O_RDWR | O_CREAT)
        } catch {
            throw StoreError(error)
        }
        defer { close(descriptor) }
        // It grows with time, and also where the clock was set back.
        let next = max(now.milliseconds, last(descriptor) + 1)
        let text = "\(next)\n"
        // The text is never shorter than the one that it replaces.
        guard text.withCString({ pwrite(descriptor, $0, strlen($0), 0) }) == text.utf8.count else {
            throw StoreError(.full, "\(SystemError("write", path))")
        }
        return next
    }

    /// 0 for an empty or foreign text.
    private static func last(_ descriptor: CInt) -> Int64 {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return 0 }
            let number = Int64(String(decoding: buffer[..<count], as: UTF8.self).prefix { $0.isNumber }) ?? 0
            return min(number, Int64.max - 1)
        }
    }
}
