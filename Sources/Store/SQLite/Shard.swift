internal import Commands
internal import Host
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// One file of the store, as this process uses it. Its connections are opened when they are first needed.
final class Shard: Sendable {
    let number: Int
    let path: String
    let options: ShardOptions
    /// Writes, and reads as long as no write of this process holds it.
    let connection = Mutex<Connection?>(nil)
    /// Taken while ``connection`` writes.
    let writers: WriterQueue
    /// Reads while ``connection`` writes. A write may have to wait for another process; a read never has to.
    private let reader = Mutex<Connection?>(nil)
    /// Copies the WAL while ``connection`` holds the write lock.
    let checkpointer = Mutex<Connection?>(nil)
    /// Bytes of WAL in use after the last commit of this process.
    let walBytes = Atomic<Int64>(0)
    /// The WAL file when it was last seen copied as a whole.
    let copiedWAL = Mutex<FileState?>(nil)
    /// The last error that made the shard unusable, until a write succeeds.
    private let lastProblem = Mutex<(error: StoreError, at: MonotonicTime)?>(nil)
    private let hasProblem = Atomic<Bool>(false)
    private let wasLocked = Atomic<Bool>(false)
    /// `meta.id` of the file that this process opened first.
    private let fileID = Mutex<String?>(nil)

    init(number: Int, path: String, options: ShardOptions) {
        self.number = number
        self.path = path
        self.options = options
        writers = WriterQueue(options.directory.run.writerQueue(of: number), shardAt: path)
    }

    /// Why the shard cannot be used: damaged, foreign or missing. Nil as far as known, and once the problem is
    /// ``problemMemory`` old: it may have been a disk that could not be read for a moment.
    var problem: StoreError? {
        guard hasProblem.load(ordering: .relaxed) else { return nil }
        return lastProblem.withLock { last in
            last.flatMap { MonotonicTime.now - $0.at < Self.problemMemory ? $0.error : nil }
        }
    }
    private static let problemMemory: Duration = .seconds(10)

    /// Whether the last write timed out because another process held the write lock.
    var isLocked: Bool { wasLocked.load(ordering: .relaxed) }

    /// Runs `body`, which only reads.
    func use<Value: Sendable>(_ body: (Connection) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try describingErrors { () throws(StoreError) in
            let value = try connection.withLockIfAvailable { slot throws(StoreError) in try use(&slot, body) }
            if let value { return value }
            return try reader.withLock { slot throws(StoreError) in try use(&slot, body) }
        }
    }

    private func use<Value: Sendable>(
        _ slot: inout Connection?, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let connection = try opened(&slot)
        return try connection.use { () throws(StoreError) in try body(connection) }
    }

    /// Runs `body` in one transaction, durable when this returns. Writes take turns, see ``WriterQueue``.
    /// - Parameter timeout: how long to wait for other processes.
    /// - Throws: `busy` after `timeout`.
    func write<Value: Sendable>(
        timeout: Duration = WriteTimeout.foreground, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try write(timeout: timeout, body) { value, _ in value }
    }

    /// - Parameter result: called after the commit.
    private func write<Value: Sendable, Output: Sendable>(
        timeout: Duration, _ body: (Connection) throws(StoreError) -> Value, _ result: (Value, Connection) -> Output
    ) throws(StoreError) -> Output {
        options.clockTrust.look()
        let value = try describingErrors(timeout: timeout) { () throws(StoreError) in
            try writers.enter(timeout: timeout)
            defer { writers.leave() }
            return try connection.withLock { slot throws(StoreError) in
                let connection = try opened(&slot)
                try refuseBackup(connection)
                defer { walBytes.store(connection.walBytes, ordering: .relaxed) }
                do throws(StoreError) {
                    return result(try connection.write(timeout: timeout, body), connection)
                } catch {
                    guard connection.isOutdated else { throw error }
                    // The shard was migrated, and `body` was not called.
                    slot = nil
                    reader.withLock { $0 = nil }
                    let connection = try opened(&slot)
                    return result(try connection.write(timeout: timeout, body), connection)
                }
            }
        }
        wasLocked.store(false, ordering: .relaxed)
        if hasProblem.load(ordering: .relaxed) { setProblem(nil) }
        if walBytes.load(ordering: .relaxed) > WALSize.checkpointThreshold { checkpointUnattended() }
        return value
    }

    /// Runs `body` in one transaction, as ``write(timeout:_:)``, and returns its effects on other commands than those that
    /// `body` has changed.
    func change<Value: Sendable>(
        timeout: Duration = WriteTimeout.foreground, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> (Value, Effects) {
        try write(timeout: timeout, body) { ($0, $1.effects) }
    }

    /// Runs `body` on a connection of its own, whose version was not looked at: for a migration.
    func withUncheckedConnection<Value>(
        _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try describingErrors { () throws(StoreError) in
            let connection = try connect()
            return try connection.use { () throws(StoreError) in try body(connection) }
        }
    }

    /// Opens the connections again when they are next needed, because the shard was migrated.
    func replaceConnections() {
        connection.withLock { $0 = nil }
        reader.withLock { $0 = nil }
    }

    func refuseBackup(_ connection: Connection) throws(StoreError) {
        guard let time = connection.backupTime else { return }
        throw StoreError.backup(in: options.directory, of: time, shard: number)
    }

    /// Runs `body` on a connection of its own: for one long read, which no write waits for.
    func withOwnConnection<Value>(_ body: (Connection) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try describingErrors { () throws(StoreError) in
            let connection = try open()
            return try connection.use { () throws(StoreError) in try body(connection) }
        }
    }

    func opened(_ slot: inout Connection?) throws(StoreError) -> Connection {
        if let connection = slot { return connection }
        let connection = try open()
        slot = connection
        return connection
    }

    private func open() throws(StoreError) -> Connection {
        try options.holdLock(for: number)
        var facts = stat()
        if stat(path, &facts) != 0, errno == ENOENT {
            throw StoreError(.missing, "\(path) is missing; \(RestoreAdvice.shard(number)).", shard: number)
        }
        try DataDirectory.check(path, isDirectory: false)
        guard facts.st_size > 0 else { throw StoreError(.corrupt, "the file is empty") }
        let connection = try connect()
        connection.run = options.directory.run
        connection.clockTrust = options.clockTrust
        try connection.use { () throws(StoreError) in
            try connection.checkIdentity(number: number, options)
        }
        if let time = connection.backupTime { options.backupTime.withLock { $0 = time } }
        let first = fileID.withLock { id in
            id = id ?? connection.fileID
            return id
        }
        guard first == connection.fileID || connection.fileID == nil else { throw Connection.replaced(number, path) }
        return connection
    }

    func connect() throws(StoreError) -> Connection {
        do throws(StoreError) {
            return try Connection(shard: number, path: path, vfs: options.vfs)
        } catch {
            if error.code == .permission, mayBeUsed {
                throw StoreError(
                    .exhausted,
                    "\(path) cannot be opened now, though it may be: the process or the machine has too few descriptors or "
                        + "too little memory left; raise the limit (ulimit -n for open files), or try again.",
                    shard: number)
            }
            // A damaged database still has whole pages; a file of another kind rarely has.
            var facts = stat()
            guard error.code == .corrupt, stat(path, &facts) == 0, facts.st_size % 4096 != 0 else { throw error }
            throw StoreError(
                .foreign,
                "\(path) is not a SQLite database; choose another data directory, or \(RestoreAdvice.shard(number)).",
                shard: number)
        }
    }

    /// Whether the modes of the files let this process use them: SQLite says “unable to open” for a lack of
    /// descriptors as well as for a lack of permission.
    private var mayBeUsed: Bool {
        access(options.directory.path, W_OK | X_OK) == 0
            && ["", "-wal", "-shm"].allSatisfy { access(path + $0, R_OK | W_OK) == 0 || $0 != "" && errno == ENOENT }
    }

    /// Adds to an error which shard it is about, and records whether it makes the shard unusable.
    func describingErrors<Value>(
        timeout: Duration = WriteTimeout.background, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            // A short try only moves on to another shard; it need not know which process holds the lock.
            let namesWriter = error.code == .busy && timeout >= WriteTimeout.background
            let error = error.about(
                shard: number, at: path,
                writer: namesWriter ? WALHolders.writer(of: path, run: options.directory.run) : nil)
            if error.code.makesShardUnusable { setProblem(error) }
            if error.code == .busy { wasLocked.store(true, ordering: .relaxed) }
            throw error
        }
    }

    private func setProblem(_ error: StoreError?) {
        lastProblem.withLock { $0 = error.map { ($0, .now) } }
        hasProblem.store(error != nil, ordering: .relaxed)
    }
}

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
