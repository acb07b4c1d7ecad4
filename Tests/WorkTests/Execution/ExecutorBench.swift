import Commands
import Host
import Logging
import Operations
import Store
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Membership
@testable import Work

/// An operation with closures of the test.
struct Scripted: CommandOperation {
    let type: String
    var preparesBeforeSending = false
    var body: @Sendable (CommandExecution) async throws -> [UInt8]? = { _ in nil }
    var preparation: @Sendable (CommandExecution) async throws -> Void = { _ in }

    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        PayloadAttributes(destination: .none, idempotent: true)
    }

    func prepare(_ execution: CommandExecution) async throws { try await preparation(execution) }
    func execute(_ execution: CommandExecution) async throws -> [UInt8]? { try await body(execution) }
}

/// An executor on a store in memory, with its committers.
final class Bench: Sendable {
    let store: any CommandStore
    /// The store with its commit groups.
    let groups: GroupedStore
    let forgetful: ForgetfulStore?
    let executor: Executor
    private let committers: ExecutionCommitters
    private let session = Session(seat: 0, epoch: 5, pid: 1, startTime: 1, bootID: "b")
    private let offered = Mutex<Int64>(0)

    /// - Parameters:
    ///   - shardsPerGroup: shards whose writes share a commit.
    ///   - intentLog: the directory of the log of started executions; nil: there is none.
    ///   - forgets: the seed of a store that forgets the outcomes of commits; nil: it forgets none.
    ///   - forgetRate: the share of these commits.
    ///   - spoils: whether a commit with this write fails for good.
    init(
        _ operations: [Scripted], concurrency: Int = 4, shardCount: Int = 2, shardsPerGroup: Int = 1,
        intentLog directory: String? = nil,
        operationExecutor: (any TaskExecutor)? = nil, forgets seed: UInt64? = nil, forgetRate: Double = 0.5,
        spoils: @escaping @Sendable (ExecutionWrite) -> Bool = { _ in false }
    ) throws {
        let store = MemoryStore(shardCount: shardCount, types: Set(operations.map(\.type)))
        let forgetful = seed.map { ForgetfulStore(store, seed: $0, rate: forgetRate) }
        let groups = GroupedStore(forgetful as (any CommandStore)? ?? store, shardsPerGroup: shardsPerGroup)
        self.forgetful = forgetful
        self.store = store
        self.groups = groups
        try store.open(session)
        let session = session
        let committers = ExecutionCommitters(of: groups)
        self.committers = committers
        var intentLog: IntentLog?
        if let directory {
            intentLog = IntentLog(
                in: RunDirectory(path: directory), seat: session.seat, epoch: session.epoch, capacity: 16)
        }
        let executor = Executor(
            registry: OperationRegistry(operations), committers: committers, concurrency: concurrency,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, intentLog: intentLog,
            references: PayloadReferences(store: store), operationExecutor: operationExecutor, wakeReporter: {})
        self.executor = executor
        committers.start(
            commit: { group, gather, attempt throws(StoreError) in
                let writes = gather()
                if writes.contains(where: spoils) { throw StoreError(.corrupt, "malformed") }
                return try groups.apply(
                    { writes }, group: group, seat: session.seat, epoch: session.epoch, attempt)
            }, deliver: { executor.committed($0, group: $1) })
    }

    func submit(
        _ type: String, to destination: Destination = .none, qos: QualityOfService = .default, idempotent: Bool = true
    ) throws -> CommandID {
        let draft = CommandDraft(
            type: type, payload: Array("{}".utf8), destination: destination, qos: qos, idempotent: idempotent)
        return try store.submit([draft], allowUnknownTypes: false)[0].get().id
    }

    func offer(_ id: CommandID, _ type: String, qos: QualityOfService = .default) { offer([id], type, qos: qos) }

    /// Offers commands at once.
    func offer(_ ids: [CommandID], _ type: String, qos: QualityOfService = .default) {
        let first = offered.withLock { count in
            defer { count += Int64(ids.count) }
            return count + 1
        }
        let offers = ids.enumerated().map { index, id in
            Offers.Offer(id: id, type: type, qos: qos, suspect: false, group: 1, order: first + Int64(index))
        }
        executor.offered(Offers(first: first, offers: offers), coordinator: 1, now: .zero)
    }

    func command(_ id: CommandID) throws -> Command { try #require(try store.command(id)) }

    func statuses(_ id: CommandID) throws -> [CommandStatus] { try store.timeline(id).map(\.status) }

    func reach(_ status: CommandStatus, _ id: CommandID) async throws {
        try await until("\(status)") { try self.store.command(id)?.status == status }
    }

    func cancel(_ id: CommandID) throws {
        guard case .requested(let effects) = try store.cancel(id, reason: "by a test"),
            let row = effects.requests.first
        else { return }
        var control = ControlState()
        control.cancels = [.init(id: id, claim: row.claim)]
        executor.control(control)
    }

    /// Gives the command to another worker, as after the death of this one.
    func replace(_ id: CommandID) throws {
        let other = Session(seat: 1, epoch: 6, pid: 1, startTime: 1, bootID: "b")
        try store.reap(
            seat: session.seat, epoch: session.epoch, DeathVerdict(charges: false, reason: "lost"), released: { _ in })
        try store.open(other)
        _ = try store.apply(
            [.claim(id, sent: true)], shard: id.shard(of: store.shardCount), seat: other.seat, epoch: other.epoch)
    }

    func close() async { await committers.close() }
}

extension Executor {
    /// Returns when the worker holds no command any more.
    func idle() async {
        await withCheckedContinuation { continuation in whenIdle { continuation.resume() } }
    }

    /// Returns when the tasks that were told to stop are cancelled.
    func cancellations() async {
        await withCheckedContinuation { continuation in canceller.perform { continuation.resume() } }
    }
}
