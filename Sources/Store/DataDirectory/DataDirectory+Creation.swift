internal import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension DataDirectory {
    /// The number of shards of a new store, if the caller does not choose one.
    package static let defaultShardCount = 8

    /// Makes the directories and, where there are none, the shards. Several processes may do this at once,
    /// and it can be repeated after a process was killed meanwhile.
    /// - Parameters:
    ///   - shardCount: a power of two from 1 to 256. Ignored where there are shards.
    ///   - types: known types, which are accepted before any worker has registered.
    package func create(
        shardCount: Int = defaultShardCount, types: Set<String> = CommandType.builtIn
    ) throws(StoreError) {
        guard (1...256).contains(shardCount), shardCount & (shardCount - 1) == 0 else {
            throw StoreError(.invalid, "\(shardCount) shards are not a power of two from 1 to 256.")
        }
        try prepare()
        try refuseFileSystem()
        let lock = try takeCreateLock()
        defer { withExtendedLifetime(lock) {} }
        try RestoreMark.check(self)
        let found = try shards()
        let isInterrupted = access(run.creating, F_OK) == 0
        if !isInterrupted && !found.isEmpty { return }
        if !isInterrupted { try refuseToReplace() }
        for shard in found { removeShard(shard) }
        try touch(run.creating)
        // Before the first shard, because a power cut must not leave shards without the mark.
        try sync(run.path)
        let store = CommandID().description
        for shard in 0..<shardCount { try makeShard(shard, of: shardCount, store: store, types: types) }
        try sync(path)
        guard rename(run.creating, run.created) == 0 else {
            throw StoreError(SystemError("rename", run.creating))
        }
        try sync(run.path)
    }

    /// - Throws: `.unsuitable` where the file system lacks what SQLite's WAL mode needs.
    private func refuseFileSystem() throws(StoreError) {
        guard let found = try fileSystem(), let missing = found.missing else { return }
        throw StoreError(
            .unsuitable,
            "\(path) is on a file system of the type \(found.name), which has no \(missing), and several processes cannot use a "
                + "store there; choose a directory on a local disk.")
    }

    /// The file system of the directory; nil where it cannot be written to.
    package func fileSystem() throws(StoreError) -> FileSystemCheck? {
        do throws(SystemError) { return try FileSystemCheck(of: run.path) } catch {
            if isReadOnly { return nil }
            throw StoreError(error)
        }
    }

    /// Waits for the lock that makes shards, at most 10 s.
    func takeCreateLock() throws(StoreError) -> FileLock {
        if let lock = try run.take(.create, timeout: WriteTimeout.foreground) { return lock }
        throw StoreError(.busy, "The lock \(run.lock(.create)) was held for longer than 10 s; try again.")
    }

    /// - Throws: where the directory had shards and has none now.
    private func refuseToReplace() throws(StoreError) {
        guard access(run.created, F_OK) == 0 else { return }
        throw StoreError(
            .missing,
            "The shards of the store in \(path) are gone; \(RestoreAdvice.store), or remove the directory to begin anew."
        )
    }

    /// The number of shards. Waits for a process that is making them.
    /// - Throws: `.missing` where there are none, or one is missing.
    func countShards() throws(StoreError) -> Int {
        try RestoreMark.check(self)
        if access(run.creating, F_OK) == 0 {
            // When the lock is free, the shards are made, or their making was interrupted and the mark is still there.
            _ = try takeCreateLock()
            guard access(run.creating, F_OK) != 0 else {
                throw StoreError(
                    .missing,
                    "The creation of the store in \(path) was interrupted; start “sluice up” to create it again.")
            }
        }
        let numbers = try shards()
        guard let last = numbers.last else {
            try refuseToReplace()
            throw StoreError(.missing, "There is no store in \(path); “sluice up” creates one.")
        }
        for (index, number) in numbers.enumerated() where index != number {
            throw StoreError(.missing, "\(shard(index)) is missing; \(RestoreAdvice.shard(index)).", shard: index)
        }
        let count = last + 1
        guard count & (count - 1) == 0 else {
            throw StoreError(.missing, "\(shard(count)) is missing; \(RestoreAdvice.shard(count)).", shard: count)
        }
        return count
    }

    private func makeShard(_ number: Int, of count: Int, store: String, types: Set<String>) throws(StoreError) {
        let path = shard(number)
        // SQLite gives the WAL and the shm file the mode of the database.
        try touch(path)
        let connection = try Connection(shard: number, path: path, vfs: nil, purpose: .creation)
        try connection.use { () throws(StoreError) in
            let sql =
                Schema.base + Schema.contents(shard: number, of: count, store: store, types: types)
                + Schema.migrations.joined()
            try connection.execute(
                """
                BEGIN IMMEDIATE;
                \(sql)
                PRAGMA application_id = \(Schema.applicationID);
                PRAGMA user_version = \(Schema.minReader);
                COMMIT;
                """)
            try connection.record(placeIn: self)
            // No other process has the file open, so no other checkpoint can race with this one.
            _ = try connection.checkpoint()
        }
    }

    private func removeShard(_ number: Int) { try? DatabaseFile.remove(shard(number)) }

    /// Makes an empty file that other users cannot read.
    func touch(_ path: String) throws(StoreError) {
        do throws(SystemError) {
            close(try openFile(path, O_WRONLY | O_CREAT))
        } catch {
            throw StoreError(error)
        }
    }

    /// Makes an empty file that other users cannot read, where no database is afterwards that was there before.
    func makeEmpty(_ path: String) throws(StoreError) {
        do throws(SystemError) { try DatabaseFile.remove(path) } catch { throw StoreError(error) }
        try touch(path)
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

/// The files of an SQLite database that no process uses.
enum DatabaseFile {
    /// Endings of the paths of a database and of its other files.
    static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// Removes a database. A file that is missing counts as removed.
    ///
    /// SQLite replays a `-wal` or `-journal` into whatever file is at its path, so those of an interrupted copy
    /// must not outlive it.
    static func remove(_ path: String) throws(SystemError) {
        for suffix in suffixes where unlink(path + suffix) != 0 && errno != ENOENT {
            throw SystemError("remove", path + suffix)
        }
    }
}
