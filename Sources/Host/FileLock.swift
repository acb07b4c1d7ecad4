internal import CLinux
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A flock(2) on a file of its own. It is held until this object goes away or its process ends, in whatever
/// way. Two locks on one file exclude each other, in two processes as in one, unless both are shared.
///
/// A file that is removed takes its lock along: the next process makes a new one and locks that. So an
/// important lock has a ``ByteLock`` of another file beside it, its guard, and both are held or none. Its holder
/// calls ``renew(_:)`` again and again, which makes the file anew.
package final class FileLock: Sendable {
    private let descriptor: CInt
    private let lockGuard: ByteLock?
    private let signature = Mutex("")

    private init(descriptor: CInt, lockGuard: ByteLock? = nil) {
        self.descriptor = descriptor
        self.lockGuard = lockGuard
    }

    deinit { close(descriptor) }

    /// Takes the lock, and makes its file where there is none.
    /// - Parameters:
    ///   - isShared: any number of processes may hold it, but none exclusively.
    ///   - target: the bytes of its guard.
    /// - Returns: nil where the lock is held.
    /// - Throws: where the file cannot be made or opened.
    package static func attempt(
        _ path: String, isShared: Bool = false, guardedBy target: ByteLock.Target? = nil
    ) throws(SystemError) -> FileLock? {
        let descriptor = try openFile(path, O_RDWR | O_CREAT)
        var lockGuard: ByteLock?
        do throws(SystemError) {
            guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
                close(descriptor)
                return nil
            }
            if let target {
                lockGuard = try ByteLock.attempt(target, isShared: isShared)
                if lockGuard == nil {
                    close(descriptor)
                    return nil
                }
            }
        } catch {
            close(descriptor)
            throw error
        }
        return FileLock(descriptor: descriptor, lockGuard: lockGuard)
    }

    /// As ``attempt(_:isShared:guardedBy:)``, once each millisecond. Blocks.
    /// - Returns: nil where the lock is held for longer than `timeout`.
    package static func attempt(
        _ path: String, isShared: Bool = false, guardedBy target: ByteLock.Target? = nil, timeout: Duration
    ) throws(SystemError) -> FileLock? {
        for _ in 0..<timeout.nanoseconds / 1_000_000 {
            if let lock = try attempt(path, isShared: isShared, guardedBy: target) { return lock }
            usleep(1000)
        }
        return nil
    }

    /// Removes the file of a lock that no process holds, under the lock. A process that opens the file before
    /// and locks it after that must compare it with its path, as ``isNamed(_:)`` does.
    /// - Returns: false where the lock is held. A file that is missing counts as removed.
    /// - Throws: where the file cannot be opened or removed.
    package static func removeIfFree(_ path: String) throws(SystemError) -> Bool {
        let descriptor: CInt
        do throws(SystemError) { descriptor = try openFile(path, O_RDWR | O_NOFOLLOW) } catch {
            guard error.code == ENOENT else { throw error }
            return true
        }
        let lock = FileLock(descriptor: descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        // Another process may have removed it, and a third one may have made and locked a new one.
        guard lock.isNamed(path) else { return false }
        guard unlink(path) == 0 || errno == ENOENT else { throw SystemError("remove", path) }
        return true
    }

    /// Whether a path still leads to the locked file, which may have been removed since it was opened.
    package func isNamed(_ path: String) -> Bool { FileIdentity(of: descriptor) == FileIdentity(at: path) }

    /// Writes into the file which process holds the lock. It may be read without the lock.
    package func sign(_ text: String) {
        signature.withLock { $0 = text }
        Self.write(text, to: descriptor)
    }

    /// Writes a sign of life (``LockPulse``). Call it about four times a second: it costs one write to the page cache. An error
    /// leaves the earlier sign.
    /// - Parameter path: of the file with the sign, beside the lock file.
    package func beat(in path: String, now: MonotonicTime = .now) {
        LockPulse.write(to: path, signature: signature.withLock { $0 }, beat: now)
    }

    private static func write(_ text: String, to descriptor: CInt) {
        ftruncate(descriptor, 0)
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    // MARK: A file that was removed

    package enum Renewal: Sendable {
        /// The path leads to the locked file.
        case unchanged
        /// The file had been removed or replaced. The path leads to a locked and signed one again.
        case renewed
        /// Another process tries the lock at this moment: call again soon. The guard keeps it from holding it.
        case delayed
        /// The file of the guard is gone too: another process may hold the lock.
        case lost
    }

    /// Takes the lock again where its file was removed or replaced.
    /// - Precondition: it is exclusive and has a guard.
    /// - Throws: where the file cannot be made.
    package func renew(_ path: String) throws(SystemError) -> Renewal {
        guard lockGuard?.isNamed ?? false else { return .lost }
        if isNamed(path) { return .unchanged }
        // The file gets its name when it is locked and signed.
        let draft = "\(path).\(getpid())"
        let descriptor = try openFile(draft, O_RDWR | O_CREAT | O_TRUNC)
        let new = FileLock(descriptor: descriptor)
        defer { unlink(draft) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return .delayed }
        let signature = signature.withLock { $0 }
        Self.write(signature, to: descriptor)
        if link(draft, path) == 0 { return try replace(with: new, path) }
        guard errno == EEXIST else { throw SystemError("make", path) }
        // A process that tried the lock has made the file.
        guard let found = try Self.attempt(path), found.isNamed(path) else { return .delayed }
        Self.write(signature, to: found.descriptor)
        return try replace(with: found, path)
    }

    private func replace(with new: FileLock, _ path: String) throws(SystemError) -> Renewal {
        guard clinux_replace_descriptor(new.descriptor, descriptor) >= 0 else {
            throw SystemError("duplicate the descriptor of", path)
        }
        return .renewed
    }
}
