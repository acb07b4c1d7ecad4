internal import BuiltIn
public import Commands
internal import Coordination
internal import Host
internal import Logging
internal import Membership
public import Operations
internal import Store
internal import Synchronization
internal import Transfers
internal import Wire
internal import Work

/// A queue in one process, for tests of operations, of flows, and of the code that submits them.
///
/// ```swift
/// let queue = try TestQueue(operations: [ConvertRates()])
/// let run = try await queue.run("convert-rates", payload: ["file": "/tmp/rates.json"])
/// #expect(run.outcome == .success(["rows": 3]))
/// ```
/// Commands go the way that they go in a worker: the checks of a submit, references to results, checkpoints, retries,
/// dependencies, ordering keys and schedules are those of Sluice. Only the store is in memory, the clock is the test's, and
/// the commands run one at a time.
///
/// * **Time stands still** until the test moves it: ``advance(by:)``, ``drain(advancing:)``, ``wait(for:)``.
/// * **Nothing reaches the network** by itself. The built-in operations (`request`, `download`, …) do not run; the test gives
///   an answer for each type that it submits (``answer(_:with:)``). A `noop` succeeds at once.
/// * Each queue is on its own, so tests may run in parallel.
///
/// Every function fails with ``Sluice/SluiceError``; its documentation names the codes.
public final class TestQueue: Sendable {
    /// The client that code under test gets. It submits to this queue, at the time of its clock; its waits and events are
    /// those of a real client. Its commands run when the test drains the queue.
    public let client: SluiceClient

    struct State {
        var answers: [String: AnsweringOperation.Answer] = [:]
        /// Nil: the next execution makes one.
        var worker: LocalWorker?
        var epoch: Int64 = 0
        var isBusy = false
        var offline: Set<Destination> = []
        var isAllOffline = false
        var waits = LinkWaits()
        /// The number of the last transition that the client has been told of.
        var published: Int64 = 0
    }

    private let store: MemoryStore
    let coordinator: LocalCoordinator
    let clock: TestClock
    let recorder = ExecutionRecorder()
    let running = RunningWorker()
    private let state = Mutex(State())
    private let own: [any CommandOperation]

    /// The time of a new queue: 2026-01-01T00:00:00Z, a Thursday.
    public static let defaultStart = Timestamp(milliseconds: 1_767_225_600_000)
    /// All commands lie in one shard, so that they have one order.
    static let shard = 0

    /// Makes an empty queue.
    /// - Parameters:
    ///   - operations: the operations under test. One of a built-in type replaces the built-in one. The default is none.
    ///   - start: the time of the queue's clock. The default is ``defaultStart``.
    /// - Throws: ``Sluice/SluiceError`` `invalid` for two operations of one type, and for a type that is not `[a-z0-9.-]+`.
    public init(
        operations: [any CommandOperation] = [], at start: Timestamp = TestQueue.defaultStart
    ) throws(SluiceError) {
        var types: Set<String> = []
        for operation in operations {
            try Self.check(operation.type)
            guard types.insert(operation.type).inserted else {
                throw SluiceError(.invalid, "two operations have the type “\(operation.type)”; remove one of them")
            }
        }
        let clock = TestClock(start)
        let store = MemoryStore(shardCount: 1, types: CommandType.builtIn.union(types), clock: clock)
        self.store = store
        coordinator = LocalCoordinator(store)
        self.clock = clock
        own = operations
        client = try SluiceClient(
            of: OpenedStore(store, in: DataDirectory(path: "/nonexistent/sluice-testing")),
            registry: BuiltInOperations.registry(and: operations),
            hint: { [running] kind, _ in if kind == .cancelRequested { running.cancelRequested() } })
    }

    static func check(_ type: String) throws(SluiceError) {
        guard CommandDraft.isType(type) else {
            throw SluiceError(.invalid, "“\(type)” is not a command type: use 1 to 64 of a-z, 0-9, “.” and “-”")
        }
    }

    // MARK: Answers

    /// Executes commands of a type by a closure, in place of their operation: for types of others, and for the built-in ones.
    ///
    /// ```swift
    /// try queue.answer("request") { execution in
    ///     if execution.claim == 1 { throw CommandFailure(.command, reason: "503", delivery: .refused) }
    ///     return ["status": 204]
    /// }
    /// ```
    /// The operation that it replaces still checks the payloads. An answer that submits captures ``client``, and not the queue,
    /// which would keep itself.
    /// - Parameters:
    ///   - type: the type of the commands. A second answer for it replaces the first, from the next execution on.
    ///   - body: gets the execution, and returns the result of the command, nil for none. It throws what an operation throws.
    /// - Throws: ``Sluice/SluiceError`` `invalid` for a type that is not `[a-z0-9.-]+`.
    public func answer(
        _ type: String, with body: @escaping @Sendable (CommandExecution) async throws -> JSONValue?
    ) throws(SluiceError) {
        try Self.check(type)
        try stored { () throws(StoreError) in try coordinator.record(types: [type]) }
        withState { state in
            state.answers[type] = body
            state.worker = nil
        }
    }

    /// The verbs and readings of the client, as functions that block.
    var queue: QueueAccess { client.access }

    // MARK: The worker

    /// The worker of the next execution.
    func worker() throws(SluiceError) -> LocalWorker {
        let (known, answers, epoch) = withState { state in
            if state.worker == nil { state.epoch += 1 }
            return (state.worker, state.answers, state.epoch)
        }
        if let known { return known }
        let (store, recorder) = (store, recorder)
        let registry = registry(answers)
        let worker = try stored { () throws(StoreError) in
            try LocalWorker(
                store: store, registry: registry, epoch: epoch, observer: recorder,
                logger: Logger(label: "sluice.testing") { _ in SwiftLogNoOpLogHandler() })
        }
        withState { $0.worker = worker }
        return worker
    }

    private func registry(_ answers: [String: AnsweringOperation.Answer]) -> OperationRegistry {
        var answers = answers
        let isOwn = own.contains { $0.type == CommandType.noop }
        // A noop waits by the clock of the machine.
        if !isOwn, answers[CommandType.noop] == nil { answers[CommandType.noop] = { _ in nil } }
        let standIns = answers.map { type, answer in
            AnsweringOperation(type: type, replaced: client.registry[type], answer: answer)
        }
        var registry = OperationRegistry(own.filter { answers[$0.type] == nil } + standIns)
        registry.fileSystem = { Destination(url: $0) }
        return registry
    }

    func withState<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    func stored<Value>(_ body: () throws(StoreError) -> Value) throws(SluiceError) -> Value {
        do throws(StoreError) { return try body() } catch { throw SluiceError(error) }
    }
}

/// Stands in for an operation: it answers as the test says. Payloads are checked by the operation that it replaces.
struct AnsweringOperation: CommandOperation {
    typealias Answer = @Sendable (CommandExecution) async throws -> JSONValue?

    let type: String
    /// Nil where the process does not have the operation: then no payload is checked.
    let replaced: (any CommandOperation)?
    let answer: Answer

    var rule: PayloadRule { replaced?.rule ?? PayloadRule() }

    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        if let replaced { return try replaced.inspect(payload) }
        return try rule.attributes(of: payload)
    }

    func execute(_ execution: CommandExecution) async throws -> [UInt8]? { try await answer(execution)?.bytes }
}

/// The clock of a queue: it stands still until it is moved, and never goes back.
final class TestClock: StoreClock {
    private let time: Mutex<Timestamp>

    init(_ start: Timestamp) { time = Mutex(start) }

    func now() -> Timestamp { time.withLock { $0 } }

    var followsThisMachine: Bool { false }

    func move(to time: Timestamp) { self.time.withLock { $0 = max($0, time) } }
}

/// The worker that executes a command at this moment, for calls that stop the execution.
final class RunningWorker: Sendable {
    private let worker = Mutex<LocalWorker?>(nil)

    func set(_ worker: LocalWorker?) { self.worker.withLock { $0 = worker } }

    /// Stops the executions of the commands that have a cancellation request.
    func cancelRequested() {
        // In memory no read fails.
        try? worker.withLock { $0 }?.cancelRequested()
    }

    /// Releases the executions of which this is true, except those that would be in doubt.
    func release(reason: String, where isMeant: (Destination) -> Bool) {
        try? worker.withLock { $0 }?.release(reason: reason, where: isMeant)
    }
}

/// Commands that a failure of their link has released. Each waits 1 s × 2ⁿ, at most 60 s, before it runs again, as the
/// coordinator makes it wait, but without jitter. The waits of a destination end when it answers a command. Pure.
struct LinkWaits {
    private struct Wait {
        var destination: Destination
        /// In a row.
        var failures: Int
        var until: Timestamp
    }

    private var waits: [CommandID: Wait] = [:]

    private static let maxDoublings = 6
    private static let maxWait = Duration.seconds(60)

    mutating func failed(_ id: CommandID, to destination: Destination, now: Timestamp) {
        let failures = waits[id]?.failures ?? 0
        let wait = min(.seconds(1 << min(failures, Self.maxDoublings)), Self.maxWait)
        waits[id] = Wait(destination: destination, failures: failures + 1, until: now + wait)
    }

    mutating func answered(_ destination: Destination) {
        waits = waits.filter { $0.value.destination != destination }
    }

    mutating func ended(_ id: CommandID) { waits[id] = nil }

    func holds(_ id: CommandID, now: Timestamp) -> Bool { waits[id].map { $0.until > now } ?? false }

    func next(after now: Timestamp) -> Timestamp? { waits.values.map(\.until).filter { $0 > now }.min() }
}
