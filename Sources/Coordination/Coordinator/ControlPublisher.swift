internal import Commands
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
