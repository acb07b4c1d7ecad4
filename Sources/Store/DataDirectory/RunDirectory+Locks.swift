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
