internal import Commands
internal import Host

/// One link over a quarter of a second, or two round trips where those last longer.
package struct LinkInterval: Sendable, Equatable {
    package var duration: Duration = .milliseconds(250)
    /// Bytes per second that peers acknowledged, all classes together.
    package var rate = 0.0
    /// Of these, the rates of high and of low quality.
    package var highRate = 0.0
    package var lowRate = 0.0
    /// Transfers of middle and low quality: the lower and the higher number of its two ends.
    package var minInFlight = 0
    package var maxInFlight = 0
    /// Commands of middle and low quality wait for a slot.
    package var isAwaited = false
    /// High quality was in flight.
    package var hasHigh = false
    /// Transfers that had bytes to send from its beginning to its end and were held back by neither pacing
    /// nor pause.
    package var flowing = 0
    /// Of these, the ones that made no progress for 2 s or 4 round trips.
    package var stalled = 0
    /// Transfers that have bytes to send and whose receiver has closed its TCP window.
    package var heldByReceiver = 0
    /// Pacing or a pause held a transfer back, other than a person's `maxRate`.
    package var isSteered = false
    /// A person's `maxRate` held a transfer back.
    package var isAtMaxRate = false
    /// The median of the smoothed round trips, and the least round trip known.
    package var srtt: Duration?
    package var minRTT: Duration?
    /// Share of the bytes that were sent again: an average, half of it of the last half second.
    package var loss = 0.0
    /// Median time to the first byte of the response.
    package var timeToFirstByte: Duration?
    package var completed = 0
    package var failed = 0

    package init() {}

    /// More than 1 % of the bytes were sent again.
    package var hasLoss: Bool { rate > 0 && loss > 0.01 }

    /// Loss holds the transfers back, without a queue that would explain it. A cubic transfer of 50 ms gets
    /// 1.9 of 20 Mbit/s at 1 % and 0.7 at 5 %, sixteen get 19 and 13 (measured): the many transfers are
    /// right, and the rate of a single one before says nothing of the link.
    package func isLossy(queueDelay: Duration?) -> Bool {
        hasLoss && queueDelay.map { $0 < max(.milliseconds(20), (minRTT ?? .zero) / 4) } ?? false
    }

    /// The limit is what holds the link back. As many transfers as it allows run at both ends. Or commands
    /// wait, and nearly as many run, because a slot is free for a moment between two short transfers; or as
    /// many ended within the interval.
    package func isSaturated(at limit: Int) -> Bool {
        guard limit > 0 else { return false }
        guard isAwaited else { return minInFlight >= limit }
        return completed >= limit || maxInFlight >= limit && minInFlight >= limit - max(1, limit / 8)
    }
}

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
