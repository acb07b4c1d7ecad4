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
        isHeld = Self.finding(path) == .held
        guard isHeld else { return }
        pid = KernelLock.all(on: path).first { $0.kind == "FLOCK" && $0.isExclusive }?.pid
    }

    fileprivate enum Finding {
        case free, held
        /// The lock cannot be looked at: this process may have no descriptor left.
        case unknown
    }

    /// Takes a shared lock for a moment: only the lock itself says whether it is held.
    fileprivate static func finding(_ path: String) -> Finding {
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return errno == ENOENT ? .free : .unknown }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return .free }
        return errno == EWOULDBLOCK ? .held : .unknown
    }
}

/// The proof that no process holds a lock, so that what it protects may be deleted.
package struct FreeLock: Sendable {
    /// - Returns: nil where the lock is held, or cannot be looked at. A lock without a file is free.
    package init?(path: String) {
        guard LockProbe.finding(path) == .free else { return nil }
    }

    private init() {}

    /// Of the holders before this process, or its child, which has obtained the lock.
    package static let obtained = FreeLock()
}
