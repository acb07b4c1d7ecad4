internal import Commands
internal import Glibc
internal import Host
internal import Logging
internal import NetworkControl
internal import Store

/// Has the network controller decide 4 times a second, and tells people and the settings about the links.
/// Confined to the loop.
final class LinkMonitor {
    let circuitBreakers: CircuitBreakerMonitor
    let environment: CoordinatorEnvironment
    let dispatch: DispatchRunner
    let events: EventPublisher
    var log = LinkLog()
    /// Set by people.
    var overrides: [Destination: LinkOverride] = [:]
    /// Settings of the last coordinator that are not taken in yet, and when it watched the links last.
    var unrestored: [(key: String, value: String)] = []
    var watchedAt: Timestamp?
    private let control: ControlPublisher
    private let uplinks: UplinkMonitor
    private var timer = PeriodicTimer()
    /// Links that monitors have heard of: one that is used for less than a second would never be active otherwise.
    private var announced: Set<LinkKey> = []
    /// Links that had transfers at the end of the last second.
    private var busy: Set<LinkKey> = []
    /// Links with a rate above 0 in their last event: they have another when it is 0, or monitors would show it for ever.
    private var carrying: Set<LinkKey> = []

    private static let interval: Duration = .milliseconds(250)
    /// Workers report 20 ms after each quarter of a second; their reports are judged another 20 ms later.
    private static let phase: Duration = .milliseconds(40)

    init(
        _ environment: CoordinatorEnvironment, dispatch: DispatchRunner, control: ControlPublisher,
        events: EventPublisher, uplinks: UplinkMonitor
    ) {
        self.environment = environment
        self.dispatch = dispatch
        self.control = control
        self.events = events
        self.uplinks = uplinks
        circuitBreakers = CircuitBreakerMonitor(environment, dispatch: dispatch)
        circuitBreakers.whenChanged = { [unowned self] in publishCircuitBreaker(of: $0, now: $1) }
        uplinks.whenChanged = { [unowned self] in decideSoon() }
    }

    // MARK: By the clock

    var nextDue: MonotonicTime { unrestored.isEmpty ? timer.next : .zero }

    /// Decide in the next round of the loop.
    func decideSoon() { timer.fireNow() }

    func run(now: MonotonicTime) {
        if !unrestored.isEmpty { restoreSome(Self.restoredPerRound) }
        guard timer.isDue(now, every: Self.interval, phase: Self.phase) else { return }
        uplinks.follow(adding: dispatch.dispatcher.links.takeNew())
        decide(now: now)
        let controller = dispatch.dispatcher.links.controller
        for key in dispatch.dispatcher.links.takeChanged() { levelChanged(key, controller, now: now) }
        circuitBreakers.run(now: now)
        takeNotes(controller, now: now)
    }

    /// An outage did not last longer because the wall clock jumped.
    func wallClockJumped(by jump: Duration) { log.wallClockJumped(by: jump, to: environment.store.clock.now()) }

    private func decide(now: MonotonicTime) {
        let before = (dispatch.dispatcher.links.paces, dispatch.dispatcher.links.orders)
        dispatch.dispatcher.networkTick(minuteOfDay: Self.minuteOfDay(), now: now)
        let after = (dispatch.dispatcher.links.paces, dispatch.dispatcher.links.orders)
        let controller = dispatch.dispatcher.links.controller
        let isHandedOver = control.handover.decided(now: now) { controller.hasReport(of: $0) }
        if after != before || isHandedOver { control.setNeeded() }
        dispatch.setNeeded()
    }

    private static func minuteOfDay() -> Int {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Int(parts.tm_hour) * 60 + Int(parts.tm_min)
    }

    private func levelChanged(_ key: LinkKey, _ controller: NetworkController, now: MonotonicTime) {
        guard let state = state(of: key, controller, now: now) else { return }
        environment.logger.notice(
            "A link is \(state.level.name).",
            metadata: state.reason.metadata.merging([
                "link": "\(key.name)", "direction": "\(key.direction.rawValue)",
            ]) { $1 })
        if state.level == .offline, !state.isForced {
            log.offlineSince[key] = log.offlineSince[key] ?? clock()(state.since)
        } else {
            log.offlineSince[key] = nil
        }
        if events.hub.linkTopics.contains(key.name) {
            events.hub.link(report(of: state, controller, now: now), at: environment.store.clock.now())
        }
    }

    /// Keeps history and settings, and tells monitors once a second about active links.
    private func takeNotes(_ controller: NetworkController, now: MonotonicTime) {
        let isSecondOver = log.isSecondOver(now: now)
        // Settings are in the first shard. While another process has that locked, changes wait to be
        // recorded.
        let isLocked = dispatch.dispatcher.locked.contains(0)
        if !isLocked { for key in dispatch.dispatcher.links.takeForgotten() { forget(key) } }
        var updates: [LinkSettingUpdate] = []
        for key in controller.examined {
            guard let state = state(of: key, controller, now: now) else { continue }
            let isActive = controller.isActive(key)
            if isSecondOver {
                log.add(isQuiet(state) ? 0 : state.rate, to: key)
                let isNew = announced.insert(key).inserted
                let ends = isQuiet(state) && carrying.contains(key)
                if isActive || isNew || ends || state.circuitBreaker != nil, events.hub.linkTopics.contains(key.name) {
                    let report = report(of: state, controller, now: now)
                    events.hub.link(report, at: environment.store.clock.now())
                    if report.rate != 0 { carrying.insert(key) } else { carrying.remove(key) }
                }
                if state.inFlight + state.highInFlight > 0 { busy.insert(key) } else { busy.remove(key) }
            }
            if !isLocked, let update = settingUpdate(of: state, isActive: isActive, controller, now: now) {
                updates.append(update)
            }
        }
        record(updates, isWatchedDue: !isLocked && log.isWatchedDue(now: now))
    }

    private func forget(_ key: LinkKey) {
        log.forget(key)
        announced.remove(key)
        carrying.remove(key)
        busy.remove(key)
        removeSetting(of: key)
        events.forgetTransfers(on: key)
        if let destination = key.destination, dispatch.dispatcher.links.forget(destination) {
            uplinks.follow(removing: destination)
        }
    }

    // MARK: For people

    /// The state of a link, with the number of commands that wait at its circuit breaker.
    func state(of key: LinkKey, _ controller: NetworkController, now: MonotonicTime) -> LinkState? {
        var state = controller.state(of: key, now: now)
        state?.circuitBreaker?.waiting = key.destination.map { circuitBreakers.waiting(at: $0) } ?? 0
        return state
    }

    /// Whether the link has had no transfer for a second: the controller keeps its last measure, which says nothing then.
    private func isQuiet(_ state: LinkState) -> Bool {
        state.inFlight + state.highInFlight == 0 && !busy.contains(state.key)
    }

    /// - Parameter withWaits: nothing stores the rules of admission that hold commands back now: the next coordinator
    ///   starts without held slots.
    func report(
        of state: LinkState, _ controller: NetworkController, withWaits: Bool = true, withHistory: Bool = false,
        now: MonotonicTime
    ) -> LinkReport {
        let clock = clock()
        var report = LinkReport(state, clock: clock)
        report.maxRate = controller.maxRate(of: state.key)
        if isQuiet(state) { report.rate = 0 }
        for qos in QualityOfService.allCases {
            report.gates[qos] = controller.waitReason(of: qos, to: state.key, now: now)?.map(clock)
        }
        if withWaits, state.key.direction == .up, let destination = state.key.destination {
            report.waits = dispatch.dispatcher.waits(at: destination, now: now)
            report.failureWait = LinkFailureWaits.published
        }
        if withHistory { report.history = log.history(of: state.key) }
        if state.level == .offline, !state.isForced, let since = log.offlineSince[state.key] {
            report.since = since
        }
        return report
    }

    /// The links that monitors want, in their order. ``report(of:)`` is nil for one that does not exist.
    func keys(of topics: LinkTopics) -> [LinkKey] {
        topics.keys { dispatch.dispatcher.links.controller.links.keys }
    }

    /// A link with its history, for a new monitor; nil where it is gone.
    func report(of key: LinkKey) -> LinkReport? {
        let (controller, now) = (dispatch.dispatcher.links.controller, MonotonicTime.now)
        return state(of: key, controller, now: now).map { report(of: $0, controller, withHistory: true, now: now) }
    }

    private func publishCircuitBreaker(of destination: Destination, now: MonotonicTime) {
        let controller = dispatch.dispatcher.links.controller
        let key = LinkKey(destination, .up)
        guard events.hub.linkTopics.contains(key.name), let state = state(of: key, controller, now: now) else { return }
        events.hub.link(report(of: state, controller, now: now), at: environment.store.clock.now())
    }

    /// The time of instants by the clock of the store.
    func clock() -> (MonotonicTime) -> Timestamp {
        let (wall, now) = (environment.store.clock.now(), MonotonicTime.now)
        return { wall + ($0 - now) }
    }
}

extension LinkReason {
    /// Its members for a log line.
    fileprivate var metadata: Logger.Metadata {
        Dictionary((json.members ?? []).map { ($0.name, "\($0.value.string ?? $0.value.text)") }) { first, _ in first }
    }
}
