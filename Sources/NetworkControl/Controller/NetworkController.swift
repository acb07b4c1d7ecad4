package import Commands
package import Host

/// All links, the host's uplinks above them, and who may send how much. Pure: told the time, never asks for it.
///
/// The caller's day, on one thread:
/// ```
/// network.report(worker:transfers:counters:now:)      each report of a worker, 4 times a second
/// network.arrived(id, to:qos:bytes:now:)              high quality is about to be offered: decisions at once
/// network.ended(id, to:outcome:now:)                  each end of an execution, read from its transition
/// network.routeChanged(destination, to:now:)          what the kernel says of routes
/// network.setWaiting(_:for:)                          how many commands wait for a link
/// let decisions = network.tick(now:)                  4 times a second; publish, order, dispatch by them
/// ```
package struct NetworkController: Sendable {
    /// What a worker has reported.
    private struct Worker: Sendable {
        var at: MonotonicTime
        var ids: Set<CommandID> = []
        var bytes: [CounterKey: Int64] = [:]
    }

    private struct CounterKey: Hashable {
        var link: LinkKey
        var serviceClass: ServiceClass
    }

    /// High quality that was offered and is in no report yet.
    struct Arrival: Sendable {
        var key: LinkKey
        var qos: QualityOfService
        var bytes: Int64?
        var at: MonotonicTime
    }

    package let policy: NetworkPolicy
    package internal(set) var links: [LinkKey: LinkController] = [:]
    package internal(set) var circuitBreakers: [Destination: DestinationCircuitBreaker] = [:]
    var changedCircuitBreakers: Set<Destination> = []
    /// Minutes after midnight, local time, for the hours of `background`. The caller sets it now and then.
    package var minuteOfDay = 0
    var transfers: [CommandID: TrackedTransfer] = [:]
    var waiting: [LinkKey: [QualityOfService: Int]] = [:]
    var arrivals: [CommandID: Arrival] = [:]
    var orders: [CommandID: TransferOrder] = [:]
    var views: [LinkKey: LinkSnapshot] = [:]
    /// Since when a pause has lasted, by link and quality.
    var pausedSince: [LinkKey: [QualityOfService: MonotonicTime]] = [:]
    /// When low transfers of a link were cut last.
    var waves: [LinkKey: MonotonicTime] = [:]
    /// How often transfers were cut that start over from 0.
    var restarts: [CommandID: Int] = [:]
    /// What was decided last of each link.
    var rulings: [LinkKey: LinkPolicyDecision] = [:]
    var pacing: [LinkKey: [Pacing]] = [:]
    var published: [LinkKey: LinkLevel] = [:]
    var overrides: [Destination: LinkOverride] = [:]
    var routes: [Destination: Route] = [:]
    var lostUplinks: [String: String] = [:]
    private var workers: [Int64: Worker] = [:]
    var jitter: Jitter
    private var lastTick: MonotonicTime?
    let tuning: ConcurrencyController.Tuning
    /// Links on which something has happened since the last tick.
    var touched: Set<LinkKey> = []
    /// Links that had transfers lately, and until when each tick looks at them.
    private var restless: [LinkKey: MonotonicTime] = [:]
    /// All links. Idle ones are looked at in turn.
    var ring = RoundRobinKeys<LinkKey>()
    /// Links that the last tick looked at.
    package private(set) var examined: [LinkKey] = []
    private var forgotten: [LinkKey] = []
    /// Destinations that have answered, or taken bytes, for the first time or again.
    var proven: [Destination] = []

    /// Idle links of one tick.
    private static let idleLinksPerTick = 32
    /// How long a link is looked at in each tick after its last transfer: contention ends, and pauses are lifted.
    private static let restlessTime: Duration = .seconds(5)
    /// A worker that is silent for so long counts for nothing, and is forgotten after ten times that.
    private static let workerTimeout: Duration = .seconds(1)
    private static let arrivalTimeout: Duration = .seconds(5)
    /// The caller stood still: what was measured meanwhile is his, not the link's.
    private static let longestTick: Duration = .seconds(2)
    /// From the end of a transfer to the first byte of the next in its place, on a busy machine.
    static let turnaround: Duration = .milliseconds(100)
    /// A link that nobody used for so long is forgotten.
    private static let memory: Duration = .seconds(900)

    /// - Parameters:
    ///   - policy: validated.
    ///   - seed: of the jitter of probes.
    package init(
        policy: NetworkPolicy = NetworkPolicy(), tuning: ConcurrencyController.Tuning = .init(), seed: UInt64
    ) {
        self.policy = policy
        self.tuning = tuning
        jitter = Jitter(seed: seed)
    }

    // MARK: Reports

    /// Takes a worker's report in, which replaces its last.
    /// - Parameters:
    ///   - worker: its incarnation.
    ///   - transfers: all that it runs.
    ///   - counters: of all links that it has used since it started.
    package mutating func report(
        worker: Int64, transfers samples: [TransferSample], counters: [LinkCounter], now: MonotonicTime
    ) {
        var track = workers[worker] ?? Worker(at: now)
        // The first report is a starting point: nobody knows over which time those bytes came.
        let isKnown = workers[worker] != nil
        var covered: Set<LinkKey> = []
        for counter in counters {
            let key = LinkKey(counter.destination, counter.direction)
            let counted = CounterKey(link: key, serviceClass: counter.serviceClass)
            covered.insert(key)
            // The first word of a link is a starting point as well: it was quiet before, and its bytes are old ones. So is
            // a lower one, of a worker that has forgotten a link.
            let before = track.bytes.updateValue(counter.bytes, forKey: counted) ?? counter.bytes
            let gained = counter.bytes - before
            guard gained > 0 else { continue }
            for link in touch(key, now: now) where isKnown {
                links[link]?.meter.add(gained, of: counter.serviceClass, worker: worker, now: now)
            }
        }
        var ids: Set<CommandID> = []
        for sample in samples {
            ids.insert(sample.id)
            covered.insert(sample.key)
            _ = touch(sample.key, now: now)
            follow(sample, worker: worker, now: now)
        }
        for link in Set(covered.flatMap { chain($0) }) { links[link]?.meter.cover(now - track.at, worker: worker) }
        for id in track.ids.subtracting(ids) where transfers[id]?.worker == worker { forget(id) }
        track.at = now
        track.ids = ids
        workers[worker] = track
    }

    private mutating func follow(_ sample: TransferSample, worker: Int64, now: MonotonicTime) {
        arrivals[sample.id] = nil
        var transfer = TrackedTransfer(sample, worker: worker, now: now)
        var (gained, resent) = (sample.acknowledged, sample.retransmitted)
        if let known = transfers[sample.id], known.worker == worker {
            transfer = known
            (gained, resent) = transfer.update(sample, now: now)
        }
        transfers[sample.id] = transfer
        for key in chain(sample.key) {
            links[key]?.meter.sent(gained, again: resent)
            guard gained > 0 else { continue }
            if key == sample.key, links[key]?.hasAnswered == false {
                links[key]?.hasAnswered = true
                proven.append(sample.destination)
            }
            if links[key]?.circuitBreaker.progressed(gained, now: now) == .closed {
                links[key]?.reopened(now: now)
                proven.append(sample.destination)
            }
        }
    }

    /// Another execution of the command runs: what was ordered meant the one before.
    package mutating func replaced(_ id: CommandID) { forget(id) }

    /// It is dead or gone, with all that it ran.
    package mutating func workerLost(_ worker: Int64) {
        for id in workers[worker]?.ids ?? [] where transfers[id]?.worker == worker { forget(id) }
        workers[worker] = nil
    }

    private mutating func forget(_ id: CommandID) {
        transfers[id] = nil
        orders[id] = nil
    }

    /// How many commands of each quality wait for a link.
    package mutating func setWaiting(_ counts: [QualityOfService: Int], for key: LinkKey, now: MonotonicTime) {
        let before = waiting[key]
        waiting[key] = counts.values.contains { $0 > 0 } ? counts : nil
        // How many wait matters in the next tick of a link that runs transfers; of others, whether some do.
        if waiting[key] != nil, before == nil { _ = touch(key, now: now) }
    }

    /// High quality became runnable: others make way before it has sent a byte.
    /// - Parameter bytes: what it will send; nil where unknown.
    /// - Returns: nil where nobody is in its way or they have made way already.
    package mutating func arrived(
        _ id: CommandID, to key: LinkKey, qos: QualityOfService, bytes: Int64?, now: MonotonicTime
    ) -> NetworkDecisions? {
        guard qos.serviceClass == .high, transfers[id] == nil else { return nil }
        arrivals[id] = Arrival(key: key, qos: qos, bytes: bytes, at: now)
        let isInTheWay = touch(key, now: now).contains {
            guard let link = links[$0], link.planner.since == nil, let view = views[$0], view.inFlight > 0,
                link.isSaturated(now: now)
            else { return false }
            // Of many short ones none costs a decision, but where the level itself slows down who is outrun.
            let capacity = link.capacity(now: now)
            return link.level > .good
                || link.planner.isLosing(contest($0, link, view, capacity: capacity, now: now), policy.preemption)
        }
        return isInTheWay ? decide(now: now) : nil
    }

    // MARK: Dispatch

    /// Whether the gates let commands of a quality of service go: a person's, the link's, and the destination's circuit
    /// breaker. ``LinkAllowance`` says how many of those that may go.
    package func availability(of qos: QualityOfService, to key: LinkKey, now: MonotonicTime) -> LinkAvailability {
        if let destination = key.destination, overrides[destination]?.isOffline == true { return .heldOffline }
        // Hours are a person's will: the floor is below levels, not below them.
        if qos == .background, isOutOfHours(key) { return .outOfHours }
        guard let link = links[key] else {
            // The next tick makes the link, and then it is probed.
            if missingRoute(key) != nil { return .offline }
            return isCircuitBreakerClosed(key) ? .available : .circuitBreaker
        }
        if link.isForcedOffline { return .heldOffline }
        let isClosed = link.circuitBreaker.isClosed
        guard isClosed || link.circuitBreaker.isProbeDue(now: now) else { return .offline }
        guard isCircuitBreakerClosed(key) else { return .circuitBreaker }
        return isClosed ? .available : .probe
    }

    private func isCircuitBreakerClosed(_ key: LinkKey) -> Bool {
        guard !circuitBreakers.isEmpty, let destination = key.destination else { return true }
        return circuitBreakers[destination]?.isClosed ?? true
    }

    /// The destination has answered or taken bytes, and has not failed since. Files are there.
    package func isProven(_ key: LinkKey) -> Bool {
        let isFile = key.destination?.isFile == true
        guard let link = links[key] else { return isFile }
        return (link.hasAnswered || isFile) && !link.circuitBreaker.isFailing
    }

    /// The last attempts to reach the destination failed.
    package func isFailing(_ key: LinkKey) -> Bool { links[key]?.circuitBreaker.isFailing ?? false }

    /// Writes into an allowance what the server takes at once, as it is known at this moment.
    package func fill(_ allowance: inout LinkAllowance, of key: LinkKey, now: MonotonicTime) {
        // Files are written by as many threads as their file system has.
        guard key.destination?.isFile != true else { return }
        let pushback = links[key]?.pushback ?? PushbackLimit()
        allowance.pushback = pushback.isPausing(now: now) ? 0 : pushback.isBarred ? pushback.limit : nil
        allowance.slowStart = pushback.limit
    }

    /// What a link may have of which nothing is known yet.
    package func firstAllowance(of key: LinkKey) -> LinkAllowance {
        let isLocal = key.destination.map { route(of: $0) == .local } ?? false
        var allowance = LinkAllowance(level: .unknown, limit: 0, lowLimit: 0)
        allowance.maxConcurrency = key.destination.flatMap { policy.destinations[$0]?.maxConcurrency }
        allowance.limit = policy.fixedConcurrency ?? (isLocal ? policy.globalLimit : tuning.initial)
        allowance.uplink = uplink(of: key)
        let above = allowance.uplink.flatMap { links[$0]?.level } ?? .unknown
        if above > .good {
            allowance.limit = min(allowance.limit, max(policy[above].limit, 1))
            allowance.uplinkLimit = max(policy[above].limit, 1)
            for qos in QualityOfService.allCases where policy[above][qos].strictness >= PolicyVerb.pause.strictness {
                allowance.closed.insert(qos)
            }
        }
        allowance.lowLimit = allowance.limit
        return allowance
    }

    /// `background` may not begin there now.
    package func isOutOfHours(_ key: LinkKey) -> Bool {
        let hours = key.destination.flatMap { policy.destinations[$0]?.backgroundHours }
        return hours.map { !$0.contains(minute: minuteOfDay) } ?? false
    }

    /// It goes out; where a gate is closed it is the probe.
    package mutating func offered(_ id: CommandID, to key: LinkKey, now: MonotonicTime) {
        _ = touch(key, now: now)
        links[key]?.sent(id, now: now)
        links[key]?.circuitBreaker.offered(id, now: now)
        if let destination = key.destination { circuitBreakers[destination]?.offered(id, now: now) }
    }

    /// When the next probe may go to a destination; nil where none is needed, or one is under way.
    package func nextProbe(of key: LinkKey) -> MonotonicTime? {
        guard links[key]?.isForcedOffline != true else { return nil }
        // Where both hold commands back, the later lets the probe out.
        return [links[key]?.circuitBreaker.nextProbe, key.destination.flatMap { circuitBreakers[$0]?.nextProbe }]
            .compactMap { $0 }.max()
    }

    /// Ends transfers of low QoS because a higher class needs their slots.
    /// - Parameter ids: of transfers that may be cut.
    package mutating func preempt(_ ids: [CommandID], reason: String, now: MonotonicTime) -> NetworkDecisions? {
        let new = ids.filter { orders[$0] == nil && transfers[$0] != nil }
        guard !new.isEmpty else { return nil }
        order(new, .cut, reason, nil, now: now)
        return decide(now: now)
    }

    /// Transfers of low QoS that run and may be cut for a slot, in the order in which they are: such as go on from where they
    /// were. What was cut already is not among them.
    /// - Parameter destination: nil for all.
    package func preemptible(at destination: Destination? = nil) -> [TransferSample] {
        let samples = transfers.values.lazy.map(\.sample).filter { sample in
            (destination == nil || sample.destination == destination) && sample.isResumable
        }
        return PreemptionPlanner.victims(samples.filter { orders[$0.id] == nil })
    }

    /// Cuts that have not taken effect yet.
    /// - Parameter destination: nil for all.
    package func pendingCuts(at destination: Destination? = nil) -> Int {
        orders.values.count { order in
            order.verb == .cut && (destination == nil || transfers[order.id]?.sample.destination == destination)
        }
    }

    // MARK: Time

    /// Takes in what was reported since the last tick. Call it 4 times a second. It looks at the links that have transfers or
    /// had some lately, at those on which something has happened, and at some of the others in turn.
    package mutating func tick(now: MonotonicTime) -> NetworkDecisions {
        if let lastTick, now - lastTick > Self.longestTick {
            for key in links.keys { links[key]?.meter = LinkIntervalBuilder(now: now) }
        }
        lastTick = now
        for (worker, track) in workers where now - track.at > Self.workerTimeout * 10 { workerLost(worker) }
        arrivals = arrivals.filter { now - $0.value.at < Self.arrivalTimeout }
        refreshViews(now: now)
        for key in views.keys { restless[key] = now + Self.restlessTime }
        var keys = touched.union(ring.next(Self.idleLinksPerTick))
        for (key, until) in restless {
            if until < now { restless[key] = nil } else { keys.insert(key) }
        }
        touched = []
        for key in keys { if let uplink = uplink(of: key) { keys.insert(uplink) } }
        examined = Self.ordered(keys.filter { links[$0] != nil })
        let members = uplinkMembers()
        for key in examined { advance(key, members, now: now) }
        var decisions = decide(examined.filter { links[$0] != nil }, now: now)
        decisions.forgotten = forgotten
        forgotten = []
        return decisions
    }

    private mutating func advance(_ key: LinkKey, _ members: [LinkKey: Members], now: MonotonicTime) {
        guard var link = links.removeValue(forKey: key) else { return }
        let view = views[key] ?? LinkSnapshot()
        link.follow(view, now: now)
        if !view.transfers.isEmpty || waiting[key] != nil { link.lastUsed = now }
        if now - link.lastUsed > Self.memory, isForgettable(link) {
            remove(key)
            for worker in workers.keys {
                for serviceClass in ServiceClass.allCases {
                    workers[worker]?.bytes[CounterKey(link: key, serviceClass: serviceClass)] = nil
                }
            }
            forgotten.append(key)
            return
        }
        if link.level == .unknown, link.circuitBreaker.isClosed, !isActive(key) {
            links[key] = link
            return
        }
        if link.circuitBreaker.tick(chance: jitter.chance(), now: now) == .closed { link.reopened(now: now) }
        let isAwaited = waits(key) { $0.serviceClass != .high }
        let tick = link.meter.close(view, isAwaited: isAwaited, baseRTT: link.estimator.baseRTT, now: now)
        if let tick {
            // Several destinations share an uplink, and all of them see a queue: so it is the uplink's, it is full, and more
            // transfers of one only take from the others. Left alone, each would climb to its highest, because its own share
            // rises with every step.
            let above = uplink(of: key).flatMap { members[$0] }
            link.observe(
                tick, highest: highest(link), mayRise: above.map { $0.count < 2 || !$0.areQueued } ?? true,
                mayFall: key.destination != nil || members[key]?.areHeldBack == true, now: now)
        }
        if !view.hasFlow { link.meter.idle(now: now) }
        if key.destination != nil, view.hasFlow {
            _ = link.circuitBreaker.silent(
                for: now - link.meter.lastBytes, srtt: view.medianRTT, chance: jitter.chance(), now: now)
        }
        links[key] = link
    }

    /// Removes a link and what was decided of it.
    mutating func remove(_ key: LinkKey) {
        links[key] = nil
        ring.remove(key)
        published[key] = nil
        rulings[key] = nil
        pacing[key] = nil
        waves[key] = nil
        pausedSince[key] = nil
        restless[key] = nil
    }

    /// It is well, or it was closed and nobody has asked for it since; what a person has closed stays.
    private func isForgettable(_ link: LinkController) -> Bool {
        guard !link.isForcedOffline else { return false }
        return !link.circuitBreaker.isClosed || link.level <= .good && published[link.key] ?? .unknown <= .good
    }

    func highest(_ link: LinkController) -> Int {
        let maxCount = link.key.destination.map { policy.destinations[$0]?.maxConcurrency ?? .max } ?? .max
        guard link.level != .offline else { return 1 }
        if let fixed = policy.fixedConcurrency { return min(fixed, maxCount) }
        if (link.key.destination == nil || link.isFixed) && link.level <= .good {
            return min(policy.globalLimit, maxCount)
        }
        return min(policy[link.level].limit, maxCount)
    }

    /// Destinations behind one uplink that have something to do.
    private struct Members {
        var count = 0
        /// The transfers of each wait in a queue.
        var areQueued = true
        /// Or they lose packets: the uplink may be what holds them back.
        var areHeldBack = true
    }

    private func uplinkMembers() -> [LinkKey: Members] {
        var members: [LinkKey: Members] = [:]
        for (key, view) in views where !view.transfers.isEmpty {
            guard let link = links[key], let uplink = uplink(of: key) else { continue }
            members[uplink, default: Members()].count += 1
            if !link.hasQueue { members[uplink]?.areQueued = false }
            if !link.hasQueue, link.lastTick.loss < 0.01 { members[uplink]?.areHeldBack = false }
        }
        return members
    }

    package func isActive(_ key: LinkKey) -> Bool { views[key]?.transfers.isEmpty == false || waiting[key] != nil }

    mutating func refreshViews(now: MonotonicTime) {
        views = [:]
        for transfer in transfers.values {
            guard let worker = workers[transfer.worker], now - worker.at <= Self.workerTimeout else { continue }
            let sample = transfer.sample
            let isAtMaxRate = links[sample.key]?.pace.isMaxRate(sample.qos, now: now) ?? false
            for key in chain(sample.key) {
                views[key, default: LinkSnapshot()].add(transfer, isAtMaxRate: isAtMaxRate, now: now)
            }
        }
    }

    /// It is in a worker's reports.
    package func isRunning(_ id: CommandID) -> Bool { transfers[id] != nil }
}
