internal import Commands
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension SQLiteStore {
    package func backup(
        to directory: String, progress: (BackupProgress) -> Void
    ) throws(StoreError) -> [StoreError] {
        let target = DataDirectory(path: directory)
        // First, so that no directory is made inside a store.
        try target.refuseShards()
        let missing = target.directories.filter { access($0, F_OK) != 0 }
        do throws(StoreError) {
            try target.prepare()
        } catch {
            for made in missing.reversed() { rmdir(made) }
            throw error
        }
        guard let lock = try target.run.take(.backup) else {
            throw StoreError(.busy, "Another backup is being made in \(directory); try again when it has ended.")
        }
        defer { withExtendedLifetime(lock) {} }
        // Another backup may have ended meanwhile. Then all the files are its own, and none is removed.
        try target.refuseShards()
        var placed: [String] = []
        do throws(StoreError) {
            let (copied, failures) = try copyAll(to: target, progress)
            // The files get their names last, so that a part of a backup is never taken for one, and a killed backup does
            // not block the next. The create lock keeps a store from being made there meanwhile.
            let making = try target.takeCreateLock()
            defer { withExtendedLifetime(making) {} }
            try target.refuseShards()
            for shard in copied {
                let (copy, path) = (target.unfinished(shard.number), target.shard(shard.number))
                guard rename(copy, path) == 0 else { throw StoreError(SystemError("rename", copy)) }
                placed.append(path)
            }
            try target.sync(directory)
            return failures
        } catch {
            target.removeUnfinished(shards.count)
            for path in placed { unlink(path) }
            unlink(target.run.lock(.backup))
            for made in missing.reversed() { rmdir(made) }
            throw error
        }
    }

    /// Copies each shard. One that cannot be used does not end the copies of the others.
    private func copyAll(
        to target: DataDirectory, _ progress: (BackupProgress) -> Void
    ) throws(StoreError) -> (copied: [Shard], failures: [StoreError]) {
        var copied: [Shard] = []
        var failures: [StoreError] = []
        let time = clock.now()
        for shard in shards {
            do throws(StoreError) {
                try copy(shard, to: target, time: time, progress)
                copied.append(shard)
            } catch {
                guard error.code.makesShardUnusable || error.code == .busy else { throw error }
                try? DatabaseFile.remove(target.unfinished(shard.number))
                failures.append(error)
            }
        }
        if copied.isEmpty, let first = failures.first { throw first }
        return (copied, failures)
    }

    /// Copies one shard, checks the copy, and marks it.
    private func copy(
        _ shard: Shard, to target: DataDirectory, time: Timestamp, _ progress: (BackupProgress) -> Void
    ) throws(StoreError) {
        let copy = target.unfinished(shard.number)
        // Both ways accept an empty file and keep its mode.
        try target.makeEmpty(copy)
        if try !ShardCopy(shard, to: copy).run(progress: progress) {
            try target.makeEmpty(copy)
            try shard.withOwnConnection { connection throws(StoreError) in
                let vacuum = try Statement("VACUUM INTO ?1", sharing: connection)
                vacuum.bind(copy)
                try vacuum.run()
            }
        }
        let problems = try Connection.changeCopy(copy, shard: shard.number) { connection throws(StoreError) in
            let problems = try connection.integrityCheck()
            guard problems.isEmpty else { return problems }
            try connection.execute(
                "INSERT OR REPLACE INTO meta(key, value) VALUES ('backup', \(time.milliseconds))")
            return []
        }
        guard problems.isEmpty else {
            throw StoreError(
                .corrupt, "The copy of shard \(shard.number) is damaged: \(problems.joined(separator: "; ")).",
                shard: shard.number)
        }
        try target.sync(copy)
        var facts = stat()
        let size = stat(copy, &facts) == 0 ? Int64(facts.st_size) : 0
        progress(BackupProgress(shard: shard.number, bytes: size, total: size, isDone: true))
    }
}

extension DataDirectory {
    /// - Throws: `.invalid` where the directory has a shard.
    fileprivate func refuseShards() throws(StoreError) {
        guard let taken = try shards().first else { return }
        throw StoreError(.invalid, "\(shard(taken)) exists; choose an empty directory for a backup.")
    }

    /// The path of the copy of a shard until all copies are complete.
    fileprivate func unfinished(_ shard: Int) -> String { "\(self.shard(shard)).part" }

    /// Deletes the files that an interrupted backup left.
    package func removeUnfinished(_ shardCount: Int) {
        for shard in 0..<shardCount {
            try? DatabaseFile.remove(unfinished(shard))
        }
    }
}

extension Connection {
    /// Runs `body` on a copy of a shard that no other process uses, and leaves no other file beside it.
    static func changeCopy<Value>(
        _ path: String, shard: Int, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            let connection = try Connection(shard: shard, path: path, vfs: nil, purpose: .copy)
            return try connection.use { () throws(StoreError) in
                let value = try body(connection)
                try connection.execute("PRAGMA journal_mode = DELETE")
                return value
            }
        } catch {
            throw error.about(shard: shard, at: path, writer: nil)
        }
    }
}
