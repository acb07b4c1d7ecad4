internal import Dispatch
internal import Operations
package import Store
internal import Synchronization
internal import Wire
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
    package let store: any CommandStore
    package let directory: DataDirectory
    let registry: OperationRegistry
    private let context: Context
    private let run: RunDirectoryDescriptor
    let batcher: SubmitBatcher
    private let subscriber = Mutex(Subscription.unopened)
    /// Reads block, so they have threads of their own.
    private let readers = DispatchQueue(label: "sluice.read", attributes: .concurrent)

    /// The subscriber is made at the first wait or stream of events.
    private enum Subscription {
        case unopened
        case open(EventSubscriber)
        case closed
    }

    /// Opens the store of a data directory. It blocks, for up to 10 s while another process is making the
    /// store.
    ///
    /// - Parameters:
    ///   - path: the data directory, `./sluice-data` for the command line. A relative path starts at the
    ///     working directory.
    ///   - operations: operations of your own, in addition to `upload` and `noop`. They check the payloads of
    ///     their types and read the destination. The default is none.
    ///   - create: make the directory and its store where there is none. The default is true.
    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`, at
    ///   most 64 characters. An operation of type `upload` or `noop` replaces the built-in one.
    /// - Throws: ``SluiceError``: `noStore` without a store where `create` is false, `notPermitted` where the
    ///   directory belongs to another user or is open to others, `cannotWrite` where a new store cannot be
    ///   written, `tryAgain` where no descriptors are left. A damaged shard is an error of the first use, not
    ///   of this call.
    public convenience init(
        data path: String, operations: [any CommandOperation] = [], create: Bool = true
    ) throws(SluiceError) {
        try self.init(data: path, registry: BuiltInOperations.registry(and: operations), create: create)
    }

    package convenience init(data path: String, registry: OperationRegistry, create: Bool) throws(SluiceError) {
        do throws(StoreError) {
            let directory = DataDirectory(path: path)
            let store = try SQLiteStore(directory: directory, create: create)
            try self.init(directory: directory, store: store, registry: registry)
        } catch {
            throw SluiceError(error)
        }
    }

    package init(
        directory: DataDirectory, store: any CommandStore, registry: OperationRegistry
    ) throws(StoreError) {
        self.directory = directory
        self.store = store
        self.registry = registry
        do throws(ZeroMQError) {
            run = try RunDirectoryDescriptor(directory)
            context = try Context()
            batcher = try SubmitBatcher(store: store, endpoint: run.endpoint(.intake), context: context)
        } catch {
            throw StoreError(error.code == .tooManySockets ? .exhausted : .failed, error.sentence)
        }
        batcher.start()
    }

    /// Sends hints about commands that were submitted without the client. The first 256 are enough: the
    /// coordinator finds the others when its window runs low.
    package func hint(ready ids: [CommandID]) {
        if !ids.isEmpty { batcher.send(.ready, Array(ids.prefix(256))) }
    }

    // MARK: Reading

    /// The command in its present state; nil where there is none with that id. Commands in `success` and
    /// `cancelled` are removed after 7 days by default.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func command(_ id: CommandID) async throws -> Command? {
        try await read { store throws(StoreError) in try store.command(id) }
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
        return try await read { store throws(StoreError) in try store.id(of: part) }
    }

    /// The transitions of a command, oldest first; empty where there is no command with that id.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func timeline(_ id: CommandID) async throws -> [Transition] {
        try await read { store throws(StoreError) in try store.timeline(id) }
    }

    /// The stored payload of a command, as JSON: the bytes of the submit, unless its operation's `inspect`
    /// replaced them. Nil where there is no command with that id.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func payload(_ id: CommandID) async throws -> [UInt8]? {
        try await read { store throws(StoreError) in try store.payload(id) }
    }

    /// The result of a command, as JSON. Nil before its end, where its operation returned none, and where
    /// there is no command with that id.
    ///
    /// The result of an `upload` over HTTP is `{"status": 201, "headers": {…}, "body": "…"}` with up to 64
    /// KiB of the response body.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func result(_ id: CommandID) async throws -> [UInt8]? {
        try await read { store throws(StoreError) in try store.result(id) }
    }

    /// The number of commands in each status, with an entry for all nine. A damaged or missing shard counts
    /// as empty.
    /// - Throws: ``SluiceError`` where no shard can be read, or one is unavailable for another reason.
    public func counts() async throws -> [CommandStatus: Int] {
        let counts = try await read { store throws(StoreError) in try store.counts() }
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
    var isClosed: Bool {
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
                let made = try EventSubscriber(store: store, endpoint: run.endpoint(.events), context: context)
                subscriber = .open(made)
                return .success(made)
            } catch {
                return .failure(SluiceError(error))
            }
        }
        return try result.get()
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value
    ) async throws -> Value {
        try await aside { [store] () throws(SluiceError) in
            do throws(StoreError) { return try body(store) } catch { throw SluiceError(error) }
        }
    }

    /// Runs `body`, which blocks, on a thread of its own queue.
    func aside<Value: Sendable>(
        _ body: @escaping @Sendable () throws(SluiceError) -> Value
    ) async throws(SluiceError) -> Value {
        let result: Result<Value, SluiceError> = await withCheckedContinuation { continuation in
            readers.async {
                continuation.resume(returning: Result { () throws(SluiceError) in try body() })
            }
        }
        return try result.get()
    }

    // MARK: Changing

    /// Cancels a command: at once, or by a cancellation request where a worker has claimed it.
    ///
    /// A claimed command that succeeds before the request reaches its worker stays a success. A second
    /// request for it changes nothing.
    /// - Parameters:
    ///   - id: the command.
    ///   - reason: a sentence for the timeline. The default is “cancelled by a person”.
    /// - Returns: true where the command is cancelled; false where the request is recorded.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where the command is `success`, `cancelled`
    ///   or `tooManyTimes`.
    @discardableResult
    public func cancel(_ id: CommandID, reason: String = "cancelled by a person") async throws -> Bool {
        let outcome = try await read { store throws(StoreError) in
            guard try store.command(id) != nil else { return nil as CancelOutcome? }
            return try store.cancel(id, reason: reason, now: .now)
        }
        switch outcome {
        case nil: throw SluiceError.unknown(id)
        case .cancelled:
            batcher.send(.changed, [id])
            return true
        case .requested:
            batcher.send(.cancelRequested, [id])
            return false
        case .ended(let status):
            throw SluiceError(.notAllowed, "command \(id) has ended before, in status \(status)", id: id)
        }
    }

    /// Makes a command `new` that waits for its backoff, was cancelled, or was given up.
    ///
    /// Retries and crashes are counted from 0 again, and a deadline that has passed is removed. The offset
    /// and the checkpoint stay, so an operation may resume. The command takes back a unique key whose period
    /// has not lapsed.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where its status is not `error`, `cancelled`
    ///   or `tooManyTimes`; `conflict` where another command holds its unique key now.
    public func retry(_ id: CommandID) async throws {
        try await change(id, "be retried") { store throws(StoreError) in try store.retry(id, now: .now) }
    }

    /// Settles a command that is in doubt.
    /// - Parameters:
    ///   - id: the command.
    ///   - status: `success` where it was delivered, `new` to run it again, or `cancelled`.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where the command is not in doubt, or for
    ///   another status.
    public func resolve(_ id: CommandID, as status: CommandStatus) async throws {
        let spool = Spool(directory: directory.spool)
        try await change(id, "be resolved as \(status)") { store throws(StoreError) in
            let event = try store.resolve(id, as: status, now: .now)
            // A delivered file is not sent again, so its spooled copy can go.
            if event != nil, status == .success, let payload = try store.payload(id) { spool.discard(stored: payload) }
            return event
        }
    }

    private func change(
        _ id: CommandID, _ change: String,
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> StatusEvent?
    ) async throws {
        let (event, status) = try await read { store throws(StoreError) in
            (try body(store), try store.command(id)?.status)
        }
        guard let status else { throw SluiceError.unknown(id) }
        guard event != nil else {
            throw SluiceError(.notAllowed, "command \(id) is \(status) and cannot \(change)", id: id)
        }
        batcher.send(.changed, [id])
    }

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
        let context = context
        await withCheckedContinuation { continuation in
            readers.async {
                context.terminate()
                continuation.resume()
            }
        }
    }
}
