internal import Commands
internal import Host

/// Collects what workers report of one link until an interval is complete. Workers report in their own
/// rhythm, so a rate is the sum of each worker's bytes over the time that its own reports cover.
struct LinkIntervalBuilder: Sendable {
    private struct Part: Sendable {
        var bytes = 0.0
        var high = 0.0
        var low = 0.0
        var span = Duration.zero
    }

    private var parts: [Int64: Part] = [:]
    private(set) var openedAt: MonotonicTime
    var completed = 0
    var failed = 0
    /// When bytes were last reported.
    private(set) var lastBytes: MonotonicTime
    private var inFlightBefore = 0
    private var sent = 0.0
    private var resent = 0.0
    /// Bytes per second. They are averaged because a slow link at 5 % loss carries 40 packets in an interval,
    /// and one interval in nine has no loss.
    private var sentRate = average
    private var resentRate = average

    private static let maxDuration: Duration = .seconds(4)
    private static let average = MovingAverage(halfLife: .milliseconds(500))

    init(now: MonotonicTime) {
        openedAt = now
        lastBytes = now
    }

    mutating func add(_ bytes: Int64, of serviceClass: ServiceClass, worker: Int64, now: MonotonicTime) {
        guard bytes > 0 else { return }
        lastBytes = now
        parts[worker, default: Part()].bytes += Double(bytes)
        switch serviceClass {
        case .high: parts[worker, default: Part()].high += Double(bytes)
        case .middle: break
        case .low: parts[worker, default: Part()].low += Double(bytes)
        }
    }

    mutating func sent(_ bytes: Int64, again: Int64) {
        sent += Double(bytes)
        resent += Double(again)
    }

    mutating func cover(_ span: Duration, worker: Int64) { parts[worker, default: Part()].span += span }

    /// Nothing is in flight: silence counts from the next transfer on, and the loss so far does not apply to
    /// it.
    mutating func idle(now: MonotonicTime) {
        lastBytes = now
        sentRate = Self.average
        resentRate = Self.average
    }

    /// Closes the interval, if it is long enough and all workers with transfers have reported.
    mutating func close(_ snapshot: LinkSnapshot, isAwaited: Bool, baseRTT: Duration?, now: MonotonicTime)
        -> LinkInterval?
    {
        let length = min(max((baseRTT ?? .zero) * 2, .milliseconds(250)), .seconds(1)) - .milliseconds(30)
        let elapsed = now - openedAt
        guard elapsed >= length else { return nil }
        guard elapsed < Self.maxDuration else {
            // The link was not used for long, or the caller stood still.
            self = LinkIntervalBuilder(now: now)
            inFlightBefore = snapshot.inFlight
            return nil
        }
        let isComplete = snapshot.workers.allSatisfy { parts[$0]?.span ?? .zero > .zero }
        guard isComplete || elapsed > length * 3 else { return nil }
        var interval = LinkInterval()
        interval.duration = elapsed
        for part in parts.values where part.span > .zero {
            let span = max(part.span, .milliseconds(50)).seconds
            interval.rate += part.bytes / span
            interval.highRate += part.high / span
            interval.lowRate += part.low / span
        }
        interval.minInFlight = min(snapshot.inFlight, inFlightBefore)
        interval.maxInFlight = max(snapshot.inFlight, inFlightBefore)
        interval.isAwaited = isAwaited
        interval.hasHigh = snapshot.highInFlight > 0
        interval.flowing = snapshot.flowing(since: openedAt)
        interval.stalled = snapshot.stalled
        interval.isSteered = snapshot.isSteered
        interval.isAtMaxRate = snapshot.isAtMaxRate
        interval.heldByReceiver = snapshot.heldByReceiver
        interval.srtt = Self.median(snapshot.srtts)
        interval.minRTT = snapshot.minRTT
        interval.timeToFirstByte = Self.median(snapshot.firstBytes)
        sentRate.add(sent / elapsed.seconds, for: elapsed)
        resentRate.add(resent / elapsed.seconds, for: elapsed)
        if let sent = sentRate.value, let resent = resentRate.value { interval.loss = resent / max(sent + resent, 1) }
        interval.completed = completed
        interval.failed = failed
        inFlightBefore = snapshot.inFlight
        parts = [:]
        sent = 0
        resent = 0
        openedAt = now
        completed = 0
        failed = 0
        return interval
    }

    private static func median(_ values: [Duration]) -> Duration? {
        values.isEmpty ? nil : values.sorted()[values.count / 2]
    }
}
