#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// An exclusive flock(2) on a file of its own. It is held until this object goes away or its process ends, in
/// whatever way. Two locks on one file exclude each other, in two processes as in one.
package final class FileLock: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Takes the lock, and makes its file where there is none.
    /// - Returns: nil where the lock is held.
    /// - Throws: where the file cannot be made or opened.
    package static func attempt(_ path: String) throws(SystemError) -> FileLock? {
        let descriptor = try openFile(path, O_RDWR | O_CREAT)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        return FileLock(descriptor: descriptor)
    }

    /// As ``attempt(_:)``, once each millisecond. Blocks.
    /// - Returns: nil where the lock is held for longer than `timeout`.
    package static func attempt(_ path: String, timeout: Duration) throws(SystemError) -> FileLock? {
        for _ in 0..<timeout.nanoseconds / 1_000_000 {
            if let lock = try attempt(path) { return lock }
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
    package func isNamed(_ path: String) -> Bool {
        var (held, named) = (stat(), stat())
        return fstat(descriptor, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev
            && held.st_ino == named.st_ino
    }

    /// Writes into the file which process holds the lock. It may be read without the lock.
    package func sign(_ text: String) {
        ftruncate(descriptor, 0)
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }
}
