internal import Commands
internal import Host
internal import Synchronization

/// Options that the shards of one store share.
final class ShardOptions: Sendable {
    let directory: DataDirectory
    let count: Int
    /// The name of a virtual file system of SQLite; nil for the default. Tests record writes with one.
    let vfs: String?
    /// Bytes of WAL beyond which submits are refused.
    let walLimit: Int64
    /// The id of the store, read from the first shard that was opened. All shards must have it.
    let storeID = Mutex<String?>(nil)
    /// The time of the copy, where a shard that was opened is a backup.
    let backupTime = Mutex<Timestamp?>(nil)
    let clockTrust: ClockTrust
    /// The shared lock of the store, from the first shard on that was opened.
    private let lock = Mutex<FileLock?>(nil)

    init(directory: DataDirectory, count: Int, clock: any StoreClock, vfs: String?, walLimit: Int64) {
        self.directory = directory
        self.count = count
        clockTrust = ClockTrust(clock)
        self.vfs = vfs
        self.walLimit = walLimit
    }

    /// Holds the shared lock of the store, so that no restore replaces a shard that this process has open.
    /// - Parameter shard: the one that is about to be opened.
    /// - Throws: `.busy` while a restore holds it, `.corrupt` after one was interrupted. This process does not hold the
    ///   lock then, because the next restore needs it.
    func holdLock(for shard: Int) throws(StoreError) {
        try lock.withLock { held throws(StoreError) in
            guard held == nil else { return }
            let lock: FileLock?
            do throws(StoreError) {
                lock = try directory.run.take(.store, isShared: true, timeout: Self.lockTimeout)
            } catch {
                // On a file system that cannot be written to, no shard is replaced.
                guard directory.isReadOnly else { throw error }
                return
            }
            if let lock {
                try RestoreMark.check(directory, shard: shard)
                held = lock
                return
            }
            let path = directory.run.lock(.store)
            let holder = KernelLock.all(on: path).first { $0.kind == "FLOCK" && $0.isExclusive }
            throw StoreError(
                .busy,
                "The store in \(directory.path) is being restored or compacted by "
                    + "\(holder.map { WALHolders.names([$0.pid]) } ?? "another process"), which holds \(path); "
                    + "try again when it ends.", shard: shard)
        }
    }

    /// A process that only tries the lock holds it for a moment.
    private static let lockTimeout: Duration = .milliseconds(500)
}
