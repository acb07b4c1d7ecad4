package import Commands
package import Host

/// One link: what it carries, how many transfers it should have, its level, and whether it can be used. Pure.
package struct LinkController: Sendable {
    package let key: LinkKey
    package private(set) var estimator = GoodputEstimator()
    package private(set) var concurrency: ConcurrencyController
    /// How many requests the server takes at once.
    package private(set) var pushback = PushbackLimit()
    package private(set) var judge: LevelJudge
    package var circuitBreaker = LinkCircuitBreaker()
    package private(set) var isForcedOffline = false
    /// The destination has answered, or taken bytes.
    package var hasAnswered = false
    /// Its first try was stopped before an answer, so that others could be tried.
    var hasYielded = false
    package private(set) var lastInterval = LinkInterval()
    var planner = PreemptionPlanner()
    var paceOrigin = PaceOrigin()
    var intervalBuilder: LinkIntervalBuilder
    /// When it last had a transfer or a command that waits.
    var lastUsed: MonotonicTime
    /// Its limit is given and nothing is to be found out: no network lies between, or the policy says so.
    let isFixed: Bool
    private var forcedSince = MonotonicTime.zero
    /// Transfers whose receivers have closed their TCP windows, while no other has bytes to send.
    private var pausedByReceiver = 0

    /// How long a change is worth mentioning.
    private static let changeLifetime: Duration = .seconds(60)

    /// - Parameter isLocal: no network lies between: the limit is the policy's for all links together, until
    ///   the destination takes less.
    package init(
        key: LinkKey, policy: NetworkPolicy, tuning: ConcurrencyController.Tuning = .init(), isLocal: Bool = false,
        now: MonotonicTime
    ) {
        self.key = key
        let fixed = policy.fixedConcurrency ?? (isLocal ? policy.globalLimit : nil)
        isFixed = fixed != nil
        concurrency = ConcurrencyController(tuning: tuning, initial: fixed)
        judge = LevelJudge(thresholds: policy.thresholds, now: now)
        intervalBuilder = LinkIntervalBuilder(now: now)
        lastUsed = now
    }

    package var level: LinkLevel { isForcedOffline || !circuitBreaker.isClosed ? .offline : judge.level }

    /// Bytes per second to plan with: the estimate, or the reference of the last coordinator.
    package func capacity(now: MonotonicTime) -> Double? { estimator.estimate ?? estimator.reference(now: now) }

    /// The link is full: it carries four fifths of what its transfers should get, or nothing is known of it.
    /// Nothing is known of an uplink before all links that share it wait in a queue, and then it has an
    /// estimate.
    package func isSaturated(now: MonotonicTime) -> Bool {
        guard let estimate = estimator.estimate else { return key.destination != nil }
        let reference = estimator.reference(now: now) ?? estimate
        return lastInterval.rate >= 0.8 * min(estimate, reference)
    }

    /// Its transfers wait in a queue somewhere: the round trip is longer than the least one by a fifth of
    /// that, and by 10 ms.
    package var hasQueue: Bool {
        guard let delay = estimator.queueDelay(lastInterval), let base = estimator.baseRTT else { return false }
        return delay > max(.milliseconds(10), base / 5)
    }

    // MARK: Measurements

    /// Takes in an interval.
    /// - Parameters:
    ///   - maxLimit: what the policy allows at the present level.
    ///   - mayRise: false where the uplink above is full.
    ///   - mayFall: false for an uplink that holds no transfer back: it carries less because of the
    ///     destinations behind it, or because there is no more to send.
    package mutating func observe(
        _ interval: LinkInterval, maxLimit: Int, mayRise: Bool = true, mayFall: Bool = true, now: MonotonicTime
    ) {
        defer { lastInterval = interval }
        if !mayFall, interval.stalled == 0, interval.rate < estimator.estimate ?? .infinity {
            judge.presume(interval, now: now)
            return
        }
        let queueDelay = estimator.queueDelay(interval)
        let expected = estimator.expected(flows: judgedFlows(interval, maxLimit: maxLimit), now: now)
        let before = estimator.estimate
        estimator.add(interval, now: now)
        let server = serverLimit
        if isFixed && min(concurrency.limit, server) >= maxLimit && judge.level <= .good {
            // Its bytes show that it works, and its rate says nothing against it.
            judge.presume(interval, now: now)
            return
        }
        judge.add(
            interval, estimate: estimator.estimate ?? before,
            expected: concurrency.excuses(interval) ? nil : expected, queueDelay: queueDelay, now: now)
        let isQueueLong = queueDelay.map { $0 > judge.maxQueueDelay } ?? false
        let change = concurrency.add(
            interval, maxLimit: min(maxLimit, server), baseRTT: estimator.baseRTT,
            isLossy: interval.isLossy(queueDelay: queueDelay), mayRise: mayRise && !isQueueLong, now: now)
        if case .demand = change { estimator.forgetReference() }
        if interval.failed >= 2, interval.failed > interval.completed { concurrency.backOff() }
    }

    /// The number of transfers by whose share an interval is judged. On a link that got worse, the limit fell
    /// with the goodput. While commands wait, the number is lower because of the limit alone: 5 of 50 Mbit/s
    /// are not a recovery just because one transfer has all of it.
    private func judgedFlows(_ interval: LinkInterval, maxLimit: Int) -> Int {
        let isOurs =
            judge.level > .good && interval.isAwaited && !interval.isSteered && !interval.isAtMaxRate
            && !interval.hasHigh
        let flows = interval.flowing > 0 ? interval.flowing : interval.maxInFlight
        return isOurs ? max(flows, maxLimit) : flows
    }

    /// The link answers again.
    package mutating func reopened(now: MonotonicTime) {
        concurrency.resume()
        judge.reset(now: now)
        intervalBuilder.idle(now: now)
    }

    /// The packets take another route: what was measured was another link.
    package mutating func rerouted(now: MonotonicTime) {
        estimator = GoodputEstimator()
        concurrency.restart()
        pushback.restart()
        judge.reset(now: now)
        intervalBuilder = LinkIntervalBuilder(now: now)
    }

    /// Takes in the transfers that run: those that have made progress for long enough count as accepted, and
    /// some are paused by their receivers.
    mutating func follow(_ snapshot: LinkSnapshot, now: MonotonicTime) {
        pausedByReceiver = snapshot.hasFlow ? 0 : snapshot.heldByReceiver
        pushback.retain(Set(snapshot.transfers.map(\.id)))
        pushback.creditUnrefused(now: now)
        for id in snapshot.accepted {
            accepted(id, inFlight: max(pushback.inFlight, 1), hasEnded: false, now: now)
        }
    }

    // MARK: Push-back

    /// Transfers of middle and low quality that may run: what the link carries and the server takes.
    package var limit: Int { min(concurrency.limit, serverLimit) }

    /// The limit of the server, once it has refused more than one request. Before that it does not hold the
    /// climb back: ``PushbackLimit/limit`` bounds what is admitted anyway, and doubles in a round.
    private var serverLimit: Int { pushback.isConfirmed ? pushback.limit : .max }

    /// A request goes out.
    package mutating func sent(_ id: CommandID, now: MonotonicTime) { pushback.sent(id, now: now) }

    /// The server answered a request, or a request has made progress for a second.
    /// - Parameter inFlight: requests of all classes at the destination, this one included.
    package mutating func accepted(_ id: CommandID, inFlight: Int, hasEnded: Bool = true, now: MonotonicTime) {
        pushback.accepted(id, inFlight: inFlight, hasEnded: hasEnded, now: now)
    }

    /// The server refused a request because of the number of requests, or says so (429, 503).
    package mutating func refused(_ id: CommandID, inFlight: Int, now: MonotonicTime) {
        pushback.refused(id, inFlight: inFlight, now: now)
    }

    /// A request ended in a way that says nothing of the number.
    package mutating func ended(_ id: CommandID) { pushback.ended(id) }

    // MARK: Settings of a person, records of the last coordinator

    package mutating func force(offline: Bool, now: MonotonicTime) {
        guard offline != isForcedOffline else { return }
        isForcedOffline = offline
        forcedSince = now
        if !offline { circuitBreaker.routeFound(now: now) }
    }

    /// A record for the next coordinator; nil while nothing is worth it.
    package func history(now: MonotonicTime) -> LinkHistory? {
        let reference = estimator.reference(now: now)
        guard reference != nil || !circuitBreaker.isClosed else { return nil }
        return LinkHistory(
            reference: reference ?? 0, flows: estimator.referenceFlows(now: now), limit: concurrency.limit,
            offline: circuitBreaker.isClosed ? nil : circuitBreaker.reason)
    }

    package mutating func restore(_ history: LinkHistory, now: MonotonicTime) {
        hasAnswered = hasAnswered || history.reference > 0 && history.offline == nil
        if history.reference > 0 { estimator.restore(reference: history.reference, flows: history.flows, now: now) }
        concurrency.restore(limit: history.limit)
        pushback.restore(limit: history.limit)
        // Only the kernel takes an uplink offline, and it reports to each coordinator anew.
        if let reason = history.offline, key.destination != nil, !hasAnswered {
            circuitBreaker = LinkCircuitBreaker(openFor: reason, now: now)
        }
        if let level = history.level {
            judge.restore(level, reason: history.reason ?? LinkReason(.unmeasured), now: now)
        }
    }

    // MARK: Reasons

    /// Why the level is what it is, since when, and what lifts it.
    func explanation(now: MonotonicTime) -> (reason: LinkReason, since: MonotonicTime, remedy: LinkRemedy?) {
        if isForcedOffline { return (LinkReason(.override), forcedSince, LinkRemedy(.override)) }
        if !circuitBreaker.isClosed {
            return (circuitBreaker.reason ?? LinkReason(.unmeasured), circuitBreaker.since, LinkRemedy(.probe))
        }
        if pausedByReceiver > 0, judge.level <= .good { return (.receiver(count: pausedByReceiver), judge.since, nil) }
        if isFixed, judge.level <= .good {
            var reason = LinkReason(.fixed)
            reason.count = concurrency.limit
            return (reason, judge.since, nil)
        }
        return (judge.reason, judge.since, judge.remedy)
    }

    /// Why it has carried another amount lately, where that is not the link itself.
    func recentChange(now: MonotonicTime) -> LinkReason? {
        guard let (change, at) = concurrency.lastChange, now - at < Self.changeLifetime else { return nil }
        return change.reason
    }
}

/// A record of a link for the next coordinator, which can then tell a degraded link from one that was always
/// slow. It is stored when a level changes and once a minute.
package struct LinkHistory: Sendable, Equatable {
    /// Bytes per second, and the smallest number of transfers that carried them.
    package var reference: Double
    package var flows: Int
    package var limit: Int
    /// Why the link is offline; nil where it is not.
    package var offline: LinkReason?
    /// The level and its reason, where they are not old.
    package var level: LinkLevel?
    package var reason: LinkReason?

    package init(reference: Double, flows: Int, limit: Int, offline: LinkReason? = nil) {
        self.reference = reference
        self.flows = flows
        self.limit = limit
        self.offline = offline
    }
}

/// The origin of the pace of each quality on one link: a person's `maxRate`, or a decision of the controller.
/// Workers report that a transfer waited for its pace; only the coordinator knows which pace it sent. Pure.
struct PaceOrigin: Sendable {
    /// Since when `maxRate` is below every other pace, by quality.
    private var maxRateSince: [QualityOfService: MonotonicTime] = [:]

    /// A worker's report may still be about the pace before: two reports.
    private static let reportDelay: Duration = .milliseconds(500)

    mutating func set(_ qos: QualityOfService, isMaxRate: Bool, now: MonotonicTime) {
        if !isMaxRate { maxRateSince[qos] = nil } else if maxRateSince[qos] == nil { maxRateSince[qos] = now }
    }

    /// Whether transfers of this quality waited for a person's `maxRate`, according to their last report.
    func isMaxRate(_ qos: QualityOfService, now: MonotonicTime) -> Bool {
        maxRateSince[qos].map { now - $0 >= Self.reportDelay } ?? false
    }
}
