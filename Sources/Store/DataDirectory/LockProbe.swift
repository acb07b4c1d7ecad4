internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Whether somebody holds a ``FileLock``, and who.
package struct LockProbe: Sendable, Equatable {
    package var isHeld: Bool
    /// Who holds it, where the kernel tells: not for processes of other containers.
    package var pid: Int32?

    /// Looks at the lock file at `path`. A file that is not there is not held.
    package init(path: String) {
        isHeld = Self.isTaken(path)
        guard isHeld else { return }
        pid = KernelLock.all(on: path).first { $0.kind == "FLOCK" && $0.isExclusive }?.pid
    }

    /// Shares it for a moment where nobody holds it: only the lock itself says whether it is held.
    private static func isTaken(_ path: String) -> Bool {
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
