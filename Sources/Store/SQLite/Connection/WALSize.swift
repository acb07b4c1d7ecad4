internal import GRDBSQLite
internal import Synchronization

/// The size of the WAL of a shard, as its commits report it, and the limits of that size.
final class WALSize: Sendable {
    /// Bytes from which on a writer checkpoints, where no coordinator does.
    static let checkpointThreshold: Int64 = 32 << 20
    /// Bytes that the file has from its first checkpoint on, see ``Connection/preallocateWAL()``.
    static let preallocated: Int64 = 8 << 20
    /// Preallocation happens only where the file system has more free bytes than this.
    static let reservedSpace: UInt = 1 << 30
    /// Bytes to which SQLite truncates the file when it starts the WAL over (`journal_size_limit`).
    static let truncatedSize: Int64 = 64 << 20
    /// Bytes beyond which submits are refused.
    static let limit: Int64 = 512 << 20
    /// Bytes of a frame: a page and its header.
    static let frame: Int64 = 4096 + 24

    private let frames = Atomic<Int>(0)

    var bytes: Int64 { Int64(frames.load(ordering: .relaxed)) * Self.frame }

    /// Records the number of frames after each commit of `database`, which must not outlive this object.
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
}
