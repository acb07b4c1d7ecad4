internal import CLinux
internal import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// An exclusive flock(2) on a file of its own, held until this goes away or its process ends, in whatever way. Processes
/// and stores exclude each other.
package final class FileLock: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Takes the lock if nobody has it. - Returns: nil where somebody has.
    /// - Throws: where the file cannot be made or opened.
    package static func attempt(_ path: String) throws(StoreError) -> FileLock? {
        let descriptor = clinux_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno: errno, "The lock \(path) cannot be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        return FileLock(descriptor: descriptor)
    }

    /// Waits for the lock, at most 10 s.
    static func wait(_ path: String) throws(StoreError) -> FileLock {
        if let lock = try attempt(path, timeout: longTimeout) { return lock }
        throw StoreError(.busy, "The lock \(path) was held for longer than 10 s; try again.")
    }

    /// Waits for the lock. - Returns: nil where somebody has it for longer.
    package static func attempt(_ path: String, timeout: Duration) throws(StoreError) -> FileLock? {
        for _ in 0..<timeout.milliseconds {
            if let lock = try attempt(path) { return lock }
            usleep(1000)
        }
        return nil
    }

    /// Writes into the file who holds it.
    package func sign(_ text: String) {
        ftruncate(descriptor, 0)
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }
}
