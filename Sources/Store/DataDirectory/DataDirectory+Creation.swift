internal import Commands
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension DataDirectory {
    /// Makes the directories and, where there are none, the shards. Safe when several processes do it at once, and to
    /// repeat after one was killed meanwhile.
    /// - Parameters:
    ///   - shardCount: a power of two from 1 to 256. Of no meaning where there are shards already.
    ///   - types: commands of these are accepted before any worker has said that it runs them.
    package func create(
        shardCount: Int = 8, types: Set<String> = CommandType.builtIn
    ) throws(StoreError) {
        guard (1...256).contains(shardCount), shardCount & (shardCount - 1) == 0 else {
            throw StoreError(.invalid, "\(shardCount) shards are not a power of two from 1 to 256.")
        }
        try prepare()
        let lock = try takeCreateLock()
        defer { withExtendedLifetime(lock) {} }
        let found = try shards()
        let isCut = access(run.creating, F_OK) == 0
        if !isCut && !found.isEmpty { return }
        if !isCut { try refuseToReplace() }
        for shard in found { removeShard(shard) }
        try touch(run.creating)
        // Before the first shard: a power cut must not leave shards without it.
        try sync(run.path)
        let store = CommandID().description
        for shard in 0..<shardCount { try makeShard(shard, of: shardCount, store: store, types: types) }
        try sync(path)
        guard rename(run.creating, run.created) == 0 else {
            throw StoreError(SystemError("rename", run.creating))
        }
        try sync(run.path)
    }

    /// Waits for the lock that makes shards, at most 10 s.
    func takeCreateLock() throws(StoreError) -> FileLock {
        if let lock = try run.take(.create, timeout: longTimeout) { return lock }
        throw StoreError(.busy, "The lock \(run.lock(.create)) was held for longer than 10 s; try again.")
    }

    /// - Throws: where there were shards, and all are gone.
    private func refuseToReplace() throws(StoreError) {
        guard access(run.created, F_OK) == 0 else { return }
        throw StoreError(
            .missing,
            "The shards of the store in \(path) are gone; put them back, or remove the directory to begin anew.")
    }

    /// How many shards there are; waits for a process that is making them. - Throws: `.missing` where there are none.
    func countShards() throws(StoreError) -> Int {
        if access(run.creating, F_OK) == 0 {
            // Free again means made, or cut: then the marker still stands.
            _ = try takeCreateLock()
            guard access(run.creating, F_OK) != 0 else {
                throw StoreError(
                    .missing, "The making of the store in \(path) was cut; start “sluice up” to make it anew.")
            }
        }
        let numbers = try shards()
        guard let last = numbers.last else {
            try refuseToReplace()
            throw StoreError(.missing, "There is no store in \(path); “sluice up” makes one.")
        }
        for (index, number) in numbers.enumerated() where index != number {
            throw StoreError(.missing, "\(shard(index)) is missing; put it back.", shard: index)
        }
        let count = last + 1
        guard count & (count - 1) == 0 else {
            throw StoreError(.missing, "\(shard(count)) is missing; put it back.", shard: count)
        }
        return count
    }

    private func makeShard(_ number: Int, of count: Int, store: String, types: Set<String>) throws(StoreError) {
        let path = shard(number)
        // SQLite gives its other files the mode of the first.
        try touch(path)
        let connection = try Connection(shard: number, path: path, vfs: nil, isNew: true)
        try connection.use { () throws(StoreError) in
            let sql = Schema.migrations.joined() + Schema.contents(shard: number, of: count, store: store, types: types)
            try connection.execute(
                """
                BEGIN IMMEDIATE;
                \(sql)
                PRAGMA application_id = \(Schema.applicationID);
                PRAGMA user_version = \(Schema.version);
                COMMIT;
                """)
            // Nobody else has it open, so nothing can race.
            _ = try connection.checkpoint()
        }
    }

    private func removeShard(_ number: Int) {
        for suffix in ["", "-wal", "-shm"] { unlink(shard(number) + suffix) }
    }

    /// Makes an empty file that nobody else can read.
    func touch(_ path: String) throws(StoreError) {
        do throws(SystemError) {
            close(try openFile(path, O_WRONLY | O_CREAT))
        } catch {
            throw StoreError(error)
        }
    }

    /// Makes a file, or the names in a directory, durable.
    func sync(_ path: String) throws(StoreError) {
        do throws(SystemError) {
            try syncFile(path)
        } catch {
            throw StoreError(error)
        }
    }
}
