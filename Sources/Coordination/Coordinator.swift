internal import Commands
internal import Host
internal import Logging
internal import Membership
internal import NetworkControl
internal import Store
internal import Wire
internal import ZeroMQ

/// The coordinator on its loop: the sockets, the parts and how they are wired. Each part has its own state
/// and is confined to the loop. Calls that block run on the threads of ``StoreAccess``, and their results
/// come back to the loop.
actor Coordinator: LoopCallbackOwner {
    /// Of ``heartbeat(now:)``.
    private static let heartbeatInterval: Duration = .milliseconds(250)
    /// Frames wait for a worker that is about to connect.
    private static let sendRetryInterval: Duration = .milliseconds(5)
    /// Between two rounds of the loop that a deadline causes.
    private static let minInterval: Duration = .microseconds(100)
    /// Of the measurements of this process; within the 15 s for which monitors show them.
    private static let metricsInterval: Duration = .seconds(5)

    let loop: PollLoop
    let callbacks: LoopCallbacks
    let maintainer: StoreMaintainer
    private let environment: CoordinatorEnvironment

    // Sockets that the coordinator reads; those that it sends to belong to its parts.
    private let reports: Socket
    private let intake: Socket
    private let frames: FrameReader
    private let role: RoleUpkeep

    // Commands
    private let dispatch: DispatchRunner
    private let sweeper: Sweeper
    private let dueWork: DueWorkRunner
    private let schedules: ScheduleRunner
    private let inbox: InboxReceiver
    private let clock: ClockMonitor
    private let limits: RateLimitMonitor

    // Workers
    private let workers: WorkerRegistry
    private let reaper: Reaper
    private let control: ControlPublisher

    // Links
    private let uplinks: UplinkMonitor
    private let links: LinkMonitor
    private let unreachable: UnreachableCommands

    // Store
    private let migrator: StoreMigrator

    // Monitors
    private let events: EventPublisher
    private let effects: EffectsReceiver

    /// Refused connections so far, and whether the last sweep found more.
    private var refused = (count: 0, isGrowing: false)
    /// Answers 503 whose transitions follow, by command.
    private var unavailable: [CommandID: Unavailable.Answer] = [:]

    private var awake = AwakeTime()
    private var heartbeatTimer = PeriodicTimer()
    private var sweepTimer = PeriodicTimer()
    private var controlTimer = PeriodicTimer()
    private var metricsTimer = PeriodicTimer()

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Binds the sockets. Call it on the loop, with the coordinator's lock held.
    /// - Parameters:
    ///   - newest: of each shard, the newest transition in the store.
    ///   - clockHold: as the start has found it.
    ///   - clockJumps: as earlier coordinators have seen them.
    init(
        _ environment: CoordinatorEnvironment, newest: [Int64], clockHold: ClockHold?, clockJumps: ClockJumps
    ) throws {
        self.environment = environment
        loop = environment.loop
        callbacks = environment.callbacks
        let sockets = try SocketBinder(loop: environment.loop, endpoints: environment.endpoints)
        reports = try sockets.bind(.subscribe, .reports)
        try reports.subscribe()
        intake = try sockets.bind(.pull, .intake)
        role = RoleUpkeep(environment, sockets: sockets)
        let dispatch = DispatchRunner(environment)
        let control = ControlPublisher(
            socket: try sockets.bind(.publish, .control), environment, dispatch: dispatch)
        let events = EventPublisher(
            socket: try sockets.bind(.extendedPublish, .events), environment, newest: newest)
        let sweeper = Sweeper(environment, dispatch: dispatch, control: control)
        WorkerDeath.makeCounters()
        let workers = WorkerRegistry(
            environment, sockets: sockets, dispatch: dispatch, sweeper: sweeper, control: control, events: events)
        let uplinks = UplinkMonitor(environment, dispatch: dispatch)
        let links = LinkMonitor(environment, dispatch: dispatch, control: control, events: events, uplinks: uplinks)
        let effects = EffectsReceiver(dispatch: dispatch, control: control, events: events)
        let reaper = Reaper(environment, workers: workers, dispatch: dispatch, effects: effects)
        environment.store.whenOutcomeIsUnknown = { [unowned sweeper] in sweeper.sweepEverythingAgain() }
        environment.store.whenMoved = { [loss = environment.loss] in loss.set($0) }
        workers.whenProcessEnds = { [unowned reaper] in reaper.tryToReap(seat: $0) }
        self.dispatch = dispatch
        self.sweeper = sweeper
        self.control = control
        self.events = events
        self.effects = effects
        self.workers = workers
        self.uplinks = uplinks
        self.links = links
        self.reaper = reaper
        frames = FrameReader(logger: environment.logger)
        schedules = ScheduleRunner(environment, dispatch: dispatch, effects: effects, events: events)
        inbox = InboxReceiver(environment, dispatch: dispatch, events: events)
        dueWork = DueWorkRunner(
            environment, dispatch: dispatch, dueTimes: DueTimes(environment, dispatch: dispatch, effects: effects),
            schedules: schedules, inbox: inbox)
        clock = ClockMonitor(environment, dispatch: dispatch, hold: clockHold, jumps: clockJumps)
        limits = RateLimitMonitor(environment, dispatch: dispatch)
        unreachable = UnreachableCommands(environment, links: links, effects: effects)
        migrator = StoreMigrator(environment, dispatch: dispatch)
        let configuration = environment.configuration
        maintainer = StoreMaintainer(
            store: environment.store.store, files: environment.files, in: environment.runDirectory,
            retention: configuration.retention,
            abandoned: configuration.abandoned, cleanup: configuration.cleanup, logger: environment.logger)
    }

    /// Starts to listen, with what the last coordinator left.
    func start(with recovered: RecoveredState) {
        callbacks.owner = self
        if let loss = recovered.loss {
            environment.store.report(
                loss, "The coordinator works without pauses, settings of links and their history, and keeps none")
        }
        control.handover = Handover(from: recovered.sessions, now: .now)
        links.restore(recovered.links)
        links.override(recovered.overrides)
        limits.set(limits: recovered.limits, overrides: recovered.overrides, tokens: recovered.tokens)
        uplinks.start()
        dispatch.dispatcher.pause(Pause.parse(recovered.pauses))
        loop.whenReadable(reports) { [weak self] in self?.assumeIsolated { $0.receiveReports() } }
        loop.whenReadable(intake) { [weak self] in self?.assumeIsolated { $0.receiveHints() } }
        loop.whenReadable(events.hub.socket) { [weak self] in self?.assumeIsolated { $0.receiveSubscriptions() } }
        loop.tick = { [weak self] now in
            self?.assumeIsolated { $0.tick(now: now) }
        }
    }

    func stop() {
        loop.tick = nil
        uplinks.stop()
        workers.stop()
        limits.stop()
        environment.store.close()
        maintainer.close()
    }

    // MARK: By the clock

    /// One round of the loop. - Returns: when the next is due.
    private func tick(now: MonotonicTime) -> MonotonicTime? {
        awake.tick(now: now)
        if let jump = clock.compare(now: now) {
            links.wallClockJumped(by: jump)
            schedules.sweep(now: now)
        }
        if heartbeatTimer.isDue(now, every: Self.heartbeatInterval) { heartbeat(now: now) }
        dueWork.run(isClockHeld: clock.isHeld, now: now)
        links.run(now: now)
        if sweepTimer.isDue(now, every: environment.configuration.sweep) { sweep(now: now) }
        if controlTimer.isDue(now, every: environment.configuration.control) {
            control.setNeeded()
            events.publishCounts(isQuiet: dueWork.isQuiet)
        }
        if metricsTimer.isDue(now, every: Self.metricsInterval) { publishMetrics() }
        events.run(now: now)
        events.continueSnapshots { links.report(of: $0) }
        uplinks.run(now: now)
        let isSending = workers.sendWaiting()
        dispatch.run(now: now, control: control, workers: workers)
        control.publishIfNeeded()
        let due = [
            heartbeatTimer.next, dueWork.nextDue, links.nextDue, sweepTimer.next, controlTimer.next, events.nextDue,
            uplinks.nextDue,
            dispatch.nextDue(now: now), isSending ? now + Self.sendRetryInterval : nil,
        ]
        return due.compactMap { $0 }.min().map { max($0, now + Self.minInterval) }
    }

    private func heartbeat(now: MonotonicTime) {
        environment.configuration.beat()
        let awake = awake.take()
        role.run()
        dispatch.expire(awake: awake, now: now)
        reaper.run(awake: awake)
        clock.run(now: now)
        dueWork.heartbeat(isClockHeld: clock.isHeld)
        limits.run(now: now)
    }

    /// The backstop behind every message: reads from the store what no message told.
    private func sweep(now: MonotonicTime) {
        // Their transitions were lost.
        unavailable = [:]
        sweeper.sweep(readsClaims: true)
        dispatch.dispatcher.wakeLiving()
        schedules.sweep(now: now)
        inbox.sweep()
        control.loadPauses()
        links.loadOverrides()
        limits.load()
        reaper.reapSessions()
        reaper.retryFailedReaps()
        workers.recordTypesAgain()
        links.circuitBreakers.count()
        if !clock.isHeld { unreachable.run(now: now) }
        migrator.run()
        reportRefusedConnections()
    }

    private func reportRefusedConnections() {
        let count = RefusedConnections.count
        defer { refused = (count, count > refused.count) }
        guard count > refused.count, !refused.isGrowing else { return }
        environment.logger.warning(
            "Monitors or producers are refused, because this process has not enough descriptors; raise its limit (ulimit -n).",
            metadata: ["refused": "\(count)"])
    }

    private func publishMetrics() { events.publishMetrics(environment.configuration.reports) }

    // MARK: Reports of workers

    private func receiveReports() {
        frames.read(reports) { sender, error in
            reaper.received(error, from: sender)
        } _: { head, message in
            if case .program(let program) = message { return workers.announce(program, from: head) }
            if case .hello(let hello) = message { return register(head, hello) }
            guard dispatch.dispatcher.seats[head.seat]?.epoch == head.epoch else { return }
            let now = MonotonicTime.now
            switch message {
            case .state(let state): take(state, from: head.seat, now: now)
            case .statuses(let state, let reports):
                take(state, from: head.seat, now: now)
                take(reports, from: head.seat, now: now)
            case .transfers(let transfers):
                dispatch.dispatcher.links.report(transfers, worker: head.epoch, now: now)
                events.publish(transfers, from: head.seat)
            case .published(let event): events.hub.published(event)
            case .effects(let message): receive(message)
            case .commitTime(let time): dispatch.dispatcher.report(seat: head.seat, commitTime: time)
            case .unavailable(let message):
                for answer in message.answers { unavailable[answer.execution.id] = answer }
            case .hello, .program, .offers, .control, .handover, .hint, .submitted: break
            }
        }
    }

    private func register(_ head: FrameHead, _ hello: Hello) {
        guard let offersToReturn = workers.register(head, hello) else { return }
        reaper.workerJoined(seat: head.seat, epoch: head.epoch, offersToReturn: offersToReturn)
        sweeper.sweepEverythingAgain()
    }

    private func take(_ state: WorkerState, from seat: Int, now: MonotonicTime) {
        let before = dispatch.dispatcher.seats[seat]?.state.phase
        dispatch.dispatcher.report(seat: seat, state: state, coordinator: environment.epoch, now: now)
        sweeper.followLocks(now: now)
        dispatch.setNeeded()
        if before != state.phase, let record = dispatch.dispatcher.seats[seat] {
            events.hub.worker(record, state: record.phaseName, at: environment.store.clock.now())
        }
    }

    private func take(_ reports: [StatusReport], from seat: Int, now: MonotonicTime) {
        var released: [CommandID] = []
        dueWork.noteActivity()
        for report in reports {
            var report = report
            report.event.transition.seat = seat
            let id = report.event.transition.id
            if let answer = unavailable.removeValue(forKey: id), answer.execution.claim == report.event.transition.claim
            {
                report.unavailable = answer
            }
            dispatch.dispatcher.transition(report, now: now)
            switch report.event.transition.status {
            case .new: released.append(id)
            case .queued, .sent, .blocked: break
            case .error, .success, .cancelled, .inDoubt, .tooManyTimes: control.removeCancellation(of: id)
            }
            events.publish(report.event, now: now)
        }
        dispatch.lookUp(released)
        dispatch.setNeeded()
    }

    // MARK: Hints of producers and people

    private func receiveHints() {
        frames.read(intake) { _, message in
            dueWork.noteActivity()
            switch message {
            case .hint(let hint): take(hint)
            case .submitted(let submitted):
                events.changed(submitted.commands.lazy.map(\.id))
                dispatch.insert(submitted.commands, now: .now)
            case .hello, .state, .statuses, .transfers, .published, .program, .offers, .control, .handover, .effects,
                .commitTime, .unavailable:
                break
            }
        }
    }

    /// A worker's commit has changed commands that no worker holds, or has requested the cancellation of others'.
    private func receive(_ message: EffectsReport) {
        var made = Effects()
        made.events = message.events.map(\.event)
        made.ready = message.ready
        effects.receive(made)
        dispatch.lookUp(message.limited)
        if message.hasRequests { control.loadCancellationRequests() }
    }

    private func take(_ hint: Hint) {
        events.changed(hint.ids)
        switch hint.kind {
        case .ready, .changed:
            // Commands in memory may have changed, for instance in their quality of service: they are read
            // again.
            if hint.kind == .changed { dispatch.dispatcher.changed(hint.ids) }
            // Reading the store in order finds a bulk faster than looking up each command.
            if hint.ids.count > Submitted.maxCount { sweeper.sweep() } else { dispatch.lookUp(hint.ids) }
        case .cancelRequested: control.loadCancellationRequests()
        case .settingsChanged:
            control.loadPauses()
            links.loadOverrides()
            limits.load()
        }
    }

    // MARK: Subscriptions of monitors

    private func receiveSubscriptions() {
        let hadStatuses = events.hub.wantsStatuses
        let new = events.hub.receiveSubscriptions()
        events.publishStatuses(of: new.commands)
        events.publishFlows(to: new, now: .now)
        guard !new.prefixes.isEmpty else { return }
        if new.want(Published.metrics) { publishMetrics() }
        events.publishSnapshot(
            for: new, workers: dispatch.dispatcher.seats.values, links: { links.keys(of: $0) },
            isFirst: !hadStatuses && events.hub.wantsStatuses)
    }
}
