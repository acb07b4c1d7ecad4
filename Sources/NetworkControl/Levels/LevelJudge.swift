internal import Commands
package import Host

/// The level of a link, with hysteresis. Pure.
///
/// A worse level is entered after a second of evidence, from good to poor in one step where all of it says so. A better one
/// takes three seconds and 1.3 times the threshold, one level at a time. Ticks without evidence change nothing; after a
/// minute of them the level is unknown. Offline is not judged here but by ``LinkCircuitBreaker``.
package struct LevelJudge: Sendable {
    package private(set) var level = LinkLevel.unknown
    package private(set) var evidence = LevelEvidence.none
    /// When the level was entered.
    package private(set) var since: MonotonicTime
    private var thresholds: LevelThresholds
    private var lastEvidence: MonotonicTime
    /// Time of evidence for a worse level, the mildest of what it was for, and the last of it.
    private var worseFor = Duration.zero
    /// Time of silence in the middle of it.
    private var silentFor = Duration.zero
    private var mildest = LinkLevel.offline
    private var worseEvidence = LevelEvidence.none
    private var betterFor = Duration.zero
    /// Share of ends that failed for the link, half of it of the last 8.
    private var errors = 0.0
    private var recentFailures = 0

    /// Evidence this long ago begins anew.
    private static let gap: Duration = .seconds(2)

    package init(thresholds: LevelThresholds = LevelThresholds(), now: MonotonicTime) {
        self.thresholds = thresholds
        since = now
        lastEvidence = now
    }

    /// Delay in a queue beyond which more transfers only lengthen it.
    package var maxQueueDelay: Duration { thresholds.degradedQueue }

    /// What will lift the level; nil where it holds nobody back.
    package var remedy: String? {
        guard level > .good else { return nil }
        let time = MeasureText.time(thresholds.leaveAfter)
        switch evidence {
        case .goodput(_, let threshold, _):
            return "\(MeasureText.rate(threshold * thresholds.leaveFactor)) for \(time)"
        case .stalled(_, _, let threshold):
            return "progress of all but less than \(MeasureText.percent(threshold)) for \(time)"
        case .errors(_, let threshold):
            return "fewer than \(MeasureText.percent(threshold / thresholds.leaveFactor)) of failures for \(time)"
        case .roundTrip(_, let threshold), .queue(_, let threshold):
            return "less than \(MeasureText.time(threshold / thresholds.leaveFactor)) for \(time)"
        case .none, .slowServer, .receiver, .unloaded, .recalled: return "better measurements for \(time)"
        }
    }

    /// Takes a tick in.
    /// - Parameters:
    ///   - expected: what the transfers of the tick should carry, by the reference; nil before there is one.
    package mutating func add(
        _ tick: LinkInterval, estimate: Double?, expected: Double?, queueDelay: Duration?, now: MonotonicTime
    ) {
        count(tick)
        let entering = candidate(tick, rate: tick.rate, expected: expected, queueDelay: queueDelay, factor: 1)
        guard let entering else {
            // A silence in the middle of what speaks for a worse level speaks for it too, but no louder than that.
            if tick.flowing > 0, tick.rate == 0, worseFor > .zero {
                silentFor += tick.duration
                worsen(now: now)
            }
            if now - lastEvidence > thresholds.unknownAfter { become(.unknown, .none, now: now) }
            return
        }
        if now - lastEvidence > Self.gap { startOver() }
        lastEvidence = now
        if level == .unknown && entering.level == .good { become(.good, entering.evidence, now: now) }
        if entering.level > max(level, .good) {
            betterFor = .zero
            mildest = min(mildest, entering.level)
            worseEvidence = entering.evidence
            worseFor += tick.duration
            worsen(now: now)
            return
        }
        worseFor = .zero
        silentFor = .zero
        mildest = .offline
        let rate = tick.flowing > 0 ? min(tick.rate, estimate ?? tick.rate) : tick.rate
        let leaving = candidate(
            tick, rate: rate, expected: expected, queueDelay: queueDelay, factor: thresholds.leaveFactor)
        guard let leaving, leaving.level < level else {
            betterFor = .zero
            evidence = entering.level == level ? entering.evidence : leaving?.evidence ?? evidence
            return
        }
        if level == .good { return }
        betterFor += tick.duration
        if betterFor >= thresholds.leaveAfter, let better = LinkLevel(rawValue: level.rawValue - 1) {
            become(better, leaving.evidence, now: now)
        }
    }

    /// Takes a tick in that says nothing against the link. Where nothing else is known, or has been for a minute, it is good if
    /// something flows, and unknown if nothing does.
    package mutating func presume(_ tick: LinkInterval, now: MonotonicTime) {
        guard level == .unknown || now - lastEvidence > thresholds.unknownAfter else { return }
        if tick.rate > 0 {
            become(.good, .unloaded(measured: tick.rate), now: now)
            lastEvidence = now
        } else if tick.flowing == 0, level != .unknown {
            become(.unknown, .none, now: now)
        }
    }

    /// The link was away and is back: nothing is known of it.
    package mutating func reset(now: MonotonicTime) {
        errors = 0
        recentFailures = 0
        become(.unknown, .none, now: now)
    }

    /// As another coordinator left it; the first evidence decides.
    package mutating func restore(_ level: LinkLevel, reason: String, now: MonotonicTime) {
        guard self.level == .unknown, level < .offline else { return }
        become(level, .recalled(reason), now: now)
        lastEvidence = now
    }

    private mutating func become(_ level: LinkLevel, _ evidence: LevelEvidence, now: MonotonicTime) {
        if level != self.level { since = now }
        self.level = level
        self.evidence = evidence
        startOver()
    }

    private mutating func worsen(now: MonotonicTime) {
        if worseFor + min(silentFor, worseFor) >= thresholds.enterAfter {
            become(mildest, worseEvidence, now: now)
        }
    }

    private mutating func startOver() {
        worseFor = .zero
        silentFor = .zero
        betterFor = .zero
        mildest = .offline
    }

    private mutating func count(_ tick: LinkInterval) {
        for _ in 0..<min(tick.failed, 64) { errors += (1 - errors) * 0.083 }
        for _ in 0..<min(tick.completed, 64) { errors -= errors * 0.083 }
        recentFailures = tick.completed > 0 && tick.failed == 0 ? 0 : recentFailures + tick.failed
    }

    /// The level that a tick speaks for; nil where it says nothing.
    private func candidate(
        _ tick: LinkInterval, rate: Double, expected: Double?, queueDelay: Duration?, factor: Double
    ) -> (level: LinkLevel, evidence: LevelEvidence)? {
        // Where it carries what it can, too many share it or a server misbehaves: no matter of the link.
        let isFull = tick.flowing > 0 && rate >= expected.map { 0.8 * $0 } ?? .infinity
        // A single failure is a retry and no signal.
        if recentFailures >= 2, !isFull, tick.failed + tick.completed > 0 || tick.flowing > 0,
            errors >= thresholds.degradedErrors / factor
        {
            let isPoor = errors >= thresholds.poorErrors / factor
            let threshold = isPoor ? thresholds.poorErrors : thresholds.degradedErrors
            return (isPoor ? .poor : .degraded, .errors(share: errors, threshold: threshold))
        }
        guard tick.flowing > 0 else {
            return latency(tick, factor: factor) ?? paused(tick)
                ?? passed(tick, expected: expected, factor: factor)
        }
        // Silence is for the probe to judge: where it is short, nothing has happened.
        guard tick.rate > 0 else { return nil }
        if Double(tick.stalled) >= thresholds.poorStalls * Double(tick.flowing) && tick.stalled > 0, !isFull {
            return (
                .poor, .stalled(count: tick.stalled, of: tick.flowing, threshold: thresholds.poorStalls)
            )
        }
        let poor = Double(thresholds.poorRate)
        if rate < poor * factor { return (.poor, .goodput(measured: rate, threshold: poor, reference: nil)) }
        let expected = tick.isLossy(queueDelay: queueDelay) ? nil : expected
        let share = (expected ?? 0) * thresholds.degradedShare
        // Without a queue it is not the link that keeps a few transfers slow, but each connection's peer; more of them help.
        let isUnqueued = queueDelay.map { $0 < max(.milliseconds(10), (tick.minRTT ?? .zero) / 5) } ?? false
        let fixed = level <= .good && isUnqueued ? 0 : Double(thresholds.degradedRate)
        if rate < max(share, fixed) * factor {
            return (
                .degraded,
                .goodput(measured: rate, threshold: max(share, fixed), reference: share > fixed ? expected : nil)
            )
        }
        let queue = thresholds.degradedQueue
        if let queueDelay, let expected, queueDelay > queue / factor, rate < 0.8 * expected {
            return (.degraded, .queue(measured: queueDelay, threshold: queue))
        }
        return (.good, .goodput(measured: rate, threshold: max(share, fixed), reference: expected))
    }

    /// Transfers that each end within a tick: what they carried is the least that the link can, so it speaks for a better level
    /// or not at all. Without it the few that a worse level lets through, once they are so quick, would never lift it.
    private func passed(
        _ tick: LinkInterval, expected: Double?, factor: Double
    ) -> (level: LinkLevel, evidence: LevelEvidence)? {
        guard level > .good, tick.completed > 0 else { return nil }
        let usual = max((expected ?? 0) * thresholds.degradedShare, Double(thresholds.degradedRate))
        if tick.rate >= usual * factor {
            return (.good, .goodput(measured: tick.rate, threshold: usual, reference: expected))
        }
        let poor = Double(thresholds.poorRate)
        guard level == .poor, tick.rate >= poor * factor else { return nil }
        return (.degraded, .goodput(measured: tick.rate, threshold: poor, reference: nil))
    }

    /// A closed TCP window says nothing against the link, and no more for it than that probes of the window are answered.
    private func paused(_ tick: LinkInterval) -> (level: LinkLevel, evidence: LevelEvidence)? {
        tick.heldByReceiver > 0 && level <= .good ? (.good, .receiver(count: tick.heldByReceiver)) : nil
    }

    /// Of small requests only the round trip says something of the network; the first byte is the server's.
    private func latency(_ tick: LinkInterval, factor: Double) -> (level: LinkLevel, evidence: LevelEvidence)? {
        guard let srtt = tick.srtt else { return nil }
        let poor = thresholds.poorRoundTrip
        let degraded = thresholds.degradedRoundTrip
        if srtt > poor / factor { return (.poor, .roundTrip(measured: srtt, threshold: poor)) }
        if srtt > degraded / factor { return (.degraded, .roundTrip(measured: srtt, threshold: degraded)) }
        guard level <= .good, let first = tick.timeToFirstByte, first > poor else { return nil }
        return (.good, .slowServer(timeToFirstByte: first, srtt: srtt))
    }
}
