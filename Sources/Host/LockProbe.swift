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

/// The sign of life that the holder of a lock writes into a file beside the lock file (``FileLock/beat(in:now:)``).
///
/// A lock says that its process exists, not that it makes progress: a stopped or paused process keeps its locks. The
/// sign is readable from other containers too, where neither the pid nor the state of the process is. It is not in the lock
/// file, whose text earlier releases compare.
package struct LockPulse: Sendable, Equatable {
    /// By the monotonic clock, which all processes of a machine share and which no person sets.
    package let beat: MonotonicTime
    /// The same moment by the wall clock, in Unix milliseconds.
    package let milliseconds: Int64

    private static let word = "beat"
    private static let width = 20

    /// - Parameters:
    ///   - path: of the file with the sign.
    ///   - lock: the path of the lock file. A sign of an earlier holder has another signature, and counts for nothing.
    /// - Returns: nil where there is no sign of the holder: it is of a release that writes none.
    package init?(path: String, of lock: String) {
        let signature = TextFile.read(lock) ?? ""
        guard let text = TextFile.read(path), text.hasPrefix("\(signature)\(Self.word) ") else { return nil }
        let fields = text.dropFirst(signature.count + Self.word.count).split { $0 == " " || $0 == "\n" }
        guard fields.count == 2, let beat = Int64(fields[0]), let milliseconds = Int64(fields[1]) else { return nil }
        self.beat = MonotonicTime(nanoseconds: beat)
        self.milliseconds = milliseconds
    }

    /// Writes a sign over the earlier one. Its length is fixed, so that it replaces all of that.
    static func write(to path: String, signature: String, beat: MonotonicTime) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let milliseconds = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        let text = "\(signature)\(word) \(padded(beat.nanoseconds)) \(padded(milliseconds))\n"
        let descriptor = clinux_open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard text.withCString({ pwrite(descriptor, $0, strlen($0), 0) }) > 0 else { return }
        // An earlier holder may have had a longer signature.
        ftruncate(descriptor, off_t(text.utf8.count))
    }

    private static func padded(_ number: Int64) -> String {
        let digits = "\(max(number, 0))"
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}

/// A file lock as the kernel lists it in /proc/locks. Locks of processes in other containers are not listed.
///
/// The list names a file by device and inode, and some file systems (btrfs) give their files another device
/// than the list shows. So only the inode is compared, and a lock on a file of the same number on another
/// device is taken for one on this file.
package struct KernelLock {
    /// `FLOCK` or `POSIX`.
    package var kind: String
    package var isExclusive: Bool
    package var pid: Int32
    /// The first byte that is locked.
    package var start: Int

    /// Locks on the file at `path`; none where there is no such file.
    package static func all(on path: String) -> [KernelLock] {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return [] }
        let lines = TextFile.read("/proc/locks")?.split(separator: "\n") ?? []
        return lines.compactMap { KernelLock($0, inode: UInt64(facts.st_ino)) }
    }

    /// Reads `3: POSIX  ADVISORY  READ 1234 fe:00:131 124 124`. A lock that is waited for has `->` behind the
    /// number.
    private init?(_ line: Substring, inode: UInt64) {
        let fields = line.split(separator: " ")
        guard fields.count >= 8, fields[1] != "->", let pid = Int32(fields[4]), let start = Int(fields[6]),
            fields[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode
        else { return nil }
        kind = String(fields[1])
        isExclusive = fields[3] == "WRITE"
        self.pid = pid
        self.start = start
    }
}
