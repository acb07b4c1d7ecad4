internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Whether a ``FileLock`` is held, and by which process.
package struct LockProbe: Sendable, Equatable {
    package var isHeld: Bool
    /// The process that holds the lock. Nil where the kernel does not tell: the process is in another
    /// container.
    package var pid: Int32?

    /// Looks at the lock file at `path`. A lock without a file is not held.
    package init(path: String) {
        isHeld = Self.isTaken(path)
        guard isHeld else { return }
        pid = KernelLock.all(on: path).first { $0.kind == "FLOCK" && $0.isExclusive }?.pid
    }

    /// Takes a shared lock for a moment: only the lock itself says whether it is held.
    private static func isTaken(_ path: String) -> Bool {
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
