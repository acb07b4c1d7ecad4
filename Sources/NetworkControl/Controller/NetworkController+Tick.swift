package import Commands
package import Host

/// The tick, 4 times a second.
extension NetworkController {
    /// Idle links that one tick looks at.
    private static let idleLinksPerTick = 32
    /// Links without transfers that one tick looks at because something has happened on them. Where an uplink takes
    /// thousands with it, or they all come back, the others follow in the next ticks.
    private static let touchedLinksPerTick = 256
    /// How long each tick looks at a link after its last transfer: contention ends, and pauses are lifted.
    private static let activityTimeout: Duration = .seconds(5)
    private static let announcementTimeout: Duration = .seconds(5)
    /// After a longer gap the caller stood still: what was measured meanwhile is not the links' doing.
    private static let maxTickGap: Duration = .seconds(2)
    /// A link that was not used for this time is forgotten.
    private static let idleLifetime: Duration = .seconds(900)

    /// Destinations behind one uplink that have transfers.
    private struct UplinkLoad {
        var count = 0
        /// The transfers of each destination wait in a queue.
        var areQueued = true
        /// They wait in a queue or lose packets: the uplink may be what holds them back.
        var areHeldBack = true
    }

    /// Takes in what was reported since the last tick. Call it 4 times a second. It looks at the links that
    /// have transfers or had some lately, at those on which something has happened, and at some of the others
    /// in turn.
    package mutating func tick(now: MonotonicTime) -> NetworkDecisions {
        if let lastTick, now - lastTick > Self.maxTickGap {
            for key in links.keys { links[key]?.intervalBuilder = LinkIntervalBuilder(now: now) }
        }
        lastTick = now
        for (worker, record) in workers where now - record.reportedAt > Self.workerTimeout * 10 { workerLost(worker) }
        announced = announced.filter { now - $0.value.announcedAt < Self.announcementTimeout }
        refreshSnapshots(now: now)
        for key in snapshots.keys {
            // Attempts at dead destinations contend with nothing, and 25 of them a second would add 500 looks a second.
            let isFailing = links[key]?.circuitBreaker.isFailing == true
            recentlyActive[key] = isFailing ? now : now + Self.activityTimeout
        }
        var keys = Set(touched.prefix(Self.touchedLinksPerTick))
        touched.subtract(keys)
        keys.formUnion(ring.next(Self.idleLinksPerTick))
        for (key, until) in recentlyActive {
            if until < now { recentlyActive[key] = nil } else { keys.insert(key) }
        }
        for key in keys { if let uplink = uplink(of: key) { keys.insert(uplink) } }
        examined = Self.ordered(keys.filter { links[$0] != nil })
        let uplinkLoads = uplinkLoads()
        for key in examined { advance(key, uplinkLoads, now: now) }
        var decisions = decide(examined.filter { links[$0] != nil }, now: now)
        decisions.forgotten = forgotten
        forgotten = []
        return decisions
    }

    private mutating func advance(_ key: LinkKey, _ uplinkLoads: [LinkKey: UplinkLoad], now: MonotonicTime) {
        guard var link = links.removeValue(forKey: key) else { return }
        let snapshot = snapshots[key] ?? LinkSnapshot()
        link.follow(snapshot, now: now)
        if !snapshot.transfers.isEmpty || waiting[key] != nil { link.lastUsed = now }
        if now - link.lastUsed > Self.idleLifetime, isForgettable(link) {
            forget(key)
            return
        }
        if link.level == .unknown, link.circuitBreaker.isClosed, !isActive(key) {
            links[key] = link
            return
        }
        if link.circuitBreaker.tick(chance: jitter.chance(), now: now) == .closed { link.reopened(now: now) }
        let isAwaited = hasWaiting(key) { $0.serviceClass != .high }
        let interval = link.intervalBuilder.close(
            snapshot, isAwaited: isAwaited, baseRTT: link.estimator.baseRTT, now: now)
        if let interval {
            // If several destinations share an uplink and all of them see a queue, the queue is the uplink's:
            // it is full, and more transfers of one destination only take from the others. Left alone, each
            // would climb to its maximum, because its own share rises with every step.
            let above = uplink(of: key).flatMap { uplinkLoads[$0] }
            link.observe(
                interval, maxLimit: maxLimit(of: link), mayRise: above.map { $0.count < 2 || !$0.areQueued } ?? true,
                mayFall: key.destination != nil || uplinkLoads[key]?.areHeldBack == true, now: now)
        }
        if !snapshot.hasFlow { link.intervalBuilder.idle(now: now) }
        // A server may pause within an answer, while an acknowledgement is due within a round trip.
        if key.destination != nil, key.direction == .up, snapshot.hasFlow {
            _ = link.circuitBreaker.silent(
                for: now - link.intervalBuilder.lastBytes, srtt: snapshot.medianRTT, chance: jitter.chance(), now: now)
        }
        links[key] = link
    }

    private mutating func forget(_ key: LinkKey) {
        remove(key)
        for worker in workers.keys {
            for serviceClass in ServiceClass.allCases {
                workers[worker]?.bytes[CounterKey(link: key, serviceClass: serviceClass)] = nil
            }
        }
        forgotten.append(key)
    }

    /// The link is good, or its circuit breaker is open and no command has asked for it since. A link that a
    /// person holds offline stays.
    private func isForgettable(_ link: LinkController) -> Bool {
        guard !link.isForcedOffline else { return false }
        return !link.circuitBreaker.isClosed || link.level <= .good && published[link.key] ?? .unknown <= .good
    }

    private func uplinkLoads() -> [LinkKey: UplinkLoad] {
        var loads: [LinkKey: UplinkLoad] = [:]
        for (key, snapshot) in snapshots where !snapshot.transfers.isEmpty {
            guard let link = links[key], let uplink = uplink(of: key) else { continue }
            loads[uplink, default: UplinkLoad()].count += 1
            if !link.hasQueue { loads[uplink]?.areQueued = false }
            if !link.hasQueue, link.lastInterval.loss < 0.01 { loads[uplink]?.areHeldBack = false }
        }
        return loads
    }
}

/// Which links there are, and which uplink each destination is behind.
extension NetworkController {
    package func route(of destination: Destination) -> Route {
        routes[destination] ?? (destination.isFile ? .local : .uplink(""))
    }

    package func uplink(of key: LinkKey) -> LinkKey? {
        guard let destination = key.destination, case .uplink(let route) = route(of: destination),
            lostUplinks[route] == nil || !pendingRoutes.contains(destination)
        else { return nil }
        return LinkKey(.uplink(route), key.direction)
    }

    /// The link and the uplink above it.
    func chain(_ key: LinkKey) -> [LinkKey] { uplink(of: key).map { [key, $0] } ?? [key] }

    /// Whether commands of certain qualities wait for the link, or for one below it.
    func hasWaiting(_ key: LinkKey, where isMeant: (QualityOfService) -> Bool) -> Bool {
        func isMet(_ counts: [QualityOfService: Int]) -> Bool {
            counts.contains { $0.value > 0 && isMeant($0.key) }
        }
        guard key.destination == nil else { return waiting[key].map(isMet) ?? false }
        return waiting.contains { isMet($0.value) && uplink(of: $0.key) == key }
    }

    /// The kernel's reason why the route is missing; nil where there is one.
    func missingRoute(_ key: LinkKey) -> LinkReason? {
        switch key.scope {
        case .uplink(let name): return lostUplinks[name]
        case .destination(let destination):
            if pendingRoutes.contains(destination) { return nil }
            switch route(of: destination) {
            case .uplink(let name):
                let uplink = LinkKey(.uplink(name), key.direction)
                return links[uplink]?.circuitBreaker.contradictsRoutes == true ? nil : lostUplinks[name]
            case .local: return nil
            case .missing(let reason): return reason
            }
        }
    }

    /// Uplinks first, so that their decisions hold for the links below; then by name, so that a seed repeats
    /// a run.
    static func ordered(_ keys: Set<LinkKey>) -> [LinkKey] {
        keys.map { ($0.destination == nil ? 0 : 1, $0.name, $0.direction.rawValue, $0) }
            .sorted { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }.map(\.3)
    }

    /// Makes the link and its uplink known. A command without a destination has no link.
    /// - Returns: both.
    mutating func touch(_ key: LinkKey, now: MonotonicTime) -> [LinkKey] {
        if key.destination?.text.isEmpty == true { return [] }
        let chain = chain(key)
        for key in chain where links[key] == nil {
            let isLocal = key.destination.map { route(of: $0) == .local } ?? false
            var link = LinkController(key: key, policy: policy, tuning: tuning, isLocal: isLocal, now: now)
            if let destination = key.destination, overrides[destination]?.isOffline == true {
                link.force(offline: true, now: now)
            }
            if let reason = missingRoute(key) {
                _ = link.circuitBreaker.routeLost(reason, chance: jitter.chance(), now: now)
            }
            links[key] = link
            ring.insert(key)
        }
        touched.formUnion(chain)
        return chain
    }
}
