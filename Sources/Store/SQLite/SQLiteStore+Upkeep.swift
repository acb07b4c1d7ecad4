internal import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension SQLiteStore {
    package func set(_ key: String, to value: String?) throws(StoreError) {
        try shards[0].write { connection throws(StoreError) in
            let statement = try connection.statement(value == nil ? .removeSetting : .setSetting)
            statement.bind(key, at: 1)
            if let value { statement.bind(value, at: 2) }
            try statement.run()
        }
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
        try self.shard(shard).aside { connection throws(StoreError) in try connection.integrityCheck() }
    }

    package func backup(to directory: String, progress: (_ shard: Int) -> Void) throws(StoreError) {
        let target = DataDirectory(path: directory)
        if let taken = try target.shards().first {
            throw StoreError(
                .invalid, "\(target.shard(taken)) is there already; choose an empty directory for a backup.")
        }
        let missing = target.directories.filter { access($0, F_OK) != 0 }
        var copies: [String] = []
        do throws(StoreError) {
            try target.prepare()
            for shard in shards {
                copies.append(try copy(shard, to: target))
                progress(shard.number)
            }
            try target.sync(directory)
        } catch {
            // A part is no backup, and would stand in the way of the next one.
            for copy in copies { unlink(copy) }
            for made in missing.reversed() { rmdir(made) }
            throw error
        }
    }

    /// Copies one shard, and checks the copy. - Returns: its path.
    private func copy(_ shard: Shard, to target: DataDirectory) throws(StoreError) -> String {
        let path = target.shard(shard.number)
        let copy = path + ".part"
        unlink(copy)
        // VACUUM INTO takes an empty file, and leaves it its mode.
        try target.touch(copy)
        do throws(StoreError) {
            try shard.aside { connection throws(StoreError) in
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
            guard rename(copy, path) == 0 else { throw StoreError(errno: errno, "\(copy) cannot be renamed") }
        } catch {
            for suffix in ["", "-wal", "-shm", "-journal"] { unlink(copy + suffix) }
            throw error
        }
        return path
    }
}

extension Connection {
    func integrityCheck() throws(StoreError) -> [String] {
        let statement = try Statement("PRAGMA integrity_check", sharing: self)
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0)) }
        return lines == ["ok"] ? [] : lines
    }

    /// Checks a file that nobody else uses, and leaves no other file beside it.
    fileprivate static func check(copy: String, shard: Int) throws(StoreError) -> [String] {
        do {
            let connection = try Connection(shard: shard, path: copy, vfs: nil)
            let problems = try connection.use { () throws(StoreError) in
                let problems = try connection.integrityCheck()
                try connection.execute("PRAGMA journal_mode = DELETE")
                return problems
            }
            return problems
        }
    }
}
