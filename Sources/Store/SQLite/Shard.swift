internal import Commands
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// One file of the store in this process: opened when it is first used, one caller at a time.
final class Shard: Sendable {
    let number: Int
    let path: String
    private let options: ShardOptions
    /// Writes, and reads while nobody writes.
    private let connection = Mutex<Connection?>(nil)
    /// Reads while somebody writes: who writes may have to wait for another process, and who reads need not.
    private let second = Mutex<Connection?>(nil)
    private let checkpointer = Mutex<Connection?>(nil)
    /// Bytes of WAL in use after the last commit from here.
    private let walBytes = Atomic<Int64>(0)
    /// The file as it was when all of its WAL had been copied.
    private let copied = Mutex<(bytes: Int64, changed: Int64)?>(nil)
    private let trouble = Mutex<StoreError?>(nil)
    private let locked = Atomic<Bool>(false)

    init(number: Int, path: String, options: ShardOptions) {
        self.number = number
        self.path = path
        self.options = options
    }

    /// Why the shard cannot be used: damaged, foreign or missing. Nil as far as known.
    var problem: StoreError? { trouble.withLock { $0 } }

    /// Whether the last write found that another process keeps the lock.
    var isLocked: Bool { locked.load(ordering: .relaxed) }

    /// Runs `body`, which reads.
    func use<Value: Sendable>(_ body: (Connection) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try named { () throws(StoreError) in
            let value = try connection.withLockIfAvailable { slot throws(StoreError) in try use(&slot, body) }
            if let value { return value }
            return try second.withLock { slot throws(StoreError) in try use(&slot, body) }
        }
    }

    private func use<Value: Sendable>(
        _ slot: inout Connection?, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let connection = try opened(&slot)
        return try connection.use { () throws(StoreError) in try body(connection) }
    }

    /// Runs `body` in one transaction, durable when this returns. Others of this process wait for their turn.
    /// - Parameter timeout: how long another process's turn is waited for before it is an error, `busy`.
    func write<Value: Sendable>(
        timeout: Duration = longTimeout, _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let value = try named(timeout: timeout) { () throws(StoreError) in
            try connection.withLock { slot throws(StoreError) in
                let connection = try opened(&slot)
                defer { walBytes.store(connection.walBytes, ordering: .relaxed) }
                return try connection.write(timeout: timeout, body)
            }
        }
        locked.store(false, ordering: .relaxed)
        if walBytes.load(ordering: .relaxed) > WALSize.checkpointed { relieve() }
        return value
    }

    /// A connection beside the first, for one long read.
    func aside<Value>(_ body: (Connection) throws(StoreError) -> Value) throws(StoreError) -> Value {
        try named { () throws(StoreError) in
            let connection = try open()
            return try connection.use { () throws(StoreError) in try body(connection) }
        }
    }

    private func opened(_ slot: inout Connection?) throws(StoreError) -> Connection {
        if let connection = slot { return connection }
        let connection = try open()
        slot = connection
        return connection
    }

    private func open() throws(StoreError) -> Connection {
        var facts = stat()
        if stat(path, &facts) != 0, errno == ENOENT {
            throw StoreError(.missing, "\(path) is missing; put it back.", shard: number)
        }
        try DataDirectory.check(path, isDirectory: false)
        guard facts.st_size > 0 else { throw StoreError(.corrupt, "the file is empty") }
        let connection = try connect()
        try connection.use { () throws(StoreError) in
            try connection.checkIdentity(number: number, options)
        }
        return connection
    }

    private func connect() throws(StoreError) -> Connection {
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
            // A damaged database still has whole pages; a file of another kind hardly ever.
            var facts = stat()
            guard error.code == .corrupt, stat(path, &facts) == 0, facts.st_size % 4096 != 0 else { throw error }
            throw StoreError(
                .foreign, "\(path) is no SQLite database; choose another data directory, or put the shard back.",
                shard: number)
        }
    }

    /// SQLite says “unable to open” for want of descriptors as well as of permission.
    private var mayBeUsed: Bool {
        access(options.directory.path, W_OK | X_OK) == 0
            && ["", "-wal", "-shm"].allSatisfy { access(path + $0, R_OK | W_OK) == 0 || $0 != "" && errno == ENOENT }
    }

    /// Says which shard an error is about, and keeps what makes it useless.
    private func named<Value>(
        timeout: Duration = shortTimeout, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            // Who only tried does not ask who it was.
            let isAsked = error.code == .busy && timeout >= shortTimeout
            let error = error.about(shard: number, at: path, writer: isAsked ? WALHolders.writer(of: path) : nil)
            if error.code.spoilsShard { trouble.withLock { $0 = error } }
            if error.code == .busy { locked.store(true, ordering: .relaxed) }
            throw error
        }
    }

    // MARK: Checkpoints

    /// Copies the WAL into the file: `BEGIN IMMEDIATE` on one connection, a passive checkpoint on a second, `ROLLBACK`.
    ///
    /// While this holds the write lock nobody can start the WAL over, and nobody waits for readers: the form in which
    /// SQLite before 3.51.3 damages nothing. - Returns: bytes that remain to be copied.
    func checkpoint(timeout: Duration = shortTimeout) throws(StoreError) -> Int64 {
        try named { () throws(StoreError) in
            try connection.withLock { slot throws(StoreError) in
                let connection = try opened(&slot)
                return try checkpointer.withLock { slot throws(StoreError) in
                    if slot == nil { slot = try connect() }
                    guard let second = slot else { return 0 }
                    let (frames, done) = try connection.use(timeout: timeout) { () throws(StoreError) in
                        try connection.statement(.begin).run()
                        defer { connection.rollback() }
                        let counts = try second.use { () throws(StoreError) in try second.checkpoint() }
                        connection.layOutWAL()
                        // Still under the lock: nobody has written since.
                        let file = WALSize.file(of: path)
                        copied.withLock { $0 = counts.0 >= 0 && counts.0 == counts.1 ? file : nil }
                        return counts
                    }
                    return Int64(frames - done) * WALSize.frame
                }
            }
        }
    }

    /// Runs `body` with the connection that copies the WAL. - Throws: `.invalid` before the first checkpoint.
    func useCheckpointer<Value: Sendable>(
        _ body: (Connection) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try named { () throws(StoreError) in
            try checkpointer.withLock { slot throws(StoreError) in
                guard let second = slot else {
                    throw StoreError(.invalid, "Nothing has been copied from the WAL of this shard yet.")
                }
                return try second.use { () throws(StoreError) in try body(second) }
            }
        }
    }

    /// Bytes of the WAL; 0 where all of it has been copied and nothing was written since.
    var walSize: Int64 {
        let file = WALSize.file(of: path)
        let isCopied = copied.withLock { $0.map { $0.bytes == file.bytes && $0.changed == file.changed } ?? false }
        return isCopied ? 0 : file.bytes
    }

    /// Checkpoints if nobody else is there to do it: the coordinator holds the lock for life.
    private func relieve(timeout: Duration = shortTimeout) {
        // What was written is durable whatever becomes of this; the next writer tries again.
        guard let lock = try? options.directory.run.take(.checkpoint) else { return }
        _ = try? checkpoint(timeout: timeout)
        withExtendedLifetime(lock) {}
    }

    /// Refuses to let the WAL grow past its limit.
    func checkRoom(timeout: Duration) throws(StoreError) {
        guard WALSize.file(of: path).bytes > options.walLimit else { return }
        relieve(timeout: min(timeout, shortTimeout))
        // The first write after all was copied starts the WAL over: so one small write tells. It must change something:
        // SQLite leaves a page alone whose bytes stay the same.
        try write(timeout: timeout) { connection throws(StoreError) in
            try connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'probes'")
        }
        let bytes = walBytes.load(ordering: .relaxed)
        guard bytes > options.walLimit else { return }
        let holders = WALHolders(of: path, run: options.directory.run).sentence
        throw StoreError(
            .overloaded, "The WAL of shard \(number) (\(path)-wal) has \(bytes >> 20) MB; \(holders). Try again.",
            shard: number)
    }
}

/// How long a write waits for another process's turn that somebody asked for, and has nothing else to do.
let longTimeout: Duration = .seconds(10)
/// The same for what may as well be done later or elsewhere. A turn lasts a commit: milliseconds, unless its process is
/// stopped or its disk hangs.
let shortTimeout: Duration = .seconds(1)
