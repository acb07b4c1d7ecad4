internal import Commands
internal import Synchronization

/// What the shards of one store share.
final class ShardOptions: Sendable {
    let directory: DataDirectory
    let count: Int
    /// A virtual file system of SQLite's other than the system's own: tests record writes with one.
    let vfs: String?
    /// Bytes of WAL beyond which nothing is submitted.
    let walLimit: Int64
    /// The name of the store, learnt from the first shard that was opened: all must have it.
    let store = Mutex<String?>(nil)

    init(directory: DataDirectory, count: Int, vfs: String?, walLimit: Int64) {
        self.directory = directory
        self.count = count
        self.vfs = vfs
        self.walLimit = walLimit
    }
}
