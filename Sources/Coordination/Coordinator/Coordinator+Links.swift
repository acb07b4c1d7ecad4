internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Logging
internal import NetworkControl
internal import Store
internal import ZeroMQ

/// The network decides: 4 times a second, and at once where high quality is about to begin.
extension Coordinator {
    /// Unreachable for so long: its commands are given up.
    private static let unreachable: Duration = .seconds(7 * 86_400)
    /// Nanoseconds between two looks for such.
    private static let givingUp: Int64 = 60_000_000_000
    /// Reaps and due times wait behind what is noted of links: nobody else's turn is waited for longer.
    private static let timeout: Duration = .seconds(1)

    func governLinks(now: Int64) {
        routes?.follow(adding: dispatcher.links.takeMet())
        let before = (dispatcher.links.paces, dispatcher.links.orders)
        dispatcher.networkTick(minuteOfDay: Self.minuteOfDay(), now: now)
        if (dispatcher.links.paces, dispatcher.links.orders) != before { setNeedsControl() }
        setNeedsDispatch()
        let controller = dispatcher.links.controller
        for key in dispatcher.links.takeChanged() { levelChanged(key, controller, now: now) }
        followCircuitBreakers(now: now)
        noteLinks(controller, now: now)
    }

    // MARK: Routes

    func watchRoutes() {
        do throws(RouteError) {
            routes = try RouteWatch(loop: loop) { [weak self] routes, lost, main in
                self?.assumeIsolated { $0.routesChanged(routes, lost, main) }
            }
        } catch {
            logger.warning("The kernel's routes cannot be heard; links are judged by their traffic alone: \(error)")
        }
    }

    private func routesChanged(
        _ routes: [Destination: Route], _ lost: [String: String], _ main: RouteTable.Hop?
    ) {
        let now = Int64(clinux_monotonic())
        if let main, let before = mainUplink, main != before { dispatcher.links.uplinkReplaced("", now: now) }
        mainUplink = main ?? mainUplink
        for (name, reason) in lost where lostUplinks[name] != reason {
            dispatcher.links.uplinkLost(name, reason: reason, now: now)
        }
        for name in lostUplinks.keys where lost[name] == nil { dispatcher.links.uplinkFound(name, now: now) }
        lostUplinks = lost
        for (destination, route) in routes { dispatcher.links.routed(destination, route, now: now) }
        // Nobody waits for the next quarter of a second, and nobody for a time-out.
        timers.network.fireNow()
        loop.perform {}
    }

    // MARK: Decisions

    private static func minuteOfDay() -> Int {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Int(parts.tm_hour) * 60 + Int(parts.tm_min)
    }

    private func levelChanged(_ key: LinkKey, _ controller: NetworkController, now: Int64) {
        guard let state = linkState(key, controller, now: now) else { return }
        logger.notice(
            "A link is \(state.level.name): \(state.reason).",
            metadata: ["link": "\(key.name)", "direction": "\(key.direction.rawValue)"])
        if state.level == .offline, !state.isForced {
            linkLog.offlineSince[key] = linkLog.offlineSince[key] ?? wallTime(of: state.since.nanoseconds, now: now)
        } else {
            linkLog.offlineSince[key] = nil
        }
        hub.link(report(of: state, controller, now: now), at: .now)
    }

    /// Keeps history and settings, and tells monitors once a second of what moves.
    private func noteLinks(_ controller: NetworkController, now: Int64) {
        let isSecondOver = linkLog.isSecondOver(now: now)
        // Settings are kept in the first shard: while another process has that locked, what is news stays so.
        let isLocked = dispatcher.locked.contains(0)
        var news: [LinkSettingUpdate] = []
        for key in isLocked ? [] : dispatcher.links.takeForgotten() {
            linkLog.forget(key)
            forgetSetting(of: key)
            for seat in lastTransfers.keys { lastTransfers[seat]?[key] = nil }
            if let destination = key.destination, dispatcher.links.forget(destination) {
                routes?.follow(removing: destination)
            }
        }
        for key in controller.examined {
            guard let state = linkState(key, controller, now: now) else { continue }
            let isActive = controller.isActive(key)
            if isSecondOver {
                linkLog.add(state.rate, to: key)
                if isActive || state.circuitBreaker != nil, hub.wantsLinks {
                    hub.link(report(of: state, controller, now: now), at: .now)
                }
            }
            // The number is for people while no coordinator counts: each doubling is worth a write.
            let circuitBreaker = state.circuitBreaker.map { "\($0.cause) \(String($0.waiting, radix: 2).count)" }
            let signature = "\(state.level) \(state.isForced) \(circuitBreaker ?? "")"
            // What was written of an idle link is corrected once; what never was is not worth a row.
            guard !isLocked,
                isActive || state.level > .good || circuitBreaker != nil || state.isForced
                    || linkLog.differs(signature, of: key),
                linkLog.isNews(signature, of: key, isActive: isActive, now: now)
            else { continue }
            news.append(
                LinkSettingUpdate(key: key, signature: signature, value: setting(of: state, controller, now: now)))
        }
        record(news, isWatchedDue: !isLocked && linkLog.isWatchedDue(now: now))
    }

    /// With how many commands wait at the circuit breaker.
    func linkState(_ key: LinkKey, _ controller: NetworkController, now: Int64) -> LinkState? {
        var state = controller.state(of: key, now: MonotonicTime(nanoseconds: now))
        state?.circuitBreaker?.waiting = key.destination.flatMap { waitingCounts[$0] } ?? 0
        return state
    }

    func report(
        of state: LinkState, _ controller: NetworkController, withHistory: Bool = false, now: Int64
    ) -> LinkReport {
        var gates: [QualityOfService: LinkWaitReason] = [:]
        let instant = MonotonicTime(nanoseconds: now)
        for qos in QualityOfService.allCases {
            gates[qos] = controller.waitReason(of: qos, to: state.key, now: instant)
        }
        let destination = state.key.direction == .up ? state.key.destination : nil
        return LinkReport(
            state, gates: gates, waits: destination.map { dispatcher.waits(at: $0, now: now) } ?? [:],
            maxRate: controller.maxRate(of: state.key),
            history: withHistory ? linkLog.history(of: state.key) : nil,
            since: state.level == .offline && !state.isForced ? linkLog.offlineSince[state.key] : nil
        ) { wallTime(of: $0, now: now) }
    }

    /// All links, as a new monitor is told of them.
    func linkReports(withHistory: Bool) -> [LinkReport] {
        let now = Int64(clinux_monotonic())
        let controller = dispatcher.links.controller
        return controller.links.keys.sorted { ($0.name, $0.direction.rawValue) < ($1.name, $1.direction.rawValue) }
            .compactMap { linkState($0, controller, now: now) }
            .map { report(of: $0, controller, withHistory: withHistory, now: now) }
    }

    private func wallTime(of instant: Int64, now: Int64) -> Timestamp {
        Timestamp.now + .nanoseconds(instant - now)
    }

    // MARK: Settings

    /// Takes in what people have set with `sluice network set`.
    func override(_ settings: [String: String]) {
        let now = Int64(clinux_monotonic())
        let overrides = LinkOverrideSetting.parse(settings).mapValues(\.override)
        guard overrides != self.overrides else { return }
        for destination in Set(self.overrides.keys).union(overrides.keys) {
            dispatcher.links.override(destination, overrides[destination] ?? LinkOverride(), now: now)
        }
        self.overrides = overrides
        timers.network.fireNow()
    }

    func loadOverrides() {
        read { store throws(StoreError) in
            try store.settings(prefix: SettingKey.networkPrefix)
        } then: { coordinator, result in
            switch result {
            case .success(let settings): coordinator.override(settings)
            case .failure(let error): coordinator.report(error, "What people set of links cannot be read")
            }
        }
    }

    private func setting(of state: LinkState, _ controller: NetworkController, now: Int64) -> String {
        report(of: state, controller, now: now).setting(
            controller.history(of: state.key, now: MonotonicTime(nanoseconds: now)))
    }

    /// All in one transaction: a network that goes down takes thousands of links with it.
    private func record(_ news: [LinkSettingUpdate], isWatchedDue: Bool) {
        guard !news.isEmpty || isWatchedDue else { return }
        write { store throws(StoreError) in
            try store.set(
                news.map { (LinkReport.settingKey($0.key), $0.value) }
                    + [(SettingKey.linkWatched, "\(Timestamp.now.milliseconds)")], timeout: Self.timeout)
        } then: { coordinator, result in
            guard case .failure(let error) = result else { return }
            let now = Int64(clinux_monotonic())
            for link in news { coordinator.linkLog.failed(link.signature, of: link.key, now: now) }
            coordinator.report(error, "A link cannot be recorded")
        }
    }

    private func forgetSetting(of key: LinkKey) {
        let name = LinkReport.settingKey(key)
        write { store throws(StoreError) in
            try store.set([(name, nil)], timeout: Self.timeout)
        } then: { coordinator, result in
            if case .failure(let error) = result { coordinator.report(error, "A link cannot be forgotten") }
        }
    }

    func restore(links: [String: String]) {
        let now = Int64(clinux_monotonic())
        let watchedAt = links[SettingKey.linkWatched].flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
        for (key, value) in links {
            guard let link = StoredLink(setting: key, value: value, watchedAt: watchedAt) else { continue }
            dispatcher.links.restore(link.memory, of: link.key, now: now)
            linkLog.offlineSince[link.key] = link.offlineSince
            linkLog.known(link.key)
            if let destination = link.key.destination, let circuitBreaker = link.circuitBreaker {
                dispatcher.links.restore(circuitBreaker, of: destination, wall: .now, now: now)
            }
        }
    }

    /// Commands of a destination that nobody has reached for 7 days are given up. Now and then: it reads whole shards.
    /// The time of an open circuit breaker does not count: such a destination can be reached.
    func giveUpUnreachable() {
        guard !isGivingUp, timers.givingUp.isDue(Int64(clinux_monotonic()), every: Self.givingUp) else { return }
        let now = Timestamp.now
        let links = dispatcher.links.controller.links
        for (key, since) in linkLog.offlineSince where now - since > Self.unreachable {
            guard let destination = key.destination else { continue }
            let why = links[key]?.circuitBreaker.reason ?? "no reason known"
            let reason = "\(destination) could not be reached for 7 days: \(why)"
            isGivingUp = true
            write { store throws(StoreError) -> [StatusEvent] in
                var events: [StatusEvent] = []
                for status in [CommandStatus.new, .error] {
                    let filter = CommandFilter(status: status, destination: destination)
                    for command in try store.list(filter, after: nil, limit: 1000)
                    where now - command.createdAt > Self.unreachable {
                        if case .cancelled(let event) = try store.cancel(command.id, reason: reason, now: now) {
                            events.append(event)
                        }
                    }
                }
                return events
            } then: { coordinator, result in
                coordinator.isGivingUp = false
                switch result {
                case .success(let events):
                    for event in events { coordinator.publish(event, now: Int64(clinux_monotonic())) }
                case .failure(let error): coordinator.report(error, "Commands cannot be given up")
                }
            }
        }
    }
}

/// What is to be written of a link.
private struct LinkSettingUpdate: Sendable {
    var key: LinkKey
    var signature: String
    var value: String
}
