internal import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Gives the free pages of shards back to the file system.
///
/// SQLite keeps the pages of deleted rows for later rows. A VACUUM beside other processes would write the
/// whole shard into its WAL under the write lock, so a compaction needs the store for itself: it writes each
/// shard anew beside the old file, and renames it.
package final class Compaction {
    private let data: DataDirectory
    private let access: ExclusiveAccess

    /// - Throws: `.busy` with the process that uses the data directory; `.unsuitable` where it is a copy of another.
    package init(_ data: DataDirectory) throws(StoreError) {
        try Self.refuseCopy(data)
        self.data = data
        access = try ExclusiveAccess(data)
    }

    /// The new files of a copy would hide that it is one.
    private static func refuseCopy(_ data: DataDirectory) throws(StoreError) {
        let store = try SQLiteStore(directory: data, create: false)
        try store.refuseBackup()
        if let copy = store.copiedDirectory() {
            throw StoreError(.unsuitable, "\(copy.sentence(data.resolved.path)).")
        }
    }

    /// The numbers of the shards.
    package func shards() throws(StoreError) -> [Int] { try data.shards() }

    /// Compacts one shard. One that is killed leaves the shard as it was.
    /// - Returns: the bytes of its files before and after.
    package func run(shard: Int) throws(StoreError) -> (before: Int64, after: Int64) {
        defer { withExtendedLifetime(access) {} }
        let (path, new) = (data.shard(shard), Self.unfinished(data, shard))
        let before = size(path) + size("\(path)-wal")
        do throws(StoreError) {
            try data.makeEmpty(new)
            try writeAnew(shard, path, to: new)
            let problems = try Connection.changeCopy(new, shard: shard) { connection throws(StoreError) in
                try connection.record(placeIn: data, file: new)
                return try connection.integrityCheck()
            }
            guard problems.isEmpty else {
                throw StoreError(
                    .corrupt,
                    "The compacted shard \(shard) is damaged and was not put in place: "
                        + "\(problems.joined(separator: "; ")).", shard: shard)
            }
            try data.sync(new)
        } catch {
            try? DatabaseFile.remove(new)
            throw error.about(shard: shard, at: path, writer: nil)
        }
        // The file has the whole WAL, so that it is sound at each of these steps.
        for suffix in ["-wal", "-shm"] where unlink(path + suffix) != 0 && errno != ENOENT {
            throw StoreError(SystemError("remove", path + suffix))
        }
        try data.sync(data.path)
        guard rename(new, path) == 0 else { throw StoreError(SystemError("rename", new)) }
        try data.sync(data.path)
        return (before, size(path))
    }

    /// The path of a new file of a shard until it is complete.
    private static func unfinished(_ data: DataDirectory, _ shard: Int) -> String { "\(data.shard(shard)).compacting" }

    /// Removes the files that an interrupted compaction has left.
    package static func removeUnfinished(_ data: DataDirectory) {
        for shard in (try? data.shards()) ?? [] {
            try? DatabaseFile.remove(unfinished(data, shard))
        }
    }

    private func writeAnew(_ shard: Int, _ path: String, to new: String) throws(StoreError) {
        let connection = try Connection(shard: shard, path: path, vfs: nil)
        try connection.use { () throws(StoreError) in
            _ = try connection.knownVersion(shard, path)
            if let time = try Connection.backupTime(connection.meta()) {
                throw StoreError.backup(in: data, of: time, shard: shard)
            }
            let (frames, copied) = try connection.checkpoint()
            guard frames == copied, frames >= 0 else {
                throw StoreError(.busy, "Another process reads shard \(shard); end it and try again.", shard: shard)
            }
            let vacuum = try Statement("VACUUM INTO ?1", sharing: connection)
            vacuum.bind(new)
            try vacuum.run()
        }
    }

    private func size(_ path: String) -> Int64 {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
    }
}
