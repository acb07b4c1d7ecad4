internal import Commands
package import Host
package import Membership
package import Store
internal import Wire

/// The verbs and readings of a queue as functions that block: each stands once, for the command line, the API, the pages
/// and the library. A verb sends its own hints, after its transaction.
///
/// A reading leaves out shards that cannot be read; a verb fails with the error of its shard. Faces take every error as a
/// ``SluiceError`` (``SluiceError/init(_:)-(any Error)``), whose ``SluiceError/Code/answer`` says what it is to them.
package struct QueueAccess: Sendable {
    package let opened: OpenedStore
    /// Lost where no coordinator runs, which then reads the store at its start.
    let hint: @Sendable (Hint.Kind, [CommandID]) -> Void
    let threads: QueueThreads

    /// - Parameter threads: of ``read(isUrgent:_:)`` and ``write(_:)``; nil: its own.
    init(
        _ opened: OpenedStore, threads: QueueThreads? = nil, hint: @escaping @Sendable (Hint.Kind, [CommandID]) -> Void
    ) {
        self.opened = opened
        self.threads = threads ?? QueueThreads(opened.store)
        self.hint = hint
    }

    /// Of a process without a client: a hint makes a socket of its own, where a coordinator runs.
    package init(_ opened: OpenedStore) { self.init(opened) { HintSender.send($0, $1, through: opened) } }

    /// Opens a store. Each shard is opened when it is first used.
    /// - Parameter create: makes the store where there is none, and refuses a backup and a copy: for what works on it.
    /// - Throws: `missing` where there is no store and `create` is false; `permission`; `backup`; `unsuitable`.
    package init(opening location: StoreLocation, create: Bool = false) throws(StoreError) {
        let opened = try Stores.open(location, create: create)
        if create { try opened.health.requireOriginal() }
        self.init(opened)
    }

    /// The same queue for a process that collects its hints.
    package func collecting(_ hints: PendingHints) -> QueueAccess {
        QueueAccess(opened, threads: threads) { kind, ids in for id in ids { hints.add(kind, id) } }
    }

    package var store: any CommandStore { opened.store }
    /// The time of the store's clock: the one to compare with the times in the store.
    package var now: Timestamp { store.clock.now() }
    /// For what lies beside the store.
    package var directory: DataDirectory { opened.directory }
    package var presence: any Presence { opened.presence }
    package var endpoints: any Endpoints { opened.endpoints }

    /// The number of shards.
    package var shardCount: Int { store.shardCount }

    // MARK: The state of the store

    /// When the store was copied, where it is a backup: it is read, and nothing runs on it.
    package var backupTime: Timestamp? { opened.health.backupTime }

    /// The problems of shards that cannot be used, damaged, foreign or missing, as far as they were opened; then those of
    /// shards that refuse submits, because a process keeps their WAL from being started over.
    package var problems: [SluiceError] { (opened.health.problems + opened.health.overloads).map(SluiceError.init) }

    /// The hold after a jump of the wall clock, while which nothing is removed; nil where there is none.
    package func clockHold() throws(StoreError) -> ClockHold? { try store.clockHold() }
}

/// The threads on which a process reads and changes a store. A locked shard holds a write for up to 10 s, so writes have
/// threads of their own: no read waits for one.
struct QueueThreads: Sendable {
    let readers: StoreReaders
    let writers = BlockingPool(named: "sluice-write", maxThreads: maxWriters)

    static let maxWriters = 64

    init(_ store: any CommandStore) { readers = StoreReaders(store) }
}

extension QueueAccess {
    /// Runs a reading on a thread, without blocking the caller.
    /// - Parameter isUrgent: before the readings that wait, which may be lists: for a look-up of one command.
    package func read<Value: Sendable>(
        isUrgent: Bool = false, _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(SluiceError) -> Value {
        do { return try await threads.readers.run(isUrgent: isUrgent) { try body(self) } } catch {
            throw SluiceError(error)
        }
    }

    /// Runs a verb on a thread, without blocking the caller.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(SluiceError) -> Value {
        do { return try await threads.writers.run { try body(self) } } catch { throw SluiceError(error) }
    }
}
