internal import Commands
internal import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension SQLiteStore {
    package func set(_ settings: [(key: String, value: String?)], timeout: Duration) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            for (key, value) in settings {
                let statement = try connection.statement(value == nil ? .removeSetting : .setSetting)
                statement.bind(key, at: 1)
                if let value { statement.bind(value, at: 2) }
                try statement.run()
            }
        }
    }

    package func update(
        _ key: String, timeout: Duration, _ change: (String?) -> String?
    ) throws(StoreError) {
        try shards[0].write(timeout: timeout) { connection throws(StoreError) in
            let before = try connection.setting(key)
            let after = change(before)
            guard after != before else { return }
            let statement = try connection.statement(after == nil ? .removeSetting : .setSetting)
            statement.bind(key, at: 1)
            if let after { statement.bind(after, at: 2) }
            try statement.run()
        }
    }

    package func setting(_ key: String) throws(StoreError) -> String? {
        try shards[0].use { connection throws(StoreError) in try connection.setting(key) }
    }

    package func settings(prefix: String) throws(StoreError) -> [String: String] {
        try shards[0].use { connection throws(StoreError) in
            let statement = try connection.statement(.setting)
            statement.bind(prefix, at: 1)
            var settings: [String: String] = [:]
            while try statement.step() { settings[statement.text(0)] = statement.text(1) }
            return settings
        }
    }

    /// - Precondition: the caller holds `run/checkpoint.lock`.
    package func checkpoint(shard: Int) throws(StoreError) -> Int64 { try self.shard(shard).checkpoint() }

    package func walSize(shard: Int) -> Int64 { shards.indices.contains(shard) ? shards[shard].walSize : 0 }

    package func integrityCheck(shard: Int) throws(StoreError) -> [String] {
        try self.shard(shard).withOwnConnection { connection throws(StoreError) in try connection.integrityCheck() }
    }

    package func backup(to directory: String, progress: (_ shard: Int) -> Void) throws(StoreError) {
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
            for shard in shards {
                try copy(shard, to: target)
                progress(shard.number)
            }
            // The files get their names last, so that a part of a backup is never taken for one, and a killed backup does
            // not block the next. The create lock keeps a store from being made there meanwhile.
            let making = try target.takeCreateLock()
            defer { withExtendedLifetime(making) {} }
            try target.refuseShards()
            for shard in shards {
                let (copy, path) = (target.unfinished(shard.number), target.shard(shard.number))
                guard rename(copy, path) == 0 else { throw StoreError(SystemError("rename", copy)) }
                placed.append(path)
            }
            try target.sync(directory)
        } catch {
            target.removeUnfinished(shards.count)
            for path in placed { unlink(path) }
            unlink(target.run.lock(.backup))
            for made in missing.reversed() { rmdir(made) }
            throw error
        }
    }

    /// Copies one shard, and checks the copy.
    private func copy(_ shard: Shard, to target: DataDirectory) throws(StoreError) {
        let copy = target.unfinished(shard.number)
        unlink(copy)
        // VACUUM INTO accepts an empty file and keeps its mode.
        try target.touch(copy)
        try shard.withOwnConnection { connection throws(StoreError) in
            let vacuum = try Statement("VACUUM INTO ?1", sharing: connection)
            vacuum.bind(copy, at: 1)
            try vacuum.run()
        }
        let problems = try Connection.check(copy: copy, shard: shard.number)
        guard problems.isEmpty else {
            throw StoreError(
                .corrupt, "The copy of shard \(shard.number) is damaged: \(problems.joined(separator: "; ")).",
                shard: shard.number)
        }
        try target.sync(copy)
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
            for suffix in ["", "-wal", "-shm", "-journal"] { unlink(unfinished(shard) + suffix) }
        }
    }
}

extension Connection {
    fileprivate func setting(_ key: String) throws(StoreError) -> String? {
        let statement = try statement(.settingOf)
        defer { statement.reset() }
        statement.bind(key, at: 1)
        return try statement.step() ? statement.text(0) : nil
    }

    func integrityCheck() throws(StoreError) -> [String] {
        let statement = try Statement("PRAGMA integrity_check", sharing: self)
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0)) }
        return lines == ["ok"] ? [] : lines
    }

    /// Runs integrity_check on a copy that no other process uses, and leaves no other file beside it.
    fileprivate static func check(copy: String, shard: Int) throws(StoreError) -> [String] {
        let connection = try Connection(shard: shard, path: copy, vfs: nil)
        return try connection.use { () throws(StoreError) in
            let problems = try connection.integrityCheck()
            try connection.execute("PRAGMA journal_mode = DELETE")
            return problems
        }
    }
}
