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
    /// Bytes that a shard's file has from its first checkpoint on, see ``Connection/layOutWAL()``.
    static let laidOut: Int64 = 8 << 20
    /// Free bytes that laying out leaves to others.
    static let spared: UInt = 1 << 30
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

    /// Bytes and time of change of the file as it stands. Looked at by name: nothing is opened behind SQLite's back.
    static func file(of path: String) -> (bytes: Int64, changed: Int64) {
        var facts = stat()
        guard stat("\(path)-wal", &facts) == 0 else { return (0, 0) }
        return (Int64(facts.st_size), Int64(facts.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(facts.st_mtim.tv_nsec))
    }
}
