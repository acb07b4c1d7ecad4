package import Host

/// What a link carries now, and what it can. Pure; fed with ticks in which some transfer had bytes to send from beginning to
/// end and nothing of ours held it back, so that the figure is the link's and not the demand's. Silence says nothing: it is for
/// ``LinkCircuitBreaker`` to judge, and after an outage the link is what it was until it shows otherwise.
///
/// Sums over all transfers, never rates of single ones: eight of them see an eighth each, and who takes that for the link
/// lowers the limit because he raised it (19.2 Mbit/s in all at 1 to 16 transfers, 19.2 to 1.5 each; measured).
///
/// Two averages with half-lives of 2 s and 10 s, the lower counts: down fast, up slowly (shaka-player and hls.js do so). What
/// leaves the band of 0.8 to 1.25 for a second is a change of the link, and both start there.
package struct GoodputEstimator: Sendable {
    private var fast = MovingAverage(halfLife: .seconds(2))
    private var slow = MovingAverage(halfLife: .seconds(10))
    private var maximum = WindowedMaximum()
    /// Ticks outside the band in a row, on one side of it, and the last of them.
    private var outside = TimeWeightedMean()
    private var isAbove = false
    private var lastOutside = 0.0
    /// Ticks that become one value of the maximum.
    private var block = TimeWeightedMean()
    private var blockFlows = 0
    /// Least round trip, and when it was seen; forgotten after ten minutes.
    private var base: (rtt: Duration, at: MonotonicTime)?

    private static let band = 0.8...1.25
    private static let changeTime: Duration = .seconds(1)
    private static let blockTime: Duration = .seconds(2)
    private static let baseWindow: Duration = .seconds(600)

    package init() {}

    /// Bytes per second; nil before the first qualified tick.
    package var estimate: Double? {
        guard let fast = fast.value, let slow = slow.value else { return nil }
        return min(fast, slow)
    }

    /// What the link has just fallen to, before a second has made sure of it; nil where it has not.
    package var fallen: Double? { outside.duration > .zero && !isAbove ? lastOutside : nil }

    /// The most seen in ten minutes, less 5 % for each minute since: what the path can do.
    package func reference(now: MonotonicTime) -> Double? { maximum.value(now: now) }

    /// How few transfers it takes.
    package func referenceFlows(now: MonotonicTime) -> Int { maximum.flows(now: now) }

    /// What so many transfers should get of the reference.
    package func expected(flows: Int, now: MonotonicTime) -> Double? { maximum.expected(flows: flows, now: now) }

    /// The least round trip of ten minutes.
    package var baseRTT: Duration? { base?.rtt }

    package mutating func add(_ tick: LinkInterval, now: MonotonicTime) {
        if let rtt = tick.minRTT, rtt <= base?.rtt ?? rtt || now - (base?.at ?? now) > Self.baseWindow {
            base = (rtt, now)
        }
        guard tick.flowing > 0, tick.rate > 0 else { return }
        if let estimate, !Self.band.contains(tick.rate / max(estimate, 1)) {
            if isAbove != (tick.rate > estimate) { outside = TimeWeightedMean() }
            isAbove = tick.rate > estimate
            outside.add(tick.rate, for: tick.duration)
            lastOutside = tick.rate
        } else {
            outside = TimeWeightedMean()
        }
        fast.add(tick.rate, for: tick.duration)
        slow.add(tick.rate, for: tick.duration)
        if outside.duration >= Self.changeTime {
            fast.reset(to: outside.mean)
            slow.reset(to: outside.mean)
            outside = TimeWeightedMean()
            block = TimeWeightedMean()
        }
        blockFlows = block.duration == .zero ? tick.flowing : max(blockFlows, tick.flowing)
        block.add(tick.rate, for: tick.duration)
        if block.duration >= Self.blockTime {
            maximum.add(block.mean, flows: blockFlows, now: now)
            block = TimeWeightedMean()
        }
    }

    /// Other transfers are under way, so what the last ones carried is not to be expected of them. Learns anew.
    package mutating func forgetReference() {
        maximum = WindowedMaximum()
        block = TimeWeightedMean()
    }

    /// As another coordinator left it.
    package mutating func restore(reference: Double, flows: Int, now: MonotonicTime) {
        maximum.add(reference, flows: flows, now: now)
    }

    /// How long a byte stands in queues: smoothed round trip less the least. A guard: it says that there is a queue, not
    /// how many transfers are right (one cubic transfer fills it).
    package func queueDelay(_ tick: LinkInterval) -> Duration? {
        guard let srtt = tick.srtt, let base else { return nil }
        return max(srtt - base.rtt, .zero)
    }
}
