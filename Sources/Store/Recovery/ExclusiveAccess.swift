internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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
