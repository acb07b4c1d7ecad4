internal import Commands
package import Host
package import Store
internal import Wire

/// The verbs and readings of a queue as functions that block: each stands once, for the command line, the API, the pages
/// and the library. A verb sends its own hints, after its transaction.
///
/// A reading leaves out shards that cannot be read; a verb fails with the error of its shard. Faces take every error as a
/// ``SluiceError`` (``SluiceError/init(_:)-(any Error)``), whose ``SluiceError/Code/answer`` says what it is to them.
package struct QueueAccess: Sendable {
    package let store: any CommandStore
    /// For what lies beside the store.
    package let directory: DataDirectory
    /// Lost where no coordinator runs, which then reads the store at its start.
    let hint: @Sendable (Hint.Kind, [CommandID]) -> Void

    init(
        _ store: any CommandStore, in directory: DataDirectory,
        hint: @escaping @Sendable (Hint.Kind, [CommandID]) -> Void
    ) {
        self.store = store
        self.directory = directory
        self.hint = hint
    }

    /// Of a process without a client: a hint makes a socket of its own, where a coordinator runs.
    package init(_ store: any CommandStore, in directory: DataDirectory) {
        self.init(store, in: directory) { HintSender.send($0, $1, in: directory) }
    }

    /// Opens the store of a data directory. Each shard is opened when it is first used.
    /// - Parameter create: makes the store where there is none, and refuses a backup and a copy: for what works on it.
    /// - Throws: `missing` where there is no store and `create` is false; `permission`; `backup`; `unsuitable`.
    package init(opening directory: DataDirectory, create: Bool = false) throws(StoreError) {
        let store = try SQLiteStore(directory: directory, create: create)
        if create {
            try store.refuseBackup()
            try store.refuseCopy()
        }
        self.init(store, in: directory)
    }

    /// The same queue for a process that collects its hints.
    package func collecting(_ hints: PendingHints) -> QueueAccess {
        QueueAccess(store, in: directory) { kind, ids in for id in ids { hints.add(kind, id) } }
    }

    /// The number of shards.
    package var shardCount: Int { store.shardCount }

    // MARK: The state of the store

    private var files: SQLiteStore? { store as? SQLiteStore }

    /// When the store was copied, where it is a backup: it is read, and nothing runs on it.
    package var backupTime: Timestamp? { files?.backupTime }

    /// The problems of shards that cannot be used, damaged, foreign or missing, as far as they were opened; then those of
    /// shards that refuse submits, because a process keeps their WAL from being started over.
    package var problems: [SluiceError] { ((files?.problems ?? []) + (files?.overloads ?? [])).map(SluiceError.init) }

    /// The hold after a jump of the wall clock, while which nothing is removed; nil where there is none.
    package func clockHold() throws(StoreError) -> ClockHold? { try store.clockHold() }
}

extension SluiceClient {
    /// Of the store of this client. Its hints go over the socket of the client.
    package var access: QueueAccess { QueueAccess(store, in: directory) { [batcher] in batcher.send($0, $1) } }

    /// Runs a verb or a reading on a thread of the client.
    /// - Throws: ``SluiceError``.
    package func access<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws -> Value {
        let access = access
        return try await aside { () throws(SluiceError) in
            do { return try body(access) } catch { throw SluiceError(error) }
        }
    }
}
