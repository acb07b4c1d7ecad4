/// The most that a link was seen to carry in ten minutes, and how few transfers that took. Loses 5 % a minute.
///
/// The number of transfers matters because a connection may have a limit of its own: of ten that carry 10 Mbit/s each, one
/// that is left shows 10 Mbit/s, and the link is as good as before.
struct WindowedMaximum: Sendable {
    private struct Bucket: Sendable {
        var minute: Int64
        var value: Double
        var flows: Int
    }

    private static let minute: Int64 = 60_000_000_000
    private static let window: Int64 = 10
    private var buckets: [Bucket] = []

    /// - Parameters:
    ///   - value: bytes per second.
    ///   - flows: transfers that carried them.
    mutating func add(_ value: Double, flows: Int, now: Int64) {
        let minute = now / Self.minute
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

    func value(now: Int64) -> Double? { recent(now).map { aged($0, now) }.max() }

    /// What so many transfers should carry: all of it, or their part where it took more of them.
    func expected(flows: Int, now: Int64) -> Double? {
        value(now: now).map { $0 * min(Double(flows) / Double(self.flows(now: now)), 1) }
    }

    /// How few transfers carried it.
    func flows(now: Int64) -> Int {
        guard let value = value(now: now) else { return 1 }
        return max(recent(now).filter { aged($0, now) > value * 0.9 }.map(\.flows).min() ?? 1, 1)
    }

    private func recent(_ now: Int64) -> [Bucket] {
        buckets.filter { $0.minute > now / Self.minute - Self.window }
    }

    private func aged(_ bucket: Bucket, _ now: Int64) -> Double {
        bucket.value * (1 - 0.05 * Double(max(now / Self.minute - bucket.minute, 0)))
    }
}
