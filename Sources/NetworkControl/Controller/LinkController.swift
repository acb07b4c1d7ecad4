package import Commands
package import Host

/// One link: what it carries, how many transfers it should have, its level, and whether it is there. Pure.
package struct LinkController: Sendable {
    package let key: LinkKey
    package private(set) var estimator = GoodputEstimator()
    package private(set) var concurrency: ConcurrencyController
    /// What the server takes at once.
    package private(set) var pushback = PushbackLimit()
    package private(set) var judge: LevelJudge
    package var circuitBreaker = LinkCircuitBreaker()
    package var isForcedOffline = false
    /// The destination has answered, or taken bytes.
    package var hasAnswered = false
    package private(set) var lastTick = LinkInterval()
    var planner = PreemptionPlanner()
    var pace = PaceOrigin()
    var meter: LinkIntervalBuilder
    /// When it last had a transfer or a command that waits.
    var lastUsed: MonotonicTime
    /// Its limit is given and there is nothing to find out: no network lies between, or the policy says so.
    let isFixed: Bool
    private var forcedSince = MonotonicTime.zero
    /// Transfers whose receivers have closed their TCP windows, where no other has bytes to send.
    private var pausedByReceiver = 0

    /// How long a change is worth a word.
    private static let recent: Duration = .seconds(60)

    /// - Parameter isLocal: no network lies between: the limit is what the policy allows to all together, until the
    ///   destination wants less.
    package init(
        key: LinkKey, policy: NetworkPolicy, tuning: ConcurrencyController.Tuning = .init(), isLocal: Bool = false,
        now: MonotonicTime
    ) {
        self.key = key
        let fixed = policy.fixedConcurrency ?? (isLocal ? policy.globalLimit : nil)
        isFixed = fixed != nil
        concurrency = ConcurrencyController(tuning: tuning, initial: fixed)
        judge = LevelJudge(thresholds: policy.thresholds, now: now)
        meter = LinkIntervalBuilder(now: now)
        lastUsed = now
    }

    package var level: LinkLevel { isForcedOffline || !circuitBreaker.isClosed ? .offline : judge.level }

    /// Bytes per second to plan with: the estimate, or the reference of the last coordinator.
    package func capacity(now: MonotonicTime) -> Double? { estimator.estimate ?? estimator.reference(now: now) }

    /// The link is full: it carries four fifths of what its transfers should get, or nothing is known of it. Of an uplink
    /// nothing is known before all that share it wait in a queue, and then it has an estimate.
    package func isSaturated(now: MonotonicTime) -> Bool {
        guard let estimate = estimator.estimate else { return key.destination != nil }
        let reference = estimator.reference(now: now) ?? estimate
        return lastTick.rate >= 0.8 * min(estimate, reference)
    }

    /// Its transfers wait in a queue somewhere: a fifth of the round trip longer than the least, and 10 ms.
    package var hasQueue: Bool {
        guard let delay = estimator.queueDelay(lastTick), let base = estimator.baseRTT else { return false }
        return delay > max(.milliseconds(10), base / 5)
    }

    /// Takes a tick in.
    /// - Parameters:
    ///   - highest: what the policy allows at the present level.
    ///   - mayRise: false where the uplink above is full.
    ///   - mayFall: false for an uplink that holds nobody back: that it carries less is the doing of the destinations behind
    ///     it, or nobody has more to send.
    package mutating func observe(
        _ tick: LinkInterval, highest: Int, mayRise: Bool = true, mayFall: Bool = true, now: MonotonicTime
    ) {
        if !mayFall, tick.stalled == 0, tick.rate < estimator.estimate ?? .infinity {
            judge.presume(tick, now: now)
            lastTick = tick
            return
        }
        let queueDelay = estimator.queueDelay(tick)
        let expected = estimator.expected(flows: judgedFlows(tick, highest: highest), now: now)
        let before = estimator.estimate
        estimator.add(tick, now: now)
        let server = serverLimit
        if isFixed && min(concurrency.limit, server) >= highest && judge.level <= .good {
            lastTick = tick
            return
        }
        judge.add(
            tick, estimate: estimator.estimate ?? before, expected: concurrency.excuses(tick) ? nil : expected,
            queueDelay: queueDelay, now: now)
        let isQueueLong = queueDelay.map { $0 > judge.maxQueueDelay } ?? false
        let change = concurrency.add(
            tick, highest: min(highest, server), baseRTT: estimator.baseRTT,
            isLossy: tick.isLossy(queueDelay: queueDelay), mayRise: mayRise && !isQueueLong, now: now)
        if case .demand = change { estimator.forgetReference() }
        if tick.failed >= 2, tick.failed > tick.completed { concurrency.backOff() }
        lastTick = tick
    }

    /// The transfers by whose share a tick is judged. On a link that got worse the limit went down with the goodput: where
    /// others wait, fewer are our own doing, and 5 of 50 Mbit/s is no more of a recovery because one transfer has it all.
    private func judgedFlows(_ tick: LinkInterval, highest: Int) -> Int {
        let isOurs =
            judge.level > .good && tick.isAwaited && !tick.isSteered && !tick.isAtMaxRate && !tick.hasHigh
        let flows = tick.flowing > 0 ? tick.flowing : tick.maxInFlight
        return isOurs ? max(flows, highest) : flows
    }

    /// The link answers again.
    package mutating func reopened(now: MonotonicTime) {
        concurrency.resume()
        judge.reset(now: now)
        meter.idle(now: now)
    }

    /// The packets take another way: what was measured was of another link.
    package mutating func rerouted(now: MonotonicTime) {
        estimator = GoodputEstimator()
        concurrency.restart()
        pushback.restart()
        judge.reset(now: now)
        meter = LinkIntervalBuilder(now: now)
    }

    // MARK: Push-back

    /// Transfers of middle and low quality that may run: what the link carries and the server takes.
    package var limit: Int { min(concurrency.limit, serverLimit) }

    /// What the server takes, where it has refused more than once. Before that it holds no climb back: what is admitted is
    /// bounded by ``PushbackLimit/limit`` all the same, which doubles in a round.
    private var serverLimit: Int { pushback.isConfirmed ? pushback.limit : .max }

    /// A request goes out.
    package mutating func sent(_ id: CommandID, now: MonotonicTime) { pushback.sent(id, now: now) }

    /// The server answered a request, or a request has made progress for a second.
    /// - Parameter inFlight: requests of all classes at the destination, this one included.
    package mutating func accepted(_ id: CommandID, inFlight: Int, hasEnded: Bool = true, now: MonotonicTime) {
        pushback.accepted(id, inFlight: inFlight, hasEnded: hasEnded, now: now)
    }

    /// The server refused a request for the number of them, or so it says (429, 503).
    package mutating func refused(_ id: CommandID, inFlight: Int, now: MonotonicTime) {
        pushback.refused(id, inFlight: inFlight, now: now)
    }

    /// A request ended, and that says nothing of the number.
    package mutating func ended(_ id: CommandID) { pushback.ended(id) }

    /// Takes in what runs: which transfers have made progress for long enough to count as accepted, and which the
    /// receiver pauses.
    mutating func follow(_ view: LinkSnapshot, now: MonotonicTime) {
        pausedByReceiver = view.hasFlow ? 0 : view.heldByReceiver
        pushback.keep(Set(view.transfers.map(\.id)))
        pushback.outlast(now: now)
        for id in view.accepted {
            accepted(id, inFlight: max(pushback.inFlight, 1), hasEnded: false, now: now)
        }
    }

    package mutating func force(offline: Bool, now: MonotonicTime) {
        guard offline != isForcedOffline else { return }
        isForcedOffline = offline
        forcedSince = now
        if !offline { circuitBreaker.routeFound(now: now) }
    }

    package func memory(now: MonotonicTime) -> LinkHistory? {
        guard let reference = estimator.reference(now: now) else {
            return circuitBreaker.isClosed
                ? nil : LinkHistory(reference: 0, flows: 1, limit: concurrency.limit, offline: circuitBreaker.reason)
        }
        return LinkHistory(
            reference: reference, flows: estimator.referenceFlows(now: now), limit: concurrency.limit,
            offline: circuitBreaker.isClosed ? nil : circuitBreaker.reason)
    }

    package mutating func restore(_ memory: LinkHistory, now: MonotonicTime) {
        if memory.reference > 0 { estimator.restore(reference: memory.reference, flows: memory.flows, now: now) }
        concurrency.restore(limit: memory.limit)
        pushback.restore(limit: memory.limit)
        // An uplink is closed by the kernel's word alone, which it has for each coordinator anew.
        if let reason = memory.offline, key.destination != nil {
            circuitBreaker = LinkCircuitBreaker(openFor: reason, now: now)
        }
        if let level = memory.level { judge.restore(level, reason: memory.reason ?? "as it was", now: now) }
    }

    /// Why the level is what it is, since when, and what will lift it.
    package func explanation(now: MonotonicTime) -> (reason: String, remedy: String?, since: MonotonicTime) {
        if isForcedOffline {
            return ("set offline by a person", "sluice network set \(key.name) --level auto", forcedSince)
        }
        if !circuitBreaker.isClosed {
            let isProbing = circuitBreaker.nextProbe == nil
            return (
                circuitBreaker.reason ?? "offline", "a probe that succeeds" + (isProbing ? "; one is under way" : ""),
                circuitBreaker.since
            )
        }
        if pausedByReceiver > 0, judge.level <= .good {
            return (LevelEvidence.receiver(count: pausedByReceiver).sentence, nil, judge.since)
        }
        if isFixed, judge.level == .unknown {
            return ("so many transfers as were set or this machine takes, whatever the goodput", nil, judge.since)
        }
        return (judge.evidence.sentence + changed(now: now), judge.remedy, judge.since)
    }

    /// What lately made it carry another amount, where that is not the link itself.
    private func changed(now: MonotonicTime) -> String {
        guard let (change, at) = concurrency.lastChange, now - at < Self.recent, let sentence = change.sentence
        else { return "" }
        return "; since \(MeasureText.time(now - at)) \(sentence)"
    }
}
