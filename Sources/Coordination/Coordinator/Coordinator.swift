internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Logging
internal import Metrics
internal import NetworkControl
internal import Store
internal import Wire
internal import ZeroMQ

/// The coordinator on its loop: sockets in, decisions by the ``Dispatcher``, sockets out. What blocks goes to the threads
/// of the store and comes back.
actor Coordinator {
    static let second: Int64 = 1_000_000_000
    /// Workers report 20 ms after each quarter of a second; what they said is judged another 20 ms later.
    private static let networkPhase: Int64 = 40_000_000

    let loop: PollLoop
    let store: any CommandStore
    let configuration: CoordinatorConfiguration
    let logger: Logger
    let runDirectory: RunDirectory
    let incarnation: Int64
    /// Reads that somebody waits for.
    let reader = BlockingThread(named: "store-reader")
    /// Reaps, deadlines, settings: what may have to wait for a writer.
    let writer = BlockingThread(named: "store-writer")
    let maintainer: StoreMaintainer

    let context: Context
    /// Never closed: libzmq uses the path again when the sockets close, which is after this actor has ended.
    let runDescriptor: CInt
    let reports: Socket
    let intake: Socket
    private let control: Socket
    var hub: EventHub
    var dispatcher: Dispatcher
    var sequencer: EventSequencer
    var connections: [Int: WorkerConnection] = [:]
    var absences = UnresponsiveWorkers()
    /// Cancellations that their owners have not carried out yet.
    var cancels: [CommandID: Int] = [:]
    var dirtyShards: Set<Int> = []
    var sweepPlan: SweepPlan
    /// Shards that are being swept; true where they are to be swept once more.
    var sweeping: [Int: Bool] = [:]
    var timesAreSettling = false
    var isGivingUp = false
    /// Seats whose dead could not be reaped while another sat there already, and the epoch of that.
    var unreaped: [Int: Int64] = [:]
    /// Types that could not be recorded.
    var unrecorded: Set<String> = []
    var lastTransfers: [Int: [LinkKey: Transfers.Link]] = [:]
    var linkLog = LinkLog()
    /// Commands that wait at each circuit breaker that is not closed, as counted last.
    var waitingCounts: [Destination: Int] = [:]
    /// These destinations, the one counted longest ago first.
    var countedDestinations: [Destination] = []
    var routes: RouteWatch?
    var lostUplinks: [String: String] = [:]
    var mainUplink: RouteTable.Hop?
    var overrides: [Destination: LinkOverride] = [:]
    private var controlSequence: Int64 = 0
    var sequences: [Int: Int64] = [:]
    private var needsControl = true
    private var needsDispatch = false
    var timers = Timers()
    var wallClock: WallClock
    /// Jumps of the wall clock that the backoffs of a shard have still to follow.
    var owedShifts: [Int: [WallClock.Jump]] = [:]
    private var lastTick: Int64 = 0
    /// Its own waking time since the last beat.
    private var awake: Int64 = 0
    /// What has been said of frames that could not be read, and of shards that are of no use: once is enough.
    var complaints: Set<String> = []
    /// When it was last said of a shard that it is locked.
    private var lockedSaid: [Int: ContinuousClock.Instant] = [:]
    private let dispatched = Counter(label: "sluice.commands.dispatched")
    let dropped = Counter(label: "sluice.frames.dropped")

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Binds the sockets. Call it on the loop, with the coordinator's lock held.
    init(
        loop: PollLoop, store: any CommandStore, runDirectory: RunDirectory, incarnation: Int64, newest: [Int64],
        configuration: CoordinatorConfiguration, logger: Logger
    ) throws {
        self.loop = loop
        self.store = store
        self.runDirectory = runDirectory
        self.incarnation = incarnation
        self.configuration = configuration
        self.logger = logger
        wallClock = WallClock(offset: ClockRecord.read(in: runDirectory))
        let context = try Context()
        self.context = context
        maintainer = StoreMaintainer(
            store: store, retention: configuration.retention, abandoned: configuration.abandoned, logger: logger)
        dispatcher = Dispatcher(
            shardCount: store.shardCount, window: configuration.window,
            links: LinkAdmission(policy: configuration.network, seed: UInt64(bitPattern: incarnation)),
            seed: UInt64(bitPattern: incarnation) &+ 1)
        sequencer = EventSequencer(newest: newest)
        sweepPlan = SweepPlan(shardCount: store.shardCount)
        let descriptor: CInt
        do throws(SystemError) {
            descriptor = try openDirectory(runDirectory.path)
        } catch {
            throw StoreError(error)
        }
        runDescriptor = descriptor
        var options = Socket.Options()
        options.sendHighWaterMark = 100_000
        options.maximumMessageSize = 16 << 20
        options.verboseSubscriptions = true
        let bound = Self.binder(loop: loop, context: context, descriptor: descriptor, options: options)
        reports = try bound(.subscribe, .reports)
        try reports.subscribe()
        intake = try bound(.pull, .intake)
        control = try bound(.publish, .control)
        hub = EventHub(socket: try bound(.extendedPublish, .events), logger: logger)
    }

    private static func binder(
        loop: PollLoop, context: Context, descriptor: CInt, options: Socket.Options
    ) -> (Socket.Kind, RunDirectory.Socket) throws -> Socket {
        { kind, file in
            let socket = try Socket(kind, context: context, loop: loop, options: options)
            try socket.bind(.ipc(directoryDescriptor: descriptor, name: file.name))
            return socket
        }
    }

    /// Starts listening.
    /// - Parameter loss: why there are no settings; nil where they could be read.
    func start(
        links: [String: String], overrides: [String: String], pauses: [(destination: Destination?, qualities: UInt8)],
        loss: StoreError?
    ) {
        if let loss {
            report(loss, "The coordinator works without pauses, settings of links and their history, and keeps none")
        }
        restore(links: links)
        override(overrides)
        watchRoutes()
        dispatcher.pause(pauses)
        loop.whenReadable(reports) { [weak self] in self?.assumeIsolated { $0.receiveReports() } }
        loop.whenReadable(intake) { [weak self] in self?.assumeIsolated { $0.receiveHints() } }
        loop.whenReadable(hub.socket) { [weak self] in self?.assumeIsolated { $0.receiveSubscriptions() } }
        loop.tick = { [weak self] now in self?.assumeIsolated { $0.tick(now: now) } }
    }

    func stop() {
        loop.tick = nil
        routes?.stop()
        // Descriptors are closed with their connections, so the loop must not watch them any more.
        for seat in Array(connections.keys) { forget(seat: seat) }
        reader.close()
        writer.close()
        maintainer.close()
    }

    // MARK: Time

    private func tick(now: Int64) -> Int64? {
        // The coordinator's own waking time: a machine that slept, or a stopped coordinator, blames nobody.
        if lastTick > 0 { awake += min(now - lastTick, Self.second / 2) }
        lastTick = now
        if timers.beat.isDue(now, every: Self.second / 4) { beat(now: now) }
        if timers.network.isDue(now, every: Self.second / 4, phase: Self.networkPhase) { governLinks(now: now) }
        if timers.sweep.isDue(now, every: configuration.sweep.nanoseconds) { sweep() }
        if timers.control.isDue(now, every: configuration.control.nanoseconds) {
            needsControl = true
            publishCounts()
        }
        readGaps(now: now)
        let routesDue = routes?.tick(now: now)
        let isWaiting = sendWaiting()
        if dispatcher.nextDue(now: now).map({ $0 <= now }) ?? false { needsDispatch = true }
        if needsDispatch { dispatch(now: now) }
        if needsControl { publishControl() }
        let due = [
            timers.beat.next, timers.network.next, timers.sweep.next, timers.control.next,
            hub.wantsStatuses ? sequencer.deadline : nil,
            // What is due and cannot go waits for a slot, whose end wakes the loop.
            dispatcher.nextDue(now: now).map { max($0, now + Self.second / 100) }, routesDue,
            isWaiting ? now + Self.second / 200 : nil,
        ]
        return due.compactMap { $0 }.min().map { max($0, now + 100_000) }
    }

    private func beat(now: Int64) {
        dispatcher.waited(awake)
        absences.waited(awake)
        awake = 0
        lookUp(dispatcher.forgotten(now: now))
        dispatcher.expireProbes(now: now)
        watchSeats()
        followWallClock(now: now)
        settleTimes()
        // Windows grow and patience ends without a message.
        needsDispatch = true
    }

    /// Tries again what found no peer. - Returns: whether something still waits.
    private func sendWaiting() -> Bool {
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

    // MARK: Dispatch

    func setNeedsDispatch() { needsDispatch = true }
    func setNeedsControl() { needsControl = true }

    private func dispatch(now: Int64) {
        needsDispatch = false
        for refill in dispatcher.refills() { read(refill) }
        let dispatches = dispatcher.dispatch(at: .now, now: now)
        lookUp(dispatcher.takeWanted())
        // Who makes way hears of it before high quality has its first byte out.
        if dispatcher.links.takeUrgent() { publishControl() }
        for dispatch in dispatches {
            guard let connection = connections[dispatch.seat], connection.epoch == dispatch.epoch else { continue }
            sequences[dispatch.seat, default: 0] += 1
            let head = FrameHead(
                seat: dispatch.seat, epoch: incarnation, sequence: sequences[dispatch.seat, default: 0])
            do {
                try connection.send(Message.offers(dispatch.offers).encoded(head))
                dispatched.increment(by: dispatch.offers.offers.count)
            } catch {
                logger.error("Offers cannot be sent: \(error)", metadata: ["seat": "\(dispatch.seat)"])
            }
        }
        // A queue that the dispatch has emptied is refilled now, not at the next report.
        for refill in dispatcher.refills() { read(refill) }
    }

    private func read(_ refill: Dispatcher.Refill) {
        read { store throws(StoreError) in
            try store.ready(
                shard: refill.shard, destination: refill.key.destination, qos: refill.key.qos,
                afterTurn: refill.afterTurn, limit: refill.limit)
        } then: { coordinator, result in
            switch result {
            case .success(let commands):
                coordinator.dispatcher.refilled(refill, commands, now: Int64(clinux_monotonic()))
                coordinator.setNeedsDispatch()
            case .failure(let error):
                coordinator.dispatcher.refillFailed(refill)
                coordinator.report(error, "Ready commands cannot be read")
            }
        }
    }

    /// Asks the store which of these are ready.
    func lookUp(_ ids: [CommandID]) {
        guard !ids.isEmpty else { return }
        for (shard, ids) in Dictionary(grouping: ids, by: { $0.shard(of: store.shardCount) }) {
            read { store throws(StoreError) in
                try store.ready(shard: shard, ids: ids)
            } then: { coordinator, result in
                switch result {
                case .success(let commands):
                    if commands.count < ids.count {
                        let found = Set(commands.map(\.id))
                        coordinator.dispatcher.notReady(ids.filter { !found.contains($0) })
                    }
                    guard !commands.isEmpty else { return }
                    coordinator.dispatcher.insert(commands, now: Int64(clinux_monotonic()))
                    coordinator.setNeedsDispatch()
                case .failure(let error): coordinator.report(error, "Commands cannot be looked up")
                }
            }
        }
    }

    // MARK: Control

    private func publishControl() {
        needsControl = false
        controlSequence += 1
        var state = ControlState()
        state.registered = dispatcher.seats.values.map { .init(seat: $0.seat, epoch: $0.epoch) }
        state.cancels = cancels.map { Hello.Held(id: $0.key, claim: $0.value) }
        state.pauses = dispatcher.pauses
        state.paces = dispatcher.links.paces
        state.orders = dispatcher.links.orders
        do {
            try control.send(
                Message.control(state).encoded(FrameHead(epoch: incarnation, sequence: controlSequence)))
        } catch {
            logger.error("The control state cannot be sent: \(error)")
        }
    }

    // MARK: The store

    /// Reads on the reader's thread, and goes on here.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value,
        then: @escaping @Sendable (isolated Coordinator, Result<Value, StoreError>) -> Void
    ) {
        on(reader, body, then: then)
    }

    /// Writes on the writer's thread, and goes on here.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value,
        then: @escaping @Sendable (isolated Coordinator, Result<Value, StoreError>) -> Void
    ) {
        on(writer, body, then: then)
    }

    private func on<Value: Sendable>(
        _ thread: BlockingThread, _ body: @escaping @Sendable (any CommandStore) throws(StoreError) -> Value,
        then: @escaping @Sendable (isolated Coordinator, Result<Value, StoreError>) -> Void
    ) {
        thread.perform { [store, loop] in
            let result = Result { () throws(StoreError) in try body(store) }
            loop.perform { self.assumeIsolated { then($0, result) } }
        }
    }

    /// Says what failed. Of a shard that is of no use it is said once: it stays so until a person mends it; and of one that
    /// another process keeps locked, once a minute.
    func report(_ error: StoreError, _ what: String) {
        if error.code == .busy, let shard = error.shard {
            if let said = lockedSaid[shard], said.duration(to: .now) < .seconds(60) { return }
            lockedSaid[shard] = .now
        }
        guard !error.code.makesShardUnusable || complaints.insert(error.message).inserted else { return }
        logger.error("\(what): \(error.message)", metadata: error.shard.map { ["shard": "\($0)"] })
    }
}

extension Duration {
    var nanoseconds: Int64 { Int64(seconds * 1e9) }
}

extension WorkerRecord {
    var phaseName: String { state.phase == .ready ? "ready" : "draining" }
}
