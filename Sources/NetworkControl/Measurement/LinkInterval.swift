/// One link over a quarter of a second, or two round trips where those last longer.
package struct LinkInterval: Sendable, Equatable {
    package var duration: Duration = .milliseconds(250)
    /// Bytes per second that peers acknowledged, all classes together.
    package var rate = 0.0
    /// Of these, high and low quality's.
    package var highRate = 0.0
    package var lowRate = 0.0
    /// Transfers of middle and low quality: the fewer and the more of its two ends.
    package var fewest = 0
    package var maxInFlight = 0
    /// Commands of middle and low quality wait for a place.
    package var isAwaited = false
    /// High quality was in flight.
    package var hasHigh = false
    /// Transfers that had bytes to send from its beginning to its end, held back by nothing of ours.
    package var flowing = 0
    /// Of these, such as made no progress for 2 s or 4 round trips.
    package var stalled = 0
    /// Transfers that have bytes to send and whose receiver has closed its TCP window.
    package var heldByReceiver = 0
    /// Pacing or a pause of ours held a transfer back, and it was not a person's `maxRate`.
    package var isSteered = false
    /// A person's `maxRate` held a transfer back.
    package var isAtMaxRate = false
    /// Median of the smoothed round trips and least round trip known.
    package var srtt: Duration?
    package var minRTT: Duration?
    /// Share of the bytes that were sent again, half of it of the last half second.
    package var loss = 0.0
    /// Median time to the first byte of the response.
    package var timeToFirstByte: Duration?
    package var completed = 0
    package var failed = 0

    package init() {}

    /// More than 1 %, whoever makes it.
    package var hasLoss: Bool { rate > 0 && loss > 0.01 }

    /// What holds the transfers back is loss, and no queue that would explain it. A cubic transfer of
    /// 50 ms gets 1.9 of 20 Mbit/s at 1 % and 0.7 at 5 %, sixteen get 19 and 13 (measured): so that many are right, and
    /// what single ones got before says nothing of the link.
    package func isLossy(queueDelay: Duration?) -> Bool {
        hasLoss && queueDelay.map { $0 < max(.milliseconds(20), (minRTT ?? .zero) / 4) } ?? false
    }

    /// The limit is what holds it back: as many as it allows at both ends; or, while others wait, nearly so, because between
    /// two short transfers a place is free for a moment; or so short ones that each place had another within the tick.
    package func isSaturated(at limit: Int) -> Bool {
        guard limit > 0 else { return false }
        guard isAwaited else { return fewest >= limit }
        return completed >= limit || maxInFlight >= limit && fewest >= limit - max(1, limit / 8)
    }
}
