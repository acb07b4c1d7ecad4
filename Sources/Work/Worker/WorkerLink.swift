internal import Commands
internal import Glibc
internal import Host
internal import Logging
internal import Membership
internal import Operations
internal import Store
internal import Wire
internal import ZeroMQ

/// A worker's sockets, on its loop: offers and control come in; hello, state, statuses and transfers go out.
actor WorkerLink {
    private static let reportInterval: Duration = .milliseconds(250)
    /// Reports leave this long after each quarter of a second by the clock.
    private static let reportPhase: Duration = .milliseconds(20)
    /// The first hello may leave before the connection stands, so it is repeated soon, then each second.
    private static let firstHelloInterval: Duration = .milliseconds(10)
    private static let maxHelloInterval: Duration = .seconds(1)
    /// After this long without a control state the coordinator counts as silent: this worker claims nothing
    /// new.
    private static let silenceTimeout: Duration = .seconds(5)
    /// Of the measurements of this process; within the 15 s for which monitors show them.
    private static let metricsInterval: Duration = .seconds(5)
    /// Reports in a frame: each may have a reason of 64 KiB, and a frame 16 MiB.
    private static let maxReports = 200

    private let loop: PollLoop
    private let reports: Socket
    private let offers: Socket
    private let control: Socket
    private let session: Session
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let seat: SeatUpkeep
    private var executor: Executor?

    private var sequence: Int64 = 0
    private var coordinator: Int64 = 0
    private var controlSequence: Int64 = 0
    /// The head of the last handover, which the control state with the same head follows.
    private var handover: (epoch: Int64, sequence: Int64)?
    private var isRegistered = false
    private var heardAt: MonotonicTime
    private var isSilent = false
    private var nextReport = MonotonicTime.zero
    private var nextMetrics = MonotonicTime.zero
    private var nextHello = MonotonicTime.zero
    private var helloInterval = WorkerLink.firstHelloInterval
    private var transfersAt: MonotonicTime
    private var hadTransfers = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Opens and connects the sockets. Call it on the loop.
    init(
        loop: PollLoop, endpoints: any Endpoints, session: Session,
        configuration: WorkerConfiguration,
        seat: SeatUpkeep, logger: Logger
    ) throws {
        self.seat = seat
        self.loop = loop
        self.session = session
        self.configuration = configuration
        self.logger = logger
        let now = MonotonicTime.now
        heardAt = now
        transfersAt = now
        let open: any OpenEndpoints
        do throws(SystemError) { open = try endpoints.open() } catch { throw StoreError(error) }
        // For ever: libzmq uses the address again until the sockets are closed, which is after this actor has ended.
        _ = Unmanaged<AnyObject>.passRetained(open)
        var options = Socket.Options()
        options.sendHighWaterMark = 100_000
        options.reconnectIntervalMaximum = .milliseconds(200)
        options.maximumMessageSize = 16 << 20
        options.linger = .milliseconds(200)
        reports = try open.connect(.publish, to: .reports, options: options, on: loop)
        control = try open.connect(.subscribe, to: .control, options: options, on: loop)
        try control.subscribe()
        offers = try open.connect(.pull, to: .offers(seat: session.seat), options: options, on: loop)
    }

    /// Starts listening.
    func start(executor: Executor) {
        self.executor = executor
        loop.whenReadable(offers) { [weak self] in self?.assumeIsolated { $0.receiveOffers() } }
        loop.whenReadable(control) { [weak self] in self?.assumeIsolated { $0.receiveControl() } }
        loop.tick = { [weak self] now in self?.assumeIsolated { $0.tick(now: now) } }
    }

    /// Calls `body` once the parent's end of the pipe is closed.
    func watchParent(_ descriptor: CInt, _ body: @escaping @Sendable () -> Void) {
        var registration: Registration?
        registration = loop.whenReadable(descriptor: descriptor) { [loop] in
            let isGone = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)
            }
            guard isGone, let known = registration else { return }
            loop.remove(known)
            body()
        }
    }

    /// Sends the reports that are waiting, or the state alone.
    func flush() {
        guard let executor else { return }
        let (state, reports, effects) = executor.takeReports()
        defer { send(effects) }
        if reports.isEmpty { return send(.state(state)) }
        // A frame stays below the maximum message size, whatever the reasons' length.
        for start in stride(from: 0, to: reports.count, by: Self.maxReports) {
            let end = min(start + Self.maxReports, reports.count)
            let part = end - start == reports.count ? reports : Array(reports[start..<end])
            let unavailable = part.compactMap(\.unavailable)
            if !unavailable.isEmpty { send(.unavailable(Unavailable(unavailable))) }
            send(.statuses(state, part))
        }
    }

    /// After the reports of the ends that have caused them.
    private func send(_ effects: Effects) {
        guard !effects.isEmpty else { return }
        var (events, ready) = (effects.events[...], effects.ready.filter { $0.limit == nil }[...])
        var limited = effects.ready.compactMap { $0.limit == nil ? nil : $0.id }[...]
        repeat {
            let report = EffectsReport(
                events: events.prefix(Self.maxReports).map { StatusReport(event: $0) },
                ready: Array(ready.prefix(Submitted.maxCount)), limited: Array(limited.prefix(Submitted.maxCount)),
                hasRequests: !effects.requests.isEmpty)
            events = events.dropFirst(Self.maxReports)
            ready = ready.dropFirst(Submitted.maxCount)
            limited = limited.dropFirst(Submitted.maxCount)
            send(.effects(report))
        } while !events.isEmpty || !ready.isEmpty || !limited.isEmpty
    }

    private func tick(now: MonotonicTime) -> MonotonicTime? {
        guard let executor else { return nil }
        if now >= nextReport {
            nextReport = Self.nextReport(after: now)
            configuration.beat()
            seat.run()
            executor.tick(now: now)
            send(.state(executor.workerState))
            send(.commitTime(executor.commitTime))
            let elapsed = max(now - transfersAt, .milliseconds(1))
            transfersAt = now
            executor.takeTransfers(elapsed: elapsed) { [loop] transfers in
                loop.perform { self.assumeIsolated { $0.report(transfers) } }
            }
            checkSilence(now: now)
            if isRegistered, now >= nextMetrics {
                nextMetrics = now + Self.metricsInterval
                publishMetrics()
            }
        }
        if !isRegistered, now >= nextHello {
            nextHello = now + helloInterval
            helloInterval = min(helloInterval * 2, Self.maxHelloInterval)
            executor.claimedCommands { [loop] commands in
                loop.perform { self.assumeIsolated { $0.hello(executing: commands) } }
            }
        }
        return isRegistered ? nextReport : min(nextReport, nextHello)
    }

    /// By the clock, because connections are measured once in each quarter of a second: a report that follows
    /// 20 ms later has each measurement once.
    private static func nextReport(after now: MonotonicTime) -> MonotonicTime {
        let interval = reportInterval.nanoseconds
        let rounds = (now - reportPhase).nanoseconds / interval
        return MonotonicTime(nanoseconds: (rounds + 1) * interval) + reportPhase
    }

    private func checkSilence(now: MonotonicTime) {
        let silent = now - heardAt > Self.silenceTimeout
        if silent != isSilent {
            isSilent = silent
            if silent {
                logger.notice("The coordinator is silent; this worker claims nothing new until it is back.")
                isRegistered = false
            }
        }
        if silent { executor?.coordinatorIsSilent() }
    }

    private func report(_ transfers: TransferReport) {
        if !transfers.links.isEmpty || hadTransfers { send(.transfers(transfers)) }
        hadTransfers = !transfers.links.isEmpty
    }

    /// Sends an event of an execution.
    func publish(_ event: Published) {
        guard event.isValid else { return logger.warning("An event is not valid: \(event.topic)") }
        send(.published(event))
    }

    /// The coordinator drops them where no monitor wants them.
    private func publishMetrics() {
        let topic = "\(Published.metrics)worker-\(session.seat)"
        for body in configuration.reports() { publish(Published(topic: topic, body: body)) }
    }

    private func hello(executing: [CommandClaim]) {
        guard let executor else { return }
        var hello = Hello(
            pid: session.pid, startTime: session.startTime, bootID: session.bootID,
            concurrency: configuration.concurrency, types: executor.registry.types, executing: executing)
        hello.grace = configuration.grace
        send(.program(Program(store: StoreVersion.newest)))
        send(.hello(hello))
    }

    private func receiveOffers() {
        receive(offers) { head, message in
            guard case .offers(let frame) = message, head.seat == session.seat, let executor else { return }
            guard head.epoch >= coordinator, !isSilent else { return }
            adopt(coordinator: head.epoch)
            executor.offered(frame, coordinator: head.epoch, now: .now)
        }
    }

    private func receiveControl() {
        receive(control) { head, message in
            if case .handover = message { handover = (head.epoch, head.sequence) }
            guard case .control(let state) = message else { return }
            guard (head.epoch, head.sequence) > (coordinator, controlSequence) else { return }
            adopt(coordinator: head.epoch)
            controlSequence = head.sequence
            heardAt = .now
            isSilent = false
            let registered = state.registered.contains(.init(seat: session.seat, epoch: session.epoch))
            if !registered && isRegistered { nextHello = .zero }
            // A new coordinator awaits a report of this worker's transfers, also where none runs.
            if registered && !isRegistered { hadTransfers = true }
            isRegistered = registered
            executor?.control(state, isHandover: handover.map { $0 == (head.epoch, head.sequence) } ?? false)
        }
    }

    /// Registers with a coordinator that is new.
    private func adopt(coordinator epoch: Int64) {
        guard epoch != coordinator else { return }
        coordinator = epoch
        controlSequence = 0
        isRegistered = false
        nextHello = .zero
        helloInterval = Self.firstHelloInterval
        executor?.adopt(coordinator: epoch)
    }

    private func receive(_ socket: borrowing Socket, _ body: (FrameHead, Message) -> Void) {
        do {
            while let frame = try socket.receive({ bytes in
                Result { () throws(WireError) in try Message.decode(bytes) }
            }) {
                switch frame {
                case .success(let (head, message)): body(head, message)
                case .failure(let error): logger.warning("A frame was dropped: \(error)")
                }
            }
        } catch {
            logger.error("A socket cannot be read: \(error)")
        }
    }

    private func send(_ message: Message) {
        sequence += 1
        let head = FrameHead(seat: session.seat, epoch: session.epoch, sequence: sequence)
        do {
            // State is repeated, and the coordinator's sweep finds the transitions that are lost.
            try reports.send(message.encoded(head))
        } catch {
            logger.error("A report cannot be sent: \(error)")
        }
    }
}
