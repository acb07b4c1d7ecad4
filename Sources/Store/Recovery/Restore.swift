package import Commands
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Replaces shards of a store by those of a backup.
///
/// 1. It takes every lock (``ExclusiveAccess``).
/// 2. It copies the shards beside those that they will replace, checks the copies and settles what was claimed
///    in them. Until here nothing has changed.
/// 3. It leaves a mark (``RestoreMark``), removes each old shard with its `-wal` and `-shm`, and renames the
///    copies. A restore that is killed here leaves a store that is refused until it is restored again.
/// 4. It posts what the shards owe each other (``ShardDebts``): their files are of different moments.
/// 5. ``finish()`` removes the mark.
package final class Restore {
    private let backup: DataDirectory
    private let data: DataDirectory
    private let access: ExclusiveAccess
    /// The shards to replace.
    private let numbers: [Int]
    /// Of the whole backup.
    private let isWhole: Bool
    /// The shards of the store; 0 until the first copy is checked.
    private var shardCount = 0
    private var isReplacing = false

    /// Takes the locks, and makes the data directory where there is none.
    /// - Parameters:
    ///   - shard: replaces only this one; nil: all.
    /// - Throws: `.busy` with the process that uses the data directory; `.missing` where there is no backup;
    ///   `.invalid` where the backup is not complete, or is the data directory itself.
    package init(of backup: DataDirectory, to data: DataDirectory, shard: Int? = nil) throws(StoreError) {
        let found = try backup.shards()
        guard let last = found.last else { throw StoreError(.missing, "There is no backup in \(backup.path).") }
        if let identity = FileIdentity(at: backup.path), identity == FileIdentity(at: data.path) {
            throw StoreError(
                .invalid,
                "\(backup.path) is the data directory itself; name the directory of a backup, and with --data the "
                    + "directory that gets its shards.")
        }
        if let shard {
            guard found.contains(shard) else {
                throw StoreError(.missing, "The backup in \(backup.path) has no shard \(shard).", shard: shard)
            }
        } else if let missing = (0...last).first(where: { !found.contains($0) }) {
            throw StoreError(
                .invalid,
                "The backup in \(backup.path) has no shard \(missing); name another backup, or restore its shards one by "
                    + "one with --shard.")
        }
        for number in shard.map({ [$0] }) ?? found where FileState(walOf: backup.shard(number)).bytes > 0 {
            throw StoreError(
                .invalid,
                "\(backup.path) is a store that processes have used, not a backup: \(backup.shard(number))-wal has "
                    + "commits; “sluice backup” makes a copy of it.")
        }
        try data.prepare()
        self.backup = backup
        self.data = data
        numbers = shard.map { [$0] } ?? found
        isWhole = shard == nil
        access = try ExclusiveAccess(data)
        try RestoreMark.checkBeforeRestore(data, shard: shard)
    }

    /// Copies, checks and settles the shards.
    /// - Throws: `.foreign` where the backup is of another store, or newer than this program; `.corrupt` where
    ///   it is damaged. Then nothing has changed.
    package func prepare(progress: (BackupProgress) -> Void) throws(StoreError) -> RestoreResult {
        do throws(StoreError) {
            var target = try targetIdentity()
            var result: RestoreResult?
            var copied: ShardIdentity?
            for number in numbers {
                let copy = unfinished(number)
                try DurableCopy.run(from: backup.shard(number), to: copy) { bytes, total in
                    progress(BackupProgress(shard: number, bytes: bytes, total: total))
                }
                let identity = try check(copy, number)
                try compare(identity, with: target, in: data)
                target = target ?? identity
                if let copied, copied.backup != identity.backup {
                    throw StoreError(
                        .foreign, "The shards in \(backup.path) are of several backups; name the directory of one.")
                }
                copied = identity
                shardCount = identity.count
                let time = identity.backup ?? modificationTime(of: backup.shard(number))
                result = result ?? RestoreResult(time: time)
                result?.shards.append(number)
                let settled = try settle(copy, number, backup: time)
                result?.settled.merge(settled) { $0 + $1 }
                try data.sync(copy)
                progress(BackupProgress(shard: number, bytes: 0, total: 0, isDone: true))
            }
            guard let result, let copied else { throw StoreError(.missing, "There is no backup in \(backup.path).") }
            if isWhole, copied.count != numbers.count {
                throw StoreError(
                    .invalid,
                    "The backup in \(backup.path) has \(numbers.count) of the \(copied.count) shards of its store; name "
                        + "another backup, or restore its shards one by one with --shard.")
            }
            if let other = try data.shards().first(where: { $0 >= copied.count }) {
                throw StoreError(
                    .foreign,
                    "\(data.path) has a shard \(other), and the store in the backup has \(copied.count) shards; restore it into "
                        + "an empty directory.")
            }
            return result
        } catch {
            cancel()
            throw error
        }
    }

    /// Puts the copies in place. From here on the store is refused until ``finish()``.
    /// - Returns: what the shards owed each other, which is posted.
    @discardableResult
    package func replaceShards() throws(StoreError) -> ShardDebts {
        try RestoreMark.set(data, RestoreMark.text(backup: backup.path, shard: isWhole ? nil : numbers.first))
        isReplacing = true
        for number in numbers {
            let path = data.shard(number)
            // SQLite would replay an old WAL into the new file.
            for suffix in ["-wal", "-shm"] where unlink(path + suffix) != 0 && errno != ENOENT {
                throw StoreError(SystemError("remove", path + suffix))
            }
            let copy = unfinished(number)
            guard rename(copy, path) == 0 else { throw StoreError(SystemError("rename", copy)) }
        }
        try data.sync(data.path)
        return try RestoredShards(data, count: shardCount, restored: numbers).settle()
    }

    /// Lets processes use the store.
    package func finish() throws(StoreError) {
        unlink(data.run.creating)
        try data.touch(data.run.created)
        try data.sync(data.run.path)
        try RestoreMark.remove(data)
        withExtendedLifetime(access) {}
    }

    /// Removes the copies, unless they are being put in place.
    package func cancel() { if !isReplacing { Self.removeUnfinished(data) } }

    /// Removes the copies that a restore has left which was interrupted.
    package static func removeUnfinished(_ data: DataDirectory) {
        for name in (try? DataDirectory.names(data.path)) ?? [] {
            guard name.hasPrefix("shard-") else { continue }
            if DatabaseFile.suffixes.contains(where: { name.hasSuffix(".sqlite.restoring\($0)") }) {
                unlink("\(data.path)/\(name)")
            }
        }
    }

    private func unfinished(_ shard: Int) -> String { "\(data.shard(shard)).restoring" }

    // MARK: Checks

    /// The identity of the store in the data directory, as its first readable shard says; nil where there is
    /// none.
    private func targetIdentity() throws(StoreError) -> ShardIdentity? {
        for number in try data.shards() {
            do throws(StoreError) {
                let connection = try Connection(shard: number, path: data.shard(number), vfs: nil, purpose: .copy)
                return try connection.use { () throws(StoreError) in try ShardIdentity(connection.meta()) }
            } catch {
                // A shard that cannot be read is why it is restored.
                continue
            }
        }
        return nil
    }

    private func check(_ copy: String, _ number: Int) throws(StoreError) -> ShardIdentity {
        let path = backup.shard(number)
        let (identity, problems) = try Connection.changeCopy(copy, shard: number) { connection throws(StoreError) in
            _ = try connection.knownVersion(number, path)
            return (try ShardIdentity(connection.meta()), try connection.integrityCheck())
        }
        if let first = problems.first {
            throw StoreError(.corrupt, "The backup \(path) is damaged: \(first); use another backup.", shard: number)
        }
        guard identity.number == number else {
            throw StoreError(
                .foreign, "\(path) says that it is shard \(identity.number); use another backup.", shard: number)
        }
        return identity
    }

    private func compare(
        _ identity: ShardIdentity, with target: ShardIdentity?, in data: DataDirectory
    ) throws(StoreError) {
        guard let target, identity.store != target.store || identity.count != target.count else { return }
        throw StoreError(
            .foreign,
            "The backup in \(backup.path) is of another store (\(identity.store), \(identity.count) shards) than "
                + "\(data.path) (\(target.store), \(target.count) shards); restore it into an empty directory, or use a "
                + "backup of this store.")
    }

    /// For a backup of a version that did not mark it.
    private func modificationTime(of path: String) -> Timestamp {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return MachineClock().now() }
        return Timestamp(milliseconds: Int64(facts.st_mtim.tv_sec) * 1000)
    }

    // MARK: Settling

    private func settle(
        _ copy: String, _ number: Int, backup time: Timestamp
    ) throws(StoreError) -> [CommandStatus: Int] {
        try Connection.changeCopy(copy, shard: number) { connection throws(StoreError) in
            // No other process uses the store.
            _ = try connection.migrate(epochs: nil)
            try connection.use(version: try connection.knownVersion(number, copy))
            return try connection.settleCopy(reason: "restored from a backup of \(time)", in: data, file: copy)
        }
    }
}

/// The result of a restore.
package struct RestoreResult: Sendable, Equatable {
    /// When the backup was made.
    package var time: Timestamp
    /// The shards that were replaced.
    package var shards: [Int] = []
    /// Commands that a worker had claimed when the backup was made, by their new status: `new`, `inDoubt` or
    /// `cancelled`.
    package var settled: [CommandStatus: Int] = [:]

    package init(time: Timestamp) { self.time = time }
}

/// The rows of `meta` that say which shard of which store a file is.
struct ShardIdentity: Sendable, Equatable {
    var store: String
    var count: Int
    var number: Int
    /// When it was copied, where it is a backup.
    var backup: Timestamp?

    /// - Throws: `.foreign` where the rows are not those of a shard.
    init(_ meta: [String: String]) throws(StoreError) {
        guard let store = meta["store"], let count = meta["shards"].flatMap({ Int($0) }),
            let number = meta["number"].flatMap({ Int($0) })
        else { throw StoreError(.foreign, "The file does not say which shard of which store it is.") }
        self.store = store
        self.count = count
        self.number = number
        backup = try Connection.backupTime(meta)
    }
}
