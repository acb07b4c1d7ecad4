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
