package import Host

/// Estimates how much a link carries now, and how much it can carry. Pure.
///
/// It uses intervals in which some transfer had bytes to send from beginning to end and was held back by
/// neither pacing nor pause, so that the figure is the link's and not the demand's. Silence says nothing:
/// ``LinkCircuitBreaker`` judges it, and after an outage the estimate holds until the link shows another.
///
/// It sums over all transfers and never uses the rate of a single one: eight transfers see an eighth each,
/// and a controller that takes an eighth for the link lowers the limit because it raised it (19.2 Mbit/s in
/// all at 1 to 16 transfers, 19.2 to 1.5 each; measured).
///
/// Of two averages with half-lives of 2 s and 10 s the lower counts: down fast, up slowly (shaka-player and
/// hls.js do so). A rate that leaves the band of 0.8 to 1.25 for a second is a change of the link, and both
/// averages start there.
package struct GoodputEstimator: Sendable {
    private var fast = MovingAverage(halfLife: .seconds(2))
    private var slow = MovingAverage(halfLife: .seconds(10))
    private var maximum = WindowedMaximum()
    /// Consecutive intervals outside the band, on one side of it, and the rate of the last one.
    private var outside = TimeWeightedMean()
    private var isAbove = false
    private var lastOutside = 0.0
    /// Intervals that become one value of the maximum.
    private var block = TimeWeightedMean()
    private var blockFlows = 0
    /// The least round trip, and when it was seen; forgotten after ten minutes.
    private var base: (rtt: Duration, at: MonotonicTime)?

    private static let band = 0.8...1.25
    private static let changeTime: Duration = .seconds(1)
    private static let blockTime: Duration = .seconds(2)
    private static let baseWindow: Duration = .seconds(600)

    package init() {}

    /// Bytes per second; nil before the first qualified interval.
    package var estimate: Double? {
        guard let fast = fast.value, let slow = slow.value else { return nil }
        return min(fast, slow)
    }

    /// The rate to which the link has just fallen, before a second has confirmed it; nil where it has not
    /// fallen.
    package var fallen: Double? { outside.duration > .zero && !isAbove ? lastOutside : nil }

    /// The maximum of ten minutes, less 5 % for each minute since: what the link can carry.
    package func reference(now: MonotonicTime) -> Double? { maximum.value(now: now) }

    /// The smallest number of transfers that carried it.
    package func referenceFlows(now: MonotonicTime) -> Int { maximum.flows(now: now) }

    /// Bytes per second that a number of transfers should carry, by the reference.
    package func expected(flows: Int, now: MonotonicTime) -> Double? { maximum.expected(flows: flows, now: now) }

    /// The least round trip of ten minutes.
    package var baseRTT: Duration? { base?.rtt }

    package mutating func add(_ interval: LinkInterval, now: MonotonicTime) {
        if let rtt = interval.minRTT, rtt <= base?.rtt ?? rtt || now - (base?.at ?? now) > Self.baseWindow {
            base = (rtt, now)
        }
        guard interval.flowing > 0, interval.rate > 0 else { return }
        if let estimate, !Self.band.contains(interval.rate / max(estimate, 1)) {
            if isAbove != (interval.rate > estimate) { outside = TimeWeightedMean() }
            isAbove = interval.rate > estimate
            outside.add(interval.rate, for: interval.duration)
            lastOutside = interval.rate
        } else {
            outside = TimeWeightedMean()
        }
        fast.add(interval.rate, for: interval.duration)
        slow.add(interval.rate, for: interval.duration)
        if outside.duration >= Self.changeTime {
            fast.reset(to: outside.mean)
            slow.reset(to: outside.mean)
            outside = TimeWeightedMean()
            block = TimeWeightedMean()
        }
        blockFlows = block.duration == .zero ? interval.flowing : max(blockFlows, interval.flowing)
        block.add(interval.rate, for: interval.duration)
        if block.duration >= Self.blockTime {
            maximum.add(block.mean, flows: blockFlows, now: now)
            block = TimeWeightedMean()
        }
    }

    /// Transfers of another size run, which may carry less than those before: the reference is learned anew.
    package mutating func forgetReference() {
        maximum = WindowedMaximum()
        block = TimeWeightedMean()
    }

    /// Takes another coordinator's reference.
    package mutating func restore(reference: Double, flows: Int, now: MonotonicTime) {
        maximum.add(reference, flows: flows, now: now)
    }

    /// How long a byte waits in queues: the smoothed round trip less the least one. It shows that there is a
    /// queue, not which number of transfers is right (one cubic transfer fills the queue).
    package func queueDelay(_ interval: LinkInterval) -> Duration? {
        guard let srtt = interval.srtt, let base else { return nil }
        return max(srtt - base.rtt, .zero)
    }
}

/// The maximum that a link carried in ten minutes, and the smallest number of transfers that carried it. It
/// loses 5 % a minute.
///
/// The number of transfers matters because a connection may have a limit of its own: if one is left of ten
/// that carried 10 Mbit/s each, it shows 10 Mbit/s, and the link is as good as before.
struct WindowedMaximum: Sendable {
    private struct Bucket: Sendable {
        var minute: Int64
        var value: Double
        var flows: Int
    }

    private static let minute: Duration = .seconds(60)
    private static let window: Int64 = 10
    private var buckets: [Bucket] = []

    /// - Parameters:
    ///   - value: bytes per second.
    ///   - flows: transfers that carried them.
    mutating func add(_ value: Double, flows: Int, now: MonotonicTime) {
        let minute = Self.minute(of: now)
        buckets.removeAll { $0.minute <= minute - Self.window }
        if buckets.last?.minute != minute { buckets.append(Bucket(minute: minute, value: value, flows: flows)) }
        let last = buckets.count - 1
        if value > buckets[last].value * 1.1 {
            buckets[last] = Bucket(minute: minute, value: value, flows: flows)
        } else if value > buckets[last].value * 0.9 {
            buckets[last].value = max(value, buckets[last].value)
            buckets[last].flows = min(flows, buckets[last].flows)
        }
    }

    func value(now: MonotonicTime) -> Double? { values(now: now).map(\.value).max() }

    /// Bytes per second that a number of transfers should carry: all of the maximum, or their part if more
    /// transfers carried it.
    func expected(flows: Int, now: MonotonicTime) -> Double? {
        value(now: now).map { $0 * min(Double(flows) / Double(self.flows(now: now)), 1) }
    }

    /// The smallest number of transfers that carried it.
    func flows(now: MonotonicTime) -> Int {
        let values = values(now: now)
        guard let maxLimit = values.map(\.value).max() else { return 1 }
        return max(values.filter { $0.value > maxLimit * 0.9 }.map(\.flows).min() ?? 1, 1)
    }

    /// The recent values, each less what it has lost by now.
    private func values(now: MonotonicTime) -> [(value: Double, flows: Int)] {
        let minute = Self.minute(of: now)
        return buckets.filter { $0.minute > minute - Self.window }.map {
            ($0.value * (1 - 0.05 * Double(max(minute - $0.minute, 0))), $0.flows)
        }
    }

    private static func minute(of time: MonotonicTime) -> Int64 { time.nanoseconds / minute.nanoseconds }
}
