internal import Commands
internal import Synchronization

/// Options that the shards of one store share.
final class ShardOptions: Sendable {
    let directory: DataDirectory
    let count: Int
    /// The name of a virtual file system of SQLite; nil for the default. Tests record writes with one.
    let vfs: String?
    /// Bytes of WAL beyond which submits are refused.
    let walLimit: Int64
    /// The id of the store, read from the first shard that was opened. All shards must have it.
    let storeID = Mutex<String?>(nil)

    init(directory: DataDirectory, count: Int, vfs: String?, walLimit: Int64) {
        self.directory = directory
        self.count = count
        self.vfs = vfs
        self.walLimit = walLimit
    }
}
