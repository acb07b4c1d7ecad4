#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A lock that a process holds, as the kernel lists it in /proc/locks: not those of processes in other containers.
///
/// The list tells devices in a way that not every file system's files do, so a file of the same number on another device
/// may be meant.
struct KernelLock {
    /// `FLOCK` or `POSIX`.
    var kind: String
    var isExclusive: Bool
    var pid: Int32
    /// The first byte that is locked.
    var start: Int

    /// Locks on the file at `path`; none where there is no such file.
    static func all(on path: String) -> [KernelLock] {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return [] }
        let lines = ProcessIdentity.contents(of: "/proc/locks")?.split(separator: "\n") ?? []
        return lines.compactMap { KernelLock($0, inode: UInt64(facts.st_ino)) }
    }

    /// Reads `3: POSIX  ADVISORY  READ 1234 fe:00:131 124 124`; those who wait have `->` behind the number.
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
