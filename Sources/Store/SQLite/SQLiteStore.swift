internal import Commands
package import Host
internal import Synchronization

/// The store on disk: one SQLite file a shard, shared by any number of processes.
///
/// A process opens a shard when it first uses it. ``Connection``, ``Schema`` and
/// ``Shard/checkpoint(timeout:)`` say how the files are written, and why.
package final class SQLiteStore: CommandStore, StoreMaintenance {
    package let directory: DataDirectory
    package let shardCount: Int
    let shards: [Shard]
    let affinity = Mutex(ShardAffinity())
    package let clock: any StoreClock
    let clockTrust: ClockTrust

    /// Opens the store of a data directory. Each shard is opened when it is first used.
    /// - Parameters:
    ///   - create: makes the directory and its shards where there are none.
    ///   - shardCount: shards of a new store: a power of two from 1 to 256.
    ///   - vfs: for tests: the name of a virtual file system of SQLite, which records writes or makes them fail.
    ///   - walLimit: for tests: bytes of WAL beyond which submits are refused; 512 MiB when nil.
    /// - Throws: `.missing` where a shard is missing, or where there is no store and `create` is false;
    ///   `.permission` where the directory is not private to this user.
    package init(
        directory: DataDirectory, create: Bool = true, shardCount: Int = DataDirectory.defaultShardCount,
        clock: any StoreClock = MachineClock(), vfs: String? = nil, walLimit: Int64? = nil
    ) throws(StoreError) {
        if create { try directory.create(shardCount: shardCount) }
        let count = try directory.countShards()
        try DataDirectory.check(directory.path, isDirectory: true)
        let options = ShardOptions(
            directory: directory, count: count, clock: clock, vfs: vfs, walLimit: walLimit ?? WALSize.limit)
        self.directory = directory
        self.shardCount = count
        shards = (0..<count).map { Shard(number: $0, path: directory.shard($0), options: options) }
        self.clock = clock
        clockTrust = options.clockTrust
        clockTrust.reads { [weak first = shards[0]] () throws(StoreError) in
            try first?.use { connection throws(StoreError) in try connection.clockHold() } ?? nil
        }
    }

    package var isClockHeld: Bool { clockTrust.isHeld() }

    package func storeID() throws(StoreError) -> String? {
        for shard in shards {
            if let id = shard.options.storeID.withLock({ $0 }) { return id }
            try ifUsable { () throws(StoreError) in try shard.use { _ in } }
        }
        return shards[0].options.storeID.withLock { $0 }
    }

    func shard(of id: CommandID) -> Shard { shards[id.shard(of: shardCount)] }

    func shard(_ number: Int) throws(StoreError) -> Shard {
        guard shards.indices.contains(number) else {
            throw StoreError(.invalid, "There is no shard \(number); the store has \(shardCount).")
        }
        return shards[number]
    }
}

extension DataDirectory {
    /// Opens the store of the directory, as ``SQLiteStore/init(directory:create:shardCount:clock:vfs:walLimit:)``.
    package func openStore(
        create: Bool, shardCount: Int
    ) throws(StoreError) -> any CommandStore & StoreHealth & StoreMaintenance {
        try SQLiteStore(directory: self, create: create, shardCount: shardCount)
    }
}

extension SQLiteStore {
    package func types() throws(StoreError) -> Set<String> {
        for shard in shards {
            let found = try ifUsable { () throws(StoreError) in
                try shard.use { connection throws(StoreError) in try connection.readTypes() }
            }
            if let found { return found }
        }
        return []
    }

    package func record(types: Set<String>) throws(StoreError) {
        if let wrong = types.first(where: { !CommandDraft.isType($0) }) {
            throw StoreError.notAType(wrong)
        }
        var loss: StoreError?
        for shard in shards {
            do throws(StoreError) {
                let known = try shard.use { connection throws(StoreError) in try connection.readTypes() }
                guard !types.isSubset(of: known) else { continue }
                try shard.write(timeout: WriteTimeout.background) { connection throws(StoreError) in
                    for type in types { try connection.statement(.addType, type).run() }
                }
            } catch {
                guard error.code.makesShardUnusable else { throw error }
                loss = error
            }
        }
        if let loss { throw loss }
    }
}

extension Connection {
    func readTypes() throws(StoreError) -> Set<String> {
        knownTypes = Set(try statement(.types).rows { $0.text(0) })
        return knownTypes
    }

    /// Whether a worker can run the type, or once could.
    func isKnown(_ type: String) throws(StoreError) -> Bool {
        if knownTypes.contains(type) { return true }
        return try readTypes().contains(type)
    }
}
