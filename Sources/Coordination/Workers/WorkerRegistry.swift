internal import Commands
internal import Host
internal import Logging
internal import Membership
internal import Metrics
internal import Store
internal import Wire
internal import ZeroMQ

/// Workers join and leave: their connections, and what they are sent. Confined to the loop.
final class WorkerRegistry {
    private(set) var connections: [Int: WorkerConnection] = [:]
    /// Called with its seat when the process of a worker has ended.
    var whenProcessEnds: (Int) -> Void = { _ in }

    private let environment: CoordinatorEnvironment
    private let sockets: SocketBinder
    private let dispatch: DispatchRunner
    private let sweeper: Sweeper
    private let control: ControlPublisher
    private let events: EventPublisher
    /// By seat, the program of the worker that is about to say hello.
    private var programs: [Int: (epoch: Int64, program: Program)] = [:]
    /// Types that workers can run and that could not be recorded.
    private var unrecordedTypes: Set<String> = []
    private let dispatched = Counter(label: "sluice.commands.dispatched")

    private var logger: Logger { environment.logger }

    init(
        _ environment: CoordinatorEnvironment, sockets: SocketBinder, dispatch: DispatchRunner, sweeper: Sweeper,
        control: ControlPublisher, events: EventPublisher
    ) {
        self.environment = environment
        self.sockets = sockets
        self.dispatch = dispatch
        self.sweeper = sweeper
        self.control = control
        self.events = events
    }

    /// Closes all connections. The descriptors close with them, so the loop must not watch them any more.
    func stop() { for seat in Array(connections.keys) { closeConnection(seat: seat) } }

    // MARK: Joining and leaving

    /// A worker named its program. Its hello follows.
    func announce(_ program: Program, from head: FrameHead) {
        guard head.seat < Role.maxSeats else { return }
        programs[head.seat] = (head.epoch, program)
    }

    /// A worker said hello.
    /// - Returns: nil unless it is new; then the offers to return, of the worker that held its seat before.
    ///   That one is dead: the new one holds the seat's lock.
    func register(_ head: FrameHead, _ hello: Hello) -> [CommandID]? {
        let seat = head.seat
        guard seat < Role.maxSeats else { return nil }
        if dispatch.dispatcher.seats[seat]?.epoch == head.epoch {
            control.setNeeded()
            return nil
        }
        // A late frame from a worker that was already replaced.
        guard !environment.presence.isTaken(seat: seat, byOtherThan: head.epoch) else { return nil }
        let program = programs[seat].flatMap { $0.epoch == head.epoch ? $0.program : nil }
        let offersToReturn = remove(seat: seat)
        do {
            try openConnection(seat: seat, epoch: head.epoch, hello)
        } catch {
            logger.error("A worker cannot be registered: \(error)", metadata: ["seat": "\(seat)"])
            return nil
        }
        let record = WorkerRecord(seat: seat, epoch: head.epoch, hello: hello, program: program)
        dispatch.dispatcher.workerJoined(record)
        logger.info(
            "Worker registered.",
            metadata: [
                "seat": "\(seat)", "pid": "\(hello.pid)", "version": "\(program?.version ?? SluiceVersion.first)",
            ])
        events.hub.worker(record, state: "ready", at: environment.store.clock.now())
        control.setNeeded()
        recordTypes(record.types)
        return offersToReturn
    }

    /// The worker of a seat is dead.
    /// - Returns: the offers to return.
    func workerLeft(seat: Int) -> [CommandID] {
        let record = dispatch.dispatcher.seats[seat]
        let offersToReturn = remove(seat: seat)
        if let record { events.hub.worker(record, state: "lost", at: environment.store.clock.now()) }
        control.setNeeded()
        return offersToReturn
    }

    private func remove(seat: Int) -> [CommandID] {
        let offersToReturn = dispatch.dispatcher.workerLeft(seat: seat, now: .now)
        closeConnection(seat: seat)
        return offersToReturn
    }

    // MARK: Connections

    private func openConnection(seat: Int, epoch: Int64, _ hello: Hello) throws {
        let session = Session(
            seat: seat, epoch: epoch, pid: hello.pid, startTime: hello.startTime, bootID: hello.bootID)
        let connection = WorkerConnection(
            socket: try sockets.bindWorker(seat: seat), epoch: epoch, process: environment.presence.watch(session))
        connections[seat] = connection
        connection.process?.whenEnded(on: environment.loop) { [weak self] in self?.processEnded(seat: seat) }
    }

    private func processEnded(seat: Int) {
        guard let connection = connections[seat] else { return }
        connection.isEnding = true
        whenProcessEnds(seat)
    }

    private func closeConnection(seat: Int) {
        connections.removeValue(forKey: seat)?.process?.stop()
        programs[seat] = nil
        events.forgetTransfers(of: seat)
        sweeper.followLocks(now: .now)
    }

    // MARK: Sending

    func send(_ dispatch: Dispatcher.Dispatch) {
        guard let connection = connections[dispatch.seat], connection.epoch == dispatch.epoch else { return }
        do {
            try connection.send(.offers(dispatch.offers), seat: dispatch.seat, coordinator: environment.epoch)
            dispatched.increment(by: dispatch.offers.offers.count)
        } catch {
            logger.error("Offers cannot be sent: \(error)", metadata: ["seat": "\(dispatch.seat)"])
        }
    }

    /// Tries again to send frames to workers that had not connected yet.
    /// - Returns: whether some still wait.
    func sendWaiting() -> Bool {
        var isWaiting = false
        for (seat, connection) in connections where connection.isWaiting {
            do {
                try connection.sendWaiting()
            } catch {
                logger.error("Offers cannot be sent: \(error)", metadata: ["seat": "\(seat)"])
            }
            if connection.isWaiting { isWaiting = true }
        }
        return isWaiting
    }

    // MARK: Types

    /// Records again the types that could not be recorded; call it in each sweep.
    func recordTypesAgain() { recordTypes(unrecordedTypes) }

    private func recordTypes(_ types: Set<String>) {
        guard !types.isEmpty else { return }
        unrecordedTypes.subtract(types)
        environment.store.write("Types cannot be recorded") { store throws(StoreError) in
            try store.record(types: types)
        } otherwise: { [self] _ in
            unrecordedTypes.formUnion(types)
        }
    }
}

/// The coordinator's side of one worker: the socket for its offers, and the watch on its process.
final class WorkerConnection {
    let socket: Socket
    let epoch: Int64
    /// Nil where the process cannot be seen from here, as in another container. Then its death is looked for every
    /// 250 ms, and it is sent no signal.
    let process: (any ProcessWatch)?
    /// Its process has ended or is being ended, and the proof of its death is awaited.
    var isEnding = false
    /// Of the last frame.
    private var sequence: Int64 = 0
    /// Frames that found no peer yet: a worker connects a moment after it is registered.
    private var unsent: [[UInt8]] = []

    init(socket: consuming Socket, epoch: Int64, process: (any ProcessWatch)?) {
        self.socket = socket
        self.epoch = epoch
        self.process = process
    }

    var isWaiting: Bool { !unsent.isEmpty }

    /// Sends a message behind those that wait for the worker to connect.
    /// - Parameter coordinator: the epoch of the coordinator.
    func send(_ message: Message, seat: Int, coordinator: Int64) throws(ZeroMQError) {
        sequence += 1
        unsent.append(message.encoded(FrameHead(seat: seat, epoch: coordinator, sequence: sequence)))
        try sendWaiting()
    }

    func sendWaiting() throws(ZeroMQError) {
        while let frame = unsent.first {
            guard try socket.send(frame) else { return }
            unsent.removeFirst()
        }
    }
}
