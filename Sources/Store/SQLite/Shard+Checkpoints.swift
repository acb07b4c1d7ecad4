internal import Host
internal import Synchronization

/// The WAL of a shard: when it is copied into the file, and when it is too large for more submits.
extension Shard {
    /// Copies the WAL into the file, and truncates a long one that has been copied as a whole.
    /// - Returns: bytes that remain to be copied.
    func checkpoint(timeout: Duration = WriteTimeout.background) throws(StoreError) -> Int64 {
        let remaining = try copyWAL(timeout: timeout)
        if remaining == 0, FileState(walOf: path).bytes > WALSize.truncatedSize { try startWALOver(timeout: timeout) }
        return remaining
    }

    /// The first write after a whole checkpoint starts the WAL over, unless a process reads from it. The write must change
    /// a value: SQLite writes no page whose bytes stay the same.
    private func startWALOver(timeout: Duration) throws(StoreError) {
        try write(timeout: timeout) { connection throws(StoreError) in
            try connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'probes'")
        }
    }

    /// Copies the WAL: `BEGIN IMMEDIATE` on one connection, a passive checkpoint on a second, `ROLLBACK`.
    ///
    /// While this process holds the write lock, no other can start the WAL over, and a passive checkpoint
    /// waits for no reader. In this form the WAL-reset bug of SQLite 3.7.0 to 3.51.2 cannot damage the
    /// database.
    /// - Returns: bytes that remain to be copied.
    private func copyWAL(timeout: Duration) throws(StoreError) -> Int64 {
        try describingErrors { () throws(StoreError) in
            try writers.enter(timeout: timeout)
            defer { writers.leave() }
            return try connection.withLock { slot throws(StoreError) in
                let connection = try opened(&slot)
                try refuseBackup(connection)
                return try checkpointer.withLock { slot throws(StoreError) in
                    if slot == nil { slot = try connect() }
                    guard let copier = slot else { return 0 }
                    let (frames, done) = try connection.use(timeout: timeout) { () throws(StoreError) in
                        try connection.statement(.begin).run()
                        defer { connection.rollback() }
                        // The copier opened the file by its path.
                        try connection.refuseReplacedFile()
                        try copier.refuseReplacedFile()
                        try PageChanges.record(in: options.directory.run, connection)
                        let counts = try copier.use { () throws(StoreError) in try copier.checkpoint() }
                        connection.preallocateWAL()
                        // Still under the write lock, so the file is what was copied.
                        let file = FileState(walOf: path)
                        copiedWAL.withLock { $0 = counts.0 >= 0 && counts.0 == counts.1 ? file : nil }
                        return counts
                    }
                    return Int64(frames - done) * WALSize.frame
                }
            }
        }
    }

    /// Runs `body` with the connection that copies the WAL.
    /// - Throws: `.invalid` before the first checkpoint.
    func useCheckpointer<Value: Sendable>(
        _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try describingErrors { () throws(StoreError) in
            try checkpointer.withLock { slot throws(StoreError) in
                guard let copier = slot else {
                    throw StoreError(.invalid, "Nothing has been copied from the WAL of this shard yet.")
                }
                return try copier.use { () throws(StoreError) in try body(copier) }
            }
        }
    }

    /// Bytes of the WAL file; 0 where all of it is copied and no write followed.
    var walSize: Int64 {
        let file = FileState(walOf: path)
        return copiedWAL.withLock { $0 == file } ? 0 : file.bytes
    }

    /// Checkpoints if no other process does: a coordinator holds the checkpoint lock for its life.
    func checkpointUnattended(timeout: Duration = WriteTimeout.background) {
        // An error changes nothing: the commits are durable without a checkpoint, and the next write tries again.
        guard let lock = try? options.directory.run.take(.checkpoint) else { return }
        _ = try? checkpoint(timeout: timeout)
        withExtendedLifetime(lock) {}
    }

    /// Refuses a submit while the WAL is larger than its limit.
    /// - Throws: `.overloaded`, with the processes that keep the WAL from being started over.
    func checkWALLimit(timeout: Duration) throws(StoreError) {
        guard FileState(walOf: path).bytes > options.walLimit else { return }
        checkpointUnattended(timeout: min(timeout, WriteTimeout.background))
        // A small write shows whether the WAL can be started over.
        try startWALOver(timeout: timeout)
        let bytes = walBytes.load(ordering: .relaxed)
        guard bytes > options.walLimit else { return }
        throw walProblem(bytes)
    }

    /// Why submits are refused: the WAL is larger than its limit. Nil where it is not.
    var overload: StoreError? {
        let bytes = walSize
        return bytes > options.walLimit ? walProblem(bytes) : nil
    }

    private func walProblem(_ bytes: Int64) -> StoreError {
        let holders = WALHolders(of: path, run: options.directory.run).sentence
        return StoreError(
            .overloaded, "The WAL of shard \(number) (\(path)-wal) has \(bytes >> 20) MB; \(holders). Try again.",
            shard: number)
    }
}
