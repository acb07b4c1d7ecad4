#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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
