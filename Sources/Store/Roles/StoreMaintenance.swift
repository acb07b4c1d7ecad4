/// The upkeep of the files of a store. A store without files of its own has none.
package protocol StoreMaintenance: ShardedStore {
    /// Brings a shard to this program's version, in one transaction.
    /// - Parameter epochs: of the workers whose programs know that version. The session of any other worker
    ///   prevents the migration.
    func migrate(shard: Int, epochs: Set<Int64>) throws(StoreError) -> ShardMigration
    /// Copies WAL frames into the database under the write lock, so that no process starts the WAL over
    /// meanwhile.
    /// - Returns: bytes of WAL that remain to be copied.
    func checkpoint(shard: Int) throws(StoreError) -> Int64
    /// Bytes of the WAL of a shard.
    func walSize(shard: Int) -> Int64
    /// Makes a copy of every shard in `directory` while other processes write, and checks each copy with
    /// `integrity_check`. Each copy is of one moment, and is marked as a backup.
    /// - Returns: the errors of the shards that cannot be copied; the copies of the others are complete.
    /// - Throws: where no shard can be copied, or the copies cannot be written.
    func backup(to directory: String, progress: (BackupProgress) -> Void) throws(StoreError) -> [StoreError]
    /// Runs `PRAGMA integrity_check` on one shard.
    /// - Returns: the problems that SQLite reports; empty where there are none.
    func integrityCheck(shard: Int) throws(StoreError) -> [String]
    /// Sets right what ``ReadingStore/relationProblems(shard:)`` finds, in one transaction. Where it finds nothing, nothing
    /// is written.
    func mend(shard: Int) throws(StoreError) -> ShardMend
    /// Compares what the shards have told each other. Messages that are still to be carried are not owed.
    func debts() throws(StoreError) -> ShardDebts
    /// Posts messages that ``debts()`` has found, one transaction a shard. The coordinator carries them.
    func post(_ debts: ShardDebts) throws(StoreError)
}

/// How far a backup, a restore or a compaction is with one shard.
package struct BackupProgress: Sendable, Equatable {
    package var shard: Int
    /// Bytes copied so far.
    package var bytes: Int64
    /// Bytes of the shard, as far as known.
    package var total: Int64
    /// The copy is complete and checked.
    package var isDone = false

    package init(shard: Int, bytes: Int64, total: Int64, isDone: Bool = false) {
        self.shard = shard
        self.bytes = bytes
        self.total = total
        self.isDone = isDone
    }
}

/// The changes that a mend of a shard has made.
package struct ShardMend: Sendable, Equatable {
    /// A sentence for each change.
    package var changes: [String] = []
    /// The problems that remain, a sentence each.
    package var left: [String] = []

    package init() {}
}

/// The outcome of bringing a shard to the version of this program.
package enum ShardMigration: Sendable, Equatable {
    /// It has this version or a newer one.
    case notNeeded
    case migrated(from: Int)
    /// These workers have a session and do not know the version.
    case prevented(version: Int, by: [Session])
}
