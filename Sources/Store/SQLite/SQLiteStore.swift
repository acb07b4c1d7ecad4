internal import Commands
internal import Synchronization

/// The store on disk: one SQLite file a shard, shared by any number of processes.
///
/// Each process has one connection to each shard that it has touched. How the files are written, and why so:
/// ``Connection``, ``Schema`` and ``Shard/checkpoint()``.
package final class SQLiteStore: CommandStore {
    package let directory: DataDirectory
    package let shardCount: Int
    let shards: [Shard]
    let affinity = Mutex(ShardAffinity())

    /// Opens the store of a data directory. No shard is opened before it is used; see ``openAll()``.
    /// - Parameters:
    ///   - create: makes the directory and its shards where there are none.
    ///   - shardCount: for a store that is made: a power of two from 1 to 256.
    /// - Throws: `.missing` where there is no store and `create` is false, or a shard is gone; `.permission` where
    ///   the directory is not private to this user.
    package convenience init(
        directory: DataDirectory, create: Bool = true, shardCount: Int = 8
    ) throws(StoreError) {
        try self.init(directory: directory, create: create, shardCount: shardCount, vfs: nil)
    }

    /// What tests change besides.
    /// - Parameters:
    ///   - vfs: a virtual file system of SQLite's, which records writes or makes them fail.
    ///   - walLimit: bytes of WAL beyond which nothing is submitted; 512 MB when nil.
    package init(
        directory: DataDirectory, create: Bool, shardCount: Int, vfs: String?, walLimit: Int64? = nil
    ) throws(StoreError) {
        if create { try directory.create(shardCount: shardCount) }
        let count = try directory.countShards()
        try DataDirectory.check(directory.path, isDirectory: true)
        let options = ShardOptions(directory: directory, count: count, vfs: vfs, walLimit: walLimit ?? WALSize.limit)
        self.directory = directory
        self.shardCount = count
        shards = (0..<count).map { Shard(number: $0, path: directory.shard($0), options: options) }
    }

    /// Opens every shard now, not when it is needed. Damaged shards are left out; see
    /// ``problems``.
    package func openAll() throws(StoreError) {
        for shard in shards { try sound { () throws(StoreError) in try shard.use { _ in } } }
    }

    /// What a setting of SQLite's is on the connection that writes: for `doctor` and tests.
    /// - Parameter ofCheckpointer: on the one that copies the WAL instead, which is there after the first checkpoint.
    package func pragma(
        _ name: String, shard: Int, ofCheckpointer: Bool = false
    ) throws(StoreError) -> String {
        guard name.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) })
        else { throw StoreError(.invalid, "“\(name)” is no pragma.") }
        func value(on connection: Connection) throws(StoreError) -> String {
            let statement = try Statement("PRAGMA \(name)", sharing: connection)
            return try statement.step() ? statement.text(0) : ""
        }
        let shard = try self.shard(shard)
        guard ofCheckpointer else {
            return try shard.use { connection throws(StoreError) in try value(on: connection) }
        }
        return try shard.useCheckpointer { connection throws(StoreError) in try value(on: connection) }
    }

    /// What is wrong with shards that could not be used: damaged, foreign or missing. The others keep working.
    package var problems: [StoreError] { shards.compactMap(\.problem) }

    func shard(of id: CommandID) -> Shard { shards[id.shard(of: shardCount)] }

    func shard(_ number: Int) throws(StoreError) -> Shard {
        guard shards.indices.contains(number) else {
            throw StoreError(.invalid, "There is no shard \(number); the store has \(shardCount).")
        }
        return shards[number]
    }
}
