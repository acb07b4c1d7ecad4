internal import Commands
internal import Host
internal import Logging
internal import NetworkControl
internal import Store
internal import Wire
internal import ZeroMQ

/// Tells all workers what they must do: a state that is resent every second, so that a lost frame harms
/// nothing. Confined to the loop.
final class ControlPublisher {
    private let socket: Socket
    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    private var cancellations: CancellationRequests
    private var sequence: Int64 = 0
    private var isNeeded = true
    /// From the last coordinator.
    var handover = Handover()

    private var store: StoreAccess { environment.store }

    init(socket: consuming Socket, _ environment: CoordinatorEnvironment, dispatch: DispatchRunner) {
        self.socket = socket
        self.environment = environment
        self.dispatch = dispatch
        cancellations = CancellationRequests(shardCount: environment.store.shardCount)
    }

    /// Publish in this round: the state has changed.
    func setNeeded() { isNeeded = true }

    func publishIfNeeded() { if isNeeded { publish() } }

    func publish() {
        isNeeded = false
        sequence += 1
        let dispatcher = dispatch.dispatcher
        var state = ControlState()
        state.registered = dispatcher.seats.values.map { .init(seat: $0.seat, epoch: $0.epoch) }
        state.cancels = cancellations.claims.map { CommandClaim(id: $0.key, claim: $0.value) }
        state.pauses = dispatcher.pauses
        state.paces = dispatcher.links.paces
        state.stops = dispatcher.links.orders
        let head = FrameHead(epoch: environment.epoch, sequence: sequence)
        do {
            if !handover.isOver { try socket.send(Message.handover.encoded(head)) }
            try socket.send(Message.control(state).encoded(head))
        } catch {
            environment.logger.error("The control state cannot be sent: \(error)")
        }
    }

    // MARK: Cancellation requests

    /// Repeats in every state that the workers which hold these must end them.
    func requestCancellation(_ rows: [ClaimedCommand]) {
        guard !rows.isEmpty else { return }
        cancellations.add(rows)
        setNeeded()
    }

    /// No worker holds the command any more.
    func removeCancellation(of id: CommandID) { if cancellations.remove(id) { setNeeded() } }

    func loadCancellationRequests() {
        let shards = Array(0..<store.shardCount)
        store.read(isUrgent: true) { store, step in
            store.cancellationRequests(shards) { step(($0, $1)) }
        } each: { [self] (step: (Int, Result<[ClaimedCommand], StoreError>)) in
            switch step.1 {
            case .success(let rows): replaceCancellations(of: step.0, with: rows)
            case .failure(let error): store.report(error, "Cancellation requests cannot be read")
            }
        }
    }

    /// Takes in all cancellation requests of a shard.
    func replaceCancellations(of shard: Int, with rows: [ClaimedCommand]) {
        if cancellations.replace(shard: shard, with: rows) { setNeeded() }
    }

    // MARK: Pauses

    func loadPauses() {
        store.read("Pauses cannot be read", isUrgent: true) { store throws(StoreError) in
            try store.settings(prefix: SettingKey.pausePrefix)
        } then: { [self] settings in
            let before = dispatch.dispatcher.pauses
            dispatch.dispatcher.pause(Pause.parse(settings))
            guard dispatch.dispatcher.pauses != before else { return }
            // At once: the dispatcher is about to look at every destination again, which takes a while where
            // there are thousands.
            publish()
            dispatch.setNeeded()
        }
    }
}

/// Cancellation requests that workers have not carried out yet. Pure.
struct CancellationRequests: Sendable {
    /// The claim that each is meant for.
    private(set) var claims: [CommandID: Int] = [:]
    private let shardCount: Int

    init(shardCount: Int) { self.shardCount = shardCount }

    mutating func add(_ rows: [ClaimedCommand]) { for row in rows { claims[row.id] = row.claim } }

    /// - Returns: whether there was a request.
    mutating func remove(_ id: CommandID) -> Bool { claims.removeValue(forKey: id) != nil }

    /// Takes in all that the store has in a shard.
    /// - Returns: whether that is news.
    mutating func replace(shard: Int, with rows: [ClaimedCommand]) -> Bool {
        let before = claims
        claims = claims.filter { $0.key.shard(of: shardCount) != shard }
            .merging(rows.map { ($0.id, $0.claim) }, uniquingKeysWith: max)
        return claims != before
    }
}

/// The time in which a new coordinator has not decided on the transfers of every worker that ran before it started.
/// Workers keep the paces of the last coordinator meanwhile: without their reports, the share of each transfer in a
/// person's rate is not known (four transfers had 1.75 times the rate in that second). Pure.
struct Handover: Sendable {
    /// Epochs of the workers whose reports are awaited.
    private var awaited: Set<Int64>
    private let end: MonotonicTime
    private(set) var isOver: Bool

    /// A dead worker reports nothing, and neither does release 0.1.0 while nothing runs.
    static let timeout: Duration = .seconds(5)

    /// One that is over.
    init() {
        awaited = []
        end = .zero
        isOver = true
    }

    /// - Parameter sessions: in the store when the coordinator started.
    init(from sessions: [Session], now: MonotonicTime) {
        awaited = Set(sessions.map(\.epoch))
        end = now + Self.timeout
        isOver = awaited.isEmpty
    }

    /// The links were decided on.
    /// - Parameter hasReported: whether a worker's transfers were known then.
    /// - Returns: whether that ends the handover.
    mutating func decided(now: MonotonicTime, _ hasReported: (Int64) -> Bool) -> Bool {
        if isOver { return false }
        awaited = awaited.filter { !hasReported($0) }
        isOver = awaited.isEmpty || now >= end
        return isOver
    }
}
