internal import Commands
package import Host

/// The level of a link, with hysteresis. Pure.
///
/// A worse level is entered after a second of evidence, from good to poor in one step if all of the evidence
/// is for poor. A better level takes three seconds at 1.3 times the threshold, one level at a time. Intervals
/// without evidence change nothing; after a minute of them the level is unknown. ``LinkCircuitBreaker``
/// decides on `offline`, not this type.
package struct LevelJudge: Sendable {
    package private(set) var level = LinkLevel.unknown
    /// The measure and the threshold by which the level was judged.
    @Indirect package private(set) var reason = LinkReason(.unmeasured)
    /// When the level was entered.
    package private(set) var since: MonotonicTime
    private var thresholds: LevelThresholds
    private var lastEvidence: MonotonicTime
    /// How long the evidence is for a worse level, the mildest level that it was for, and the last of it.
    private var worseFor = Duration.zero
    /// How long it was silent between such evidence.
    private var silentFor = Duration.zero
    private var mildest = LinkLevel.offline
    @Indirect private var worseReason = LinkReason(.unmeasured)
    private var betterFor = Duration.zero
    /// Share of executions that failed for the link: an average, half of it of the last 8.
    private var errors = 0.0
    private var recentFailures = 0

    /// After a longer gap, evidence counts anew.
    private static let maxGap: Duration = .seconds(2)

    package init(thresholds: LevelThresholds = LevelThresholds(), now: MonotonicTime) {
        self.thresholds = thresholds
        since = now
        lastEvidence = now
    }

    /// Beyond this delay more transfers only lengthen the queue.
    package var maxQueueDelay: Duration { thresholds.degradedQueue }

    /// The condition that lifts the level; nil where it holds nothing back.
    package var remedy: LinkRemedy? {
        guard level > .good else { return nil }
        var threshold = reason.threshold
        switch reason.rule {
        case .goodput: threshold = threshold.map { $0 * thresholds.leaveFactor }
        case .errors, .roundTrip, .queue: threshold = threshold.map { $0 / thresholds.leaveFactor }
        default: break
        }
        return LinkRemedy(reason.rule, threshold: threshold, for: thresholds.leaveAfter)
    }

    /// Takes in an interval.
    /// - Parameter expected: what its transfers should carry by the reference; nil before there is one.
    package mutating func add(
        _ interval: LinkInterval, estimate: Double?, expected: Double?, queueDelay: Duration?, now: MonotonicTime
    ) {
        count(interval)
        let entering = candidate(interval, rate: interval.rate, expected: expected, queueDelay: queueDelay, factor: 1)
        guard let entering else {
            // Silence between bad intervals counts as bad, at most for as long as those lasted.
            if interval.flowing > 0, interval.rate == 0, worseFor > .zero {
                silentFor += interval.duration
                worsen(now: now)
            }
            if now - lastEvidence > thresholds.unknownAfter { become(.unknown, LinkReason(.unmeasured), now: now) }
            return
        }
        if now - lastEvidence > Self.maxGap { startOver() }
        lastEvidence = now
        if level == .unknown && entering.level == .good { become(.good, entering.reason, now: now) }
        if entering.level > max(level, .good) {
            betterFor = .zero
            mildest = min(mildest, entering.level)
            worseReason = entering.reason
            worseFor += interval.duration
            worsen(now: now)
            return
        }
        worseFor = .zero
        silentFor = .zero
        mildest = .offline
        let rate = interval.flowing > 0 ? min(interval.rate, estimate ?? interval.rate) : interval.rate
        let leaving = candidate(
            interval, rate: rate, expected: expected, queueDelay: queueDelay, factor: thresholds.leaveFactor)
        guard let leaving, leaving.level < level else {
            betterFor = .zero
            reason = entering.level == level ? entering.reason : leaving?.reason ?? reason
            return
        }
        if level == .good { return }
        betterFor += interval.duration
        if betterFor >= thresholds.leaveAfter, let better = LinkLevel(rawValue: level.rawValue - 1) {
            become(better, leaving.reason, now: now)
        }
    }

    /// Takes in an interval that says nothing against the link. If nothing else was known for a minute, the
    /// link is good while bytes flow, and unknown otherwise.
    package mutating func presume(_ interval: LinkInterval, now: MonotonicTime) {
        guard level == .unknown || now - lastEvidence > thresholds.unknownAfter else { return }
        if interval.rate > 0 {
            become(.good, LinkReason(.unloaded, measured: interval.rate), now: now)
            lastEvidence = now
        } else if interval.flowing == 0, level != .unknown {
            become(.unknown, LinkReason(.unmeasured), now: now)
        }
    }

    /// The link was offline and is back: nothing is known of it.
    package mutating func reset(now: MonotonicTime) {
        errors = 0
        recentFailures = 0
        become(.unknown, LinkReason(.unmeasured), now: now)
    }

    /// Takes another coordinator's level until there is evidence.
    package mutating func restore(_ level: LinkLevel, reason: LinkReason, now: MonotonicTime) {
        guard self.level == .unknown, level < .offline else { return }
        become(level, reason, now: now)
        lastEvidence = now
    }

    private mutating func become(_ level: LinkLevel, _ reason: LinkReason, now: MonotonicTime) {
        if level != self.level { since = now }
        self.level = level
        self.reason = reason
        startOver()
    }

    private mutating func worsen(now: MonotonicTime) {
        if worseFor + min(silentFor, worseFor) >= thresholds.enterAfter {
            become(mildest, worseReason, now: now)
        }
    }

    private mutating func startOver() {
        worseFor = .zero
        silentFor = .zero
        betterFor = .zero
        mildest = .offline
    }

    private mutating func count(_ interval: LinkInterval) {
        for _ in 0..<min(interval.failed, 64) { errors += (1 - errors) * 0.083 }
        for _ in 0..<min(interval.completed, 64) { errors -= errors * 0.083 }
        recentFailures = interval.completed > 0 && interval.failed == 0 ? 0 : recentFailures + interval.failed
    }

    /// The level that an interval is evidence for; nil where it says nothing.
    private func candidate(
        _ interval: LinkInterval, rate: Double, expected: Double?, queueDelay: Duration?, factor: Double
    ) -> (level: LinkLevel, reason: LinkReason)? {
        // A link that carries what it can is shared by too many transfers, or a server fails: that says
        // nothing of the link.
        let isFull = interval.flowing > 0 && rate >= expected.map { 0.8 * $0 } ?? .infinity
        // A single failure is a retry, not a signal.
        if recentFailures >= 2, !isFull, interval.failed + interval.completed > 0 || interval.flowing > 0,
            errors >= thresholds.degradedErrors / factor
        {
            let isPoor = errors >= thresholds.poorErrors / factor
            let threshold = isPoor ? thresholds.poorErrors : thresholds.degradedErrors
            return (isPoor ? .poor : .degraded, .errors(share: errors, threshold: threshold))
        }
        guard interval.flowing > 0 else {
            return latency(interval, factor: factor) ?? paused(interval)
                ?? shortTransfers(interval, expected: expected, factor: factor)
        }
        // The circuit breaker judges silence: a short one means nothing.
        guard interval.rate > 0 else { return nil }
        if Double(interval.stalled) >= thresholds.poorStalls * Double(interval.flowing) && interval.stalled > 0, !isFull
        {
            return (
                .poor, .stalled(count: interval.stalled, of: interval.flowing, threshold: thresholds.poorStalls)
            )
        }
        let poor = Double(thresholds.poorRate)
        if rate < poor * factor { return (.poor, .goodput(measured: rate, threshold: poor, usual: nil)) }
        let expected = interval.isLossy(queueDelay: queueDelay) ? nil : expected
        let share = (expected ?? 0) * thresholds.degradedShare
        // Without a queue, the peers keep a few transfers slow and not the link; more transfers help.
        let isUnqueued = queueDelay.map { $0 <= max(.milliseconds(10), (interval.minRTT ?? .zero) / 5) } ?? false
        let fixed = level <= .good && isUnqueued ? 0 : Double(thresholds.degradedRate)
        if rate < max(share, fixed) * factor {
            return (
                .degraded,
                .goodput(measured: rate, threshold: max(share, fixed), usual: share > fixed ? expected : nil)
            )
        }
        let queue = thresholds.degradedQueue
        if let queueDelay, let expected, queueDelay > queue / factor, rate < 0.8 * expected {
            return (.degraded, .queue(measured: queueDelay, threshold: queue))
        }
        return (.good, .goodput(measured: rate, threshold: max(share, fixed), usual: expected))
    }

    /// Transfers that each end within an interval: the link carries at least what they carried, so they are
    /// evidence for a better level or for none. Without this, the few fast transfers that a worse level
    /// admits would never lift it, and a link that carries only such ones would stay unknown.
    private func shortTransfers(
        _ interval: LinkInterval, expected: Double?, factor: Double
    ) -> (level: LinkLevel, reason: LinkReason)? {
        guard level != .good, interval.completed > 0 else { return nil }
        let usual = max((expected ?? 0) * thresholds.degradedShare, Double(thresholds.degradedRate))
        if interval.rate >= usual * factor {
            return (.good, .goodput(measured: interval.rate, threshold: usual, usual: expected))
        }
        let poor = Double(thresholds.poorRate)
        guard level == .poor, interval.rate >= poor * factor else { return nil }
        return (.degraded, .goodput(measured: interval.rate, threshold: poor, usual: nil))
    }

    /// A closed TCP window says nothing against the link. For the link it says only that window probes are
    /// answered.
    private func paused(_ interval: LinkInterval) -> (level: LinkLevel, reason: LinkReason)? {
        interval.heldByReceiver > 0 && level <= .good ? (.good, .receiver(count: interval.heldByReceiver)) : nil
    }

    /// Small requests show the network only by their round trip; the first byte depends on the server.
    private func latency(_ interval: LinkInterval, factor: Double) -> (level: LinkLevel, reason: LinkReason)? {
        guard let srtt = interval.srtt else { return nil }
        let poor = thresholds.poorRoundTrip
        let degraded = thresholds.degradedRoundTrip
        if srtt > poor / factor { return (.poor, .roundTrip(measured: srtt, threshold: poor)) }
        if srtt > degraded / factor { return (.degraded, .roundTrip(measured: srtt, threshold: degraded)) }
        guard level <= .good, let first = interval.timeToFirstByte, first > poor else { return nil }
        return (.good, .slowServer(timeToFirstByte: first, srtt: srtt))
    }
}
