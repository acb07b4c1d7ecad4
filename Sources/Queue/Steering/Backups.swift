package import Commands
package import Host
internal import Membership
internal import Store
internal import UploadSpool

/// How far a backup or a restore is with one shard.
package struct ShardProgress: Sendable, Equatable {
    package let shard: Int
    /// Bytes that were copied.
    package let bytes: Int64
    /// Bytes of the shard, as far as known.
    package let total: Int64
    /// The copy is complete, and is checked.
    package let isChecking: Bool

    fileprivate init(_ progress: BackupProgress) {
        shard = progress.shard
        bytes = progress.bytes
        total = progress.total
        isChecking = progress.isDone || progress.bytes == progress.total
    }
}

/// The changes that put a copy into the place of its store.
package struct SettledStore: Sendable, Equatable {
    /// Commands that a worker had claimed when the copy was made, by their new status: `new`, `inDoubt` or `cancelled`.
    package var claimed: [CommandStatus: Int] = [:]
    /// Messages between shards that were posted again.
    package var messages = 0
    /// Commands that wait for others that the store does not have.
    package var lostParents = 0

    init(_ claimed: [CommandStatus: Int], _ debts: ShardDebts = ShardDebts()) {
        self.claimed = claimed
        messages = debts.debts.count
        lostParents = debts.lostParents.count
    }
}

extension QueueAccess {
    /// Copies every shard while other processes write, checks each copy, and marks it as a backup.
    /// - Returns: the failures of the shards that were not copied; the copies of the others are complete.
    /// - Throws: where no shard can be copied, or the copies cannot be written.
    package func backup(
        to directory: String, progress: (ShardProgress) -> Void
    ) throws -> [(shard: Int?, error: SluiceError)] {
        guard let files = opened.maintenance else {
            throw SluiceError(
                .invalid,
                "the store is on a server, whose backups have it: pg_dump with --schema, or base backups and the archive of "
                    + "the WAL (deploy/POSTGRESQL.md)")
        }
        return try files.backup(to: directory) { progress(ShardProgress($0)) }.map { ($0.shard, SluiceError($0)) }
    }

    /// Removes what an interrupted backup has left.
    package func removeUnfinishedBackup(in directory: String) {
        DataDirectory(path: directory).removeUnfinished(store.shardCount)
    }

    /// Ends open uploads whose files the spool does not have, after a restore of the whole store.
    /// - Returns: how many were ended; else how many are missing and why none was ended: the spool may not be mounted.
    package func endLostUploads() throws -> (ended: Int, missing: (uploads: Int, reason: String)?) {
        let result = try spoolCheck.run()
        if result.lacksAll, try store.storeID() != nil, !hasOwnSpool {
            return (0, (result.missing.count, result.absence(of: SpoolDirectory(path: directory.uploads))))
        }
        return (try spoolCheck.endMissing().count, nil)
    }
}

/// Puts a backup back, in the steps between which a signal has another meaning. It has the data directory for itself from
/// its start to its end.
package final class StoreRestore {
    private let restore: Restore
    private var claimed: [CommandStatus: Int] = [:]

    /// - Parameter shard: the only one that is replaced; nil: all.
    package init(of backup: DataDirectory, to target: DataDirectory, shard: Int?) throws {
        restore = try Restore(of: backup, to: target, shard: shard)
    }

    /// Copies and checks the backup beside the store. Where it is interrupted, everything stays as it was.
    /// - Returns: when the backup was made, and the shards that it replaces.
    package func prepare(progress: (ShardProgress) -> Void) throws -> (time: Timestamp, shards: [Int]) {
        let result = try restore.prepare { progress(ShardProgress($0)) }
        claimed = result.settled
        return (result.time, result.shards)
    }

    /// Puts the copies in place. Where it is interrupted, every process refuses the store until the next restore.
    package func replaceShards() throws -> SettledStore { SettledStore(claimed, try restore.replaceShards()) }

    /// Lets processes use the store.
    package func finish() throws { try restore.finish() }

    /// Removes what an interrupted ``prepare(progress:)`` has left.
    package static func removeUnfinished(_ target: DataDirectory) { Restore.removeUnfinished(target) }

    /// Puts a copy of a data directory into use, in place of the original, which must not run any more.
    /// - Returns: the path of the original.
    package static func adopt(
        _ directory: DataDirectory, progress: (_ shard: Int) -> Void
    ) throws -> (original: String, settled: SettledStore) {
        let adoption = try Adoption(directory)
        let (settled, debts) = try adoption.run(progress: progress)
        return (adoption.copy.original, SettledStore(settled, debts))
    }
}
