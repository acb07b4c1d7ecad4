internal import Host

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
