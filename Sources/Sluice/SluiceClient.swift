internal import Dispatch
internal import Operations
package import Store
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// A producer and observer of commands: submit, wait, look, wish.
///
/// It needs only the data directory: what is submitted while nothing runs is durable and is executed later. Any number of
/// tasks may use one client; the more of them submit at the same time, the more commands share a commit.
public final class SluiceClient: Sendable {
    package let store: any CommandStore
    package let directory: DataDirectory
    let registry: OperationRegistry
    private let context: Context
    private let run: RunDirectoryDescriptor
    let lane: SubmitBatcher
    private let room = Mutex(Room.unopened)
    /// Reads block, so they have threads of their own.
    private let readers = DispatchQueue(label: "sluice.read", attributes: .concurrent)

    /// Who listens and waits is made when the first one comes.
    private enum Room {
        case unopened
        case open(EventSubscriber)
        case closed
    }

    /// Opens the store of a data directory.
    ///
    /// - Parameters:
    ///   - path: the data directory, `./sluice-data` for the command line.
    ///   - operations: operations of your own whose payloads this client submits, besides `upload` and `noop`: they check
    ///     a payload and read its destination.
    ///   - create: make the directory and its store where there is none.
    /// - Precondition: no two operations have the same type, and every type has the form `[a-z0-9.-]+`, at most 64
    ///   characters. One of type `upload` or `noop` stands in for the built-in one.
    /// - Throws: ``SluiceError``: `noStore` where there is none and none is to be made, `notPermitted` where the
    ///   directory is somebody else's or open to others, `tryAgain` where no descriptors are left.
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
            lane = try SubmitBatcher(store: store, endpoint: run.endpoint(.intake), context: context)
        } catch {
            throw StoreError(error.code == .tooManySockets ? .exhausted : .failed, error.sentence)
        }
        lane.start()
    }

    /// Tells the coordinator of commands that were submitted past the client. Of many, the first are enough: the
    /// coordinator finds the others when its window runs low.
    package func hint(ready ids: [CommandID]) {
        if !ids.isEmpty { lane.send(.ready, Array(ids.prefix(256))) }
    }

    // MARK: Looking

    /// The command as it stands; nil where there is none of that id. Those in `success` and `cancelled` are removed
    /// after 7 days.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func command(_ id: CommandID) async throws -> Command? {
        try await read { store throws(StoreError) in try store.command(id) }
    }

    /// Its transitions, oldest first; none where there is no command of that id.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func timeline(_ id: CommandID) async throws -> [Transition] {
        try await read { store throws(StoreError) in try store.timeline(id) }
    }

    /// Its payload, as JSON, as its operation's `inspect` left it at submit; nil where there is no command of that id.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func payload(_ id: CommandID) async throws -> [UInt8]? {
        try await read { store throws(StoreError) in try store.payload(id) }
    }

    /// What its operation left, as JSON; nil before it has ended, or where it left nothing. An `upload` over HTTP
    /// leaves `{"status": 201, "headers": {…}, "body": "…"}` with up to 64 KiB of the answer's body.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func result(_ id: CommandID) async throws -> [UInt8]? {
        try await read { store throws(StoreError) in try store.result(id) }
    }

    /// How many commands stand in each status; all nine are there.
    /// - Throws: ``SluiceError`` where the store cannot be read.
    public func counts() async throws -> [CommandStatus: Int] {
        let counts = try await read { store throws(StoreError) in try store.counts() }
        return Dictionary(uniqueKeysWithValues: CommandStatus.allCases.map { ($0, counts[$0]) })
    }

    /// Returns when the command has ended: success, cancelled, tooManyTimes or inDoubt. Without a coordinator it waits on.
    /// - Throws: ``SluiceError``; `CancellationError` when the task or the client ends first.
    public func wait(for id: CommandID) async throws -> CommandOutcome {
        guard let room = try openRoom() else { throw CancellationError() }
        return try await room.wait(for: id)
    }

    /// What the coordinator tells monitors, for as long as the stream is read. A snapshot comes when it has subscribed,
    /// and again whenever somebody else does (``SluiceEvent/isSnapshot``); live events may come before it.
    ///
    /// Goes on when the coordinator restarts, and ends when the client is closed. A reader that is 65,536 events behind loses the oldest.
    /// - Parameter prefix: of the topic: `status/`, `progress/`, `status/<uuid>`; empty for everything.
    /// - Throws: ``SluiceError``: `tryAgain` where no sockets or descriptors are left.
    public func events(prefix: String = "") throws -> AsyncStream<SluiceEvent> {
        try openRoom()?.events(prefix: prefix) ?? AsyncStream { $0.finish() }
    }

    /// Nil after ``close()``.
    private func openRoom() throws(SluiceError) -> EventSubscriber? {
        let result: Result<EventSubscriber?, SluiceError> = room.withLock { room in
            switch room {
            case .open(let open): return .success(open)
            case .closed: return .success(nil)
            case .unopened: break
            }
            do throws(ZeroMQError) {
                let made = try EventSubscriber(store: store, endpoint: run.endpoint(.events), context: context)
                room = .open(made)
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

    /// Runs what blocks on a thread that may.
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

    // MARK: Wishing

    /// Cancels a command: at once where nobody holds it, else as soon as its worker hears of the wish.
    /// - Returns: whether it is cancelled already; false where the wish has been recorded.
    /// - Throws: ``SluiceError``; `notAllowed` where it had ended before.
    @discardableResult
    public func cancel(_ id: CommandID, reason: String = "cancelled by a person") async throws -> Bool {
        let outcome = try await read { store throws(StoreError) in
            guard try store.command(id) != nil else { return nil as CancelOutcome? }
            return try store.cancel(id, reason: reason, now: .now)
        }
        switch outcome {
        case nil: throw SluiceError.unknown(id)
        case .cancelled:
            lane.send(.changed, [id])
            return true
        case .requested:
            lane.send(.cancelRequested, [id])
            return false
        case .ended(let status):
            throw SluiceError(.notAllowed, "command \(id) has ended before, in status \(status)", id: id)
        }
    }

    /// Runs a command again: at once where it waits for its backoff, afresh where it was cancelled or given up. Its
    /// retries are counted from 0, and a deadline that has passed is dropped.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where it is in none of `error`, `cancelled` and
    ///   `tooManyTimes`; `conflict` where another command holds its unique key by now.
    public func retry(_ id: CommandID) async throws {
        try await change(id, "be retried") { store throws(StoreError) in try store.retry(id, now: .now) }
    }

    /// Settles a command that is in doubt: `success`, `new` (run it again) or `cancelled`.
    /// - Throws: ``SluiceError``: `noSuchCommand`; `notAllowed` where it is not in doubt, or for any other status.
    public func resolve(_ id: CommandID, as status: CommandStatus) async throws {
        let spool = Spool(directory: directory.spool)
        try await change(id, "be resolved as \(status)") { store throws(StoreError) in
            let event = try store.resolve(id, as: status, now: .now)
            // Nobody will send it any more.
            if event != nil, status == .success, let payload = try store.payload(id) { spool.discard(stored: payload) }
            return event
        }
    }

    private func change(
        _ id: CommandID, _ wish: String,
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> StatusEvent?
    ) async throws {
        let (event, status) = try await read { store throws(StoreError) in
            (try body(store), try store.command(id)?.status)
        }
        guard let status else { throw SluiceError.unknown(id) }
        guard event != nil else {
            throw SluiceError(.notAllowed, "command \(id) is \(status) and cannot \(wish)", id: id)
        }
        lane.send(.changed, [id])
    }

    // MARK: The end

    /// Lets hints leave (at most 100 ms) and ends streams and waits. Submissions that were accepted stay accepted.
    public func close() async {
        await lane.close()
        let last = room.withLock { room in
            defer { room = .closed }
            return room
        }
        if case .open(let room) = last { await room.close() }
        let context = context
        await withCheckedContinuation { continuation in
            readers.async {
                context.terminate()
                continuation.resume()
            }
        }
    }
}
