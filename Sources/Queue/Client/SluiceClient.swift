internal import Glibc
package import Host
package import Membership
package import Store
internal import Synchronization
package import Wire
internal import ZeroMQ

/// Submits commands, reads them, waits for their ends, and changes them.
///
/// It needs only the data directory: commands that are submitted while nothing runs are durable, and are
/// executed later. Any number of tasks may use one client; the more of them submit at the same time, the more
/// commands share a commit.
///
/// A write waits at most 10 s for the writes of other processes. Every function that uses the store fails
/// with ``SluiceError`` where it cannot: `tryAgain`, `noStore`, `foreignStore`, `notPermitted`, `corrupt`,
/// `cannotWrite` or `failed`. The documentation of a function names further codes.
public final class SluiceClient: Sendable {
    package let opened: OpenedStore
    package let registry: OperationRegistry
    /// Nil: there is no coordinator.
    private let endpoints: (any OpenEndpoints)?
    let batcher: SubmitBatcher
    private let subscriber = Mutex(Subscription.unopened)
    private let threads: QueueThreads

    /// The subscriber is made at the first wait or stream of events.
    private enum Subscription {
        case unopened
        case open(EventSubscriber)
        case closed
    }

    /// Opens a store, as the public initialiser of the library does.
    /// - Parameter registry: the operations that check payloads.
    package convenience init(
        data path: String, store: String? = nil, registry: OperationRegistry, create: Bool
    ) throws(SluiceError) {
        let location: StoreLocation
        do throws(StoreError) { location = try StoreLocation(path, store: store) } catch { throw SluiceError(error) }
        try self.init(location, registry: registry, create: create)
    }

    package convenience init(
        _ location: StoreLocation, registry: OperationRegistry, create: Bool
    ) throws(SluiceError) {
        do throws(StoreError) {
            try self.init(Stores.open(location, create: create), registry: registry)
        } catch {
            throw SluiceError(error)
        }
    }

    package init(_ opened: OpenedStore, registry: OperationRegistry) throws(StoreError) {
        self.opened = opened
        threads = QueueThreads(opened.store)
        self.registry = registry
        let endpoints: any OpenEndpoints
        do throws(SystemError) { endpoints = try opened.endpoints.open() } catch {
            throw StoreError(error.code == EMFILE ? .exhausted : .failed, error.description)
        }
        self.endpoints = endpoints
        do throws(ZeroMQError) {
            batcher = try SubmitBatcher(store: opened.store, hints: .socket(endpoints))
        } catch {
            throw StoreError(error.code == .tooManySockets ? .exhausted : .failed, error.sentence)
        }
        batcher.start()
    }

    /// A client of a store that no other process uses: it opens no sockets.
    /// - Parameters:
    ///   - opened: its directory need not exist.
    ///   - hint: takes the hints that a coordinator would get, on a thread of the client.
    package init(
        of opened: OpenedStore, registry: OperationRegistry,
        hint: @escaping @Sendable (Hint.Kind, [CommandID]) -> Void
    ) throws(SluiceError) {
        self.opened = opened
        threads = QueueThreads(opened.store)
        self.registry = registry
        endpoints = nil
        do throws(ZeroMQError) {
            batcher = try SubmitBatcher(store: opened.store, hints: .process(hint))
        } catch {
            throw SluiceError(error)
        }
    }

    package var store: any CommandStore { opened.store }
    /// The time of the store's clock.
    package var now: Timestamp { store.clock.now() }
    package var directory: DataDirectory { opened.directory }

    /// Passes an event to streams and waits, as if the coordinator had published it.
    package func deliver(_ frame: [UInt8]) {
        let open: EventSubscriber? = subscriber.withLock { subscriber in
            guard case .open(let open) = subscriber else { return nil }
            return open
        }
        open?.deliver(frame)
    }

    /// Sends hints about commands that were submitted without the client. The first ``Hint/maxBulkCount`` are
    /// enough: the coordinator finds the others when its window runs low.
    package func hint(ready ids: [CommandID]) {
        if !ids.isEmpty { batcher.send(.ready, Array(ids.prefix(Hint.maxBulkCount))) }
    }

    // MARK: Reading

    /// The command in its present state; nil where there is none with that id. Commands in `success` and
    /// `cancelled` are removed after 7 days by default.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func command(_ id: CommandID) async throws -> Command? {
        try await read(isUrgent: true) { queue in try queue.store.command(id) }
    }

    /// The id of the one command that a part of an id names: the beginning or the end, else any part.
    ///
    /// Ids of the same second begin alike, so the end is the better name. A beginning or an end is found in
    /// about 20 ms among a million commands in eight shards; any other part takes 0.6 s.
    /// - Parameter part: 4 to 32 hexadecimal digits; dashes are left out.
    /// - Throws: ``SluiceError``: `usage` where the text is not a part of an id, `noSuchCommand` where no command
    ///   has it, `ambiguous` where several have it.
    public func find(_ part: String) async throws -> CommandID {
        guard let part = CommandIDPart(part) else {
            throw SluiceError(.usage, "“\(part)” is not a part of an id; give 4 to 32 hexadecimal digits")
        }
        return try await read { queue in try queue.store.id(of: part) }
    }

    /// The transitions of a command, oldest first; empty where there is no command with that id.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func timeline(_ id: CommandID) async throws -> [Transition] {
        try await read(isUrgent: true) { queue in try queue.store.timeline(id) }
    }

    /// The stored payload of a command, as JSON: the bytes of the submit, unless its operation's `inspect`
    /// replaced them. Nil where there is no command with that id.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func payload(_ id: CommandID) async throws -> [UInt8]? {
        try await read(isUrgent: true) { queue in try queue.store.payload(id) }
    }

    /// The result of a command, as JSON. Nil before its end, where its operation returned none, and where
    /// there is no command with that id.
    ///
    /// The result of an `upload` over HTTP is `{"status": 201, "headers": {…}, "body": "…"}` with up to 64
    /// KiB of the response body.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func result(_ id: CommandID) async throws -> [UInt8]? {
        try await read(isUrgent: true) { queue in try queue.result(id) }
    }

    /// The number of commands in each status, with an entry for all nine. A damaged or missing shard counts
    /// as empty.
    /// - Throws: ``SluiceError`` where no shard can be read, or one is unavailable for another reason.
    public func counts() async throws -> [CommandStatus: Int] {
        let counts = try await read { queue in try queue.store.counts() }
        return Dictionary(uniqueKeysWithValues: CommandStatus.allCases.map { ($0, counts[$0]) })
    }

    /// Returns when the command has ended: in `success`, `cancelled`, `tooManyTimes` or `inDoubt`.
    ///
    /// An event of the coordinator ends the wait at once. The store is also read every second, because an
    /// event may be lost. There is no timeout: without a coordinator the call keeps waiting.
    /// - Throws: ``SluiceError``: `noSuchCommand` where there is no command with that id, `tryAgain` or
    ///   `failed` where the thread for events cannot be started. `CancellationError` when the task or the
    ///   client ends first.
    public func wait(for id: CommandID) async throws -> CommandOutcome {
        guard let subscriber = try subscription() else { throw CancellationError() }
        return try await subscriber.wait(for: id)
    }

    /// The events of the coordinator. A snapshot comes after the subscription, and again whenever another
    /// monitor subscribes (``SluiceEvent/isSnapshot``); live events may come before it.
    ///
    /// The stream continues when the coordinator restarts, and ends when the client is closed. A reader that
    /// is 65,536 events behind loses the oldest. A stream that ends at once has found no socket or
    /// descriptor, or a closed client.
    /// - Parameter prefix: the bytes that the topic begins with: `status/`, `progress/`, or `status/<uuid>`
    ///   in lower case. Empty, the default: every event.
    /// - Throws: ``SluiceError``: `tryAgain` or `failed` where the thread for events cannot be started.
    public func events(prefix: String = "") throws -> AsyncStream<SluiceEvent> {
        try subscription()?.events(prefix: prefix) ?? AsyncStream { $0.finish() }
    }

    /// Whether ``close()`` was called.
    package var isClosed: Bool {
        subscriber.withLock { if case .closed = $0 { true } else { false } }
    }

    /// Nil after ``close()``.
    private func subscription() throws(SluiceError) -> EventSubscriber? {
        let result: Result<EventSubscriber?, SluiceError> = subscriber.withLock { subscriber in
            switch subscriber {
            case .open(let open): return .success(open)
            case .closed: return .success(nil)
            case .unopened: break
            }
            do throws(ZeroMQError) {
                let made = try EventSubscriber(store: store, endpoints: endpoints)
                subscriber = .open(made)
                return .success(made)
            } catch {
                return .failure(SluiceError(error))
            }
        }
        return try result.get()
    }

    /// The queue of this client. Its hints go over the socket of the client.
    package var access: QueueAccess {
        QueueAccess(opened, threads: threads) { [batcher] in batcher.send($0, $1) }
    }

    /// As ``QueueAccess/read(isUrgent:_:)``.
    package func read<Value: Sendable>(
        isUrgent: Bool = false, _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(SluiceError) -> Value { try await access.read(isUrgent: isUrgent, body) }

    /// As ``QueueAccess/write(_:)``.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (QueueAccess) throws -> Value
    ) async throws(SluiceError) -> Value { try await access.write(body) }

    // MARK: The end

    /// Ends streams and waits, and sends waiting hints for at most 100 ms. A second call does nothing.
    ///
    /// Commands that were submitted stay on disk. The client may still read, submit and change commands, but
    /// sends no more hints. The coordinator then finds new work by its sweep, which runs every 5 s.
    public func close() async {
        await batcher.close()
        let last = subscriber.withLock { subscriber in
            defer { subscriber = .closed }
            return subscriber
        }
        if case .open(let open) = last { await open.close() }
        await BlockingPool.shared.run { [endpoints] in endpoints?.close() }
    }
}
