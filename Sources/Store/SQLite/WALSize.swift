internal import Commands
internal import GRDBSQLite
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// How far the WAL of a shard has grown, as its commits report it.
final class WALSize: Sendable {
    /// Beyond this a writer tries to checkpoint while no coordinator does.
    static let checkpointed: Int64 = 32 << 20
    /// Bytes that a shard's file has from its first checkpoint on, see ``layOut(_:)``.
    static let laidOut: Int64 = 8 << 20
    /// Free bytes that laying out leaves to others.
    private static let spared: UInt = 1 << 30
    /// What SQLite leaves of the file when it starts over.
    static let kept: Int64 = 64 << 20
    /// Beyond this nothing is submitted.
    static let limit: Int64 = 512 << 20
    /// A frame: a page and its head.
    static let frame: Int64 = 4096 + 24

    private let frames = Atomic<Int>(0)

    var bytes: Int64 { Int64(frames.load(ordering: .relaxed)) * Self.frame }

    /// Learns the number of frames after each commit of `database`, which must not outlive this.
    func watch(_ database: OpaquePointer) {
        sqlite3_wal_hook(
            database,
            { context, _, _, frames in
                if let context {
                    Unmanaged<WALSize>.fromOpaque(context).takeUnretainedValue()
                        .frames.store(Int(frames), ordering: .relaxed)
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Fills a short file up with zeros. To sync a commit into blocks that have been written before takes a sixth less than
    /// into new ones, of which the file system must keep account as well: 0.19 and 0.25 ms beside 0.23 and 0.30 (ext4,
    /// medians of 600, 2026-11-22). SQLite takes frames of zeros for no frames.
    ///
    /// Nothing is said where it cannot be done: it is a matter of speed alone. SQLite has no locks on this file, which
    /// closing a second descriptor would drop.
    /// - Precondition: the caller holds the write lock, and so nobody appends.
    static func layOut(_ path: String) {
        let size = file(of: path).bytes
        var space = statvfs()
        guard size < laidOut, statvfs(path, &space) == 0, space.f_bavail * space.f_frsize > spared else {
            return
        }
        let descriptor = open("\(path)-wal", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: Int(laidOut - size))
        if pwrite(descriptor, zeros, zeros.count, off_t(size)) == zeros.count, fdatasync(descriptor) == 0 { return }
        ftruncate(descriptor, off_t(size))
    }

    /// Bytes and time of change of the file as it stands.
    static func file(of path: String) -> (bytes: Int64, changed: Int64) {
        var facts = stat()
        guard stat("\(path)-wal", &facts) == 0 else { return (0, 0) }
        return (Int64(facts.st_size), Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec))
    }
}
