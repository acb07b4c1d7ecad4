package import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The locks of `run/`, with the sentences of the store where one cannot be taken.
extension RunDirectory {
    private func target(_ lock: Lock) -> ByteLock.Target? { lock.bytes.map { ByteLock.Target(presence, $0) } }

    /// Takes a lock. Blocks for `timeout` at most.
    /// - Parameter isShared: other processes may hold it in the same way.
    /// - Returns: nil where the lock is still held after `timeout`.
    package func take(
        _ lock: Lock, isShared: Bool = false, timeout: Duration = .zero
    ) throws(StoreError) -> FileLock? {
        do throws(SystemError) {
            let (path, target) = (self.lock(lock), target(lock))
            return timeout > .zero
                ? try FileLock.attempt(path, isShared: isShared, guardedBy: target, timeout: timeout)
                : try FileLock.attempt(path, isShared: isShared, guardedBy: target)
        } catch {
            throw StoreError(error)
        }
    }

    /// The queue of a shard's writers. It is not in `run/`, so that a sweep does not divide it.
    func writerQueue(of shard: Int) -> QueuedLock.Target { QueuedLock.Target(presence, number: shard) }

    /// Takes the bytes of all seats, so that no worker takes one.
    /// - Returns: nil where one of them is held.
    func takeSeatBytes() throws(StoreError) -> ByteLock? {
        do throws(SystemError) {
            return try ByteLock.attempt(ByteLock.Target(presence, 1..<Int64(1 + Lock.seats.upperBound)))
        } catch {
            throw StoreError(error)
        }
    }

    /// Whether the coordinator that runs is of release 0.1.0.
    func coordinatorIsOfFirstRelease() throws(StoreError) -> Bool {
        try holderOfFirstRelease(.coordinator, Self.pause) != nil
    }

    /// A coordinator or worker of release 0.1.0 that runs; nil where there is none.
    func processOfFirstRelease(pause: () -> Void = Self.pause) throws(StoreError) -> LockProbe? {
        for lock in [.coordinator] + Lock.seats.map(Lock.seat) {
            if let found = try holderOfFirstRelease(lock, pause) { return found }
        }
        return nil
    }

    /// The holder of a lock where it is of release 0.1.0, which locks the file and no bytes. Later releases lock the file
    /// first and the bytes at once: a process that has only the file may be one that starts, so it is looked at again.
    private func holderOfFirstRelease(_ lock: Lock, _ pause: () -> Void) throws(StoreError) -> LockProbe? {
        guard let target = target(lock) else { return nil }
        var found = LockProbe?.none
        for look in 0..<Self.maxLooks {
            if look > 0 { pause() }
            let holder = probe(lock)
            do throws(SystemError) {
                guard holder.isHeld, try !ByteLock.isTaken(target) else { return nil }
            } catch {
                throw StoreError(error)
            }
            // A list of locks that changes while it is read may lack one.
            if found?.pid == nil { found = holder }
        }
        return found
    }
    /// Looks at a lock, over half a second: a process that starts has the bytes some microseconds after the file.
    private static let maxLooks = 50

    // MARK: Programs

    /// The lock that the guardian of a program holds, by the command.
    package func execLock(_ id: CommandID) -> String { "\(path)/\(Self.execLockPrefix)\(id).lock" }

    /// Removes the locks of programs that no process holds, which killed guardians have left.
    /// - Parameter limit: the maximum number of files to remove.
    /// - Returns: the number of removed files, and the first error.
    package func removeFreeExecLocks(limit: Int) -> (removed: Int, problem: StoreError?) {
        var (removed, problem) = (0, StoreError?.none)
        do throws(StoreError) {
            for path in try files(prefix: Self.execLockPrefix) where removed < limit && isExecLock(path) {
                do throws(SystemError) {
                    if try FileLock.removeIfFree(path) { removed += 1 }
                } catch {
                    problem = problem ?? StoreError(error)
                }
            }
        } catch {
            problem = error
        }
        return (removed, problem)
    }

    private func isExecLock(_ path: String) -> Bool {
        guard let name = path.split(separator: "/").last?.dropFirst(Self.execLockPrefix.count), name.hasSuffix(".lock")
        else { return false }
        return CommandID(String(name.dropLast(".lock".count))) != nil
    }

    static let execLockPrefix = "exec-"

    /// Paths of the files whose names begin with `prefix`.
    package func files(prefix: String) throws(StoreError) -> [String] {
        try DataDirectory.names(path).filter { $0.hasPrefix(prefix) }.map { "\(path)/\($0)" }
    }
}

/// All locks of a data directory: of the coordinator, of every seat, and of the store exclusively. While it is
/// held, no process uses the store, and shards may be replaced.
final class ExclusiveAccess {
    private var locks: [FileLock] = []
    private let seats: ByteLock

    /// A process that only looks whether a lock is held holds it for a moment.
    private static let timeout: Duration = .milliseconds(500)

    /// - Throws: `.busy` with the process that uses the data directory.
    init(_ directory: DataDirectory) throws(StoreError) {
        let run = directory.run
        guard let coordinator = try run.take(.coordinator, timeout: Self.timeout) else {
            throw Self.busy(directory, "a coordinator", run.probe(.coordinator).pid)
        }
        var locks = [coordinator]
        // Workers of earlier versions hold the file of their seat only. A free seat may have none.
        for seat in RunDirectory.Lock.seats where access(run.lock(.seat(seat)), F_OK) == 0 {
            let path = run.lock(.seat(seat))
            let lock: FileLock?
            do throws(SystemError) {
                lock = try FileLock.attempt(path, timeout: Self.timeout)
            } catch {
                throw StoreError(error)
            }
            guard let lock else {
                throw Self.busy(directory, "the worker of seat \(seat)", LockProbe(path: path).pid)
            }
            locks.append(lock)
        }
        guard let seats = try run.takeSeatBytes() else { throw Self.busy(directory, "a worker", nil) }
        self.seats = seats
        if let store = try run.take(.store, timeout: Self.timeout) {
            locks.append(store)
        } else {
            throw Self.busy(directory, Self.users(of: run.lock(.store)), nil)
        }
        for shard in try directory.shards() {
            let users = Self.sqliteUsers(of: directory.shard(shard))
            guard users.isEmpty else { throw Self.busy(directory, WALHolders.names(users), nil) }
        }
        locks.append(try directory.takeCreateLock())
        self.locks = locks
    }

    private static func busy(_ directory: DataDirectory, _ holder: String, _ pid: Int32?) -> StoreError {
        StoreError(
            .busy,
            "The store in \(directory.path) is in use by \(holder)\(pid.map { ", \(WALHolders.names([$0]))" } ?? ""); stop "
                + "it, and every other process on this data directory, and try again.")
    }

    private static func users(of path: String) -> String {
        let pids = Set(KernelLock.all(on: path).filter { $0.kind == "FLOCK" }.map(\.pid)).subtracting([getpid()])
        return pids.isEmpty ? "another process" : WALHolders.names(pids)
    }

    /// The processes that have a shard open, of whatever program or version: SQLite locks a byte of the `-shm`
    /// file as long as a connection is open. The list of the kernel names files by their inode only, so the
    /// descriptors of each process are compared too.
    private static func sqliteUsers(of path: String) -> Set<Int32> {
        guard let file = FileIdentity(at: "\(path)-shm") else { return [] }
        let pids = KernelLock.all(on: "\(path)-shm").filter { $0.kind == "POSIX" }.map(\.pid)
        return Set(pids).filter { pid in
            guard pid != getpid(), let names = try? DataDirectory.names("/proc/\(pid)/fd") else { return false }
            return names.contains { FileIdentity(at: "/proc/\(pid)/fd/\($0)") == file }
        }
    }
}
