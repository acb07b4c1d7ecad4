package import Host

/// A link as the controller knows it, for a ``LinkReport``.
package struct LinkState: Sendable, Equatable {
    package var key: LinkKey
    package var level: LinkLevel
    /// A person set it offline.
    package var isForced = false
    /// Transfers of middle and low quality that may run at once.
    package var limit = 0
    package var inFlight = 0
    package var highInFlight = 0
    /// Bytes per second in the last interval.
    package var rate = 0.0
    /// Bytes per second that the link carries by ``GoodputEstimator``, and the reference.
    package var goodput: Double?
    package var reference: Double?
    package var srtt: Duration?
    /// The least round trip.
    package var baseRTT: Duration?
    package var reason: LinkReason
    /// Why it has carried another amount within the last minute, where that is not the link itself.
    package var change: LinkReason?
    /// The condition that lifts the level; nil where nothing is held back.
    package var remedy: LinkRemedy?
    /// When the level was entered.
    package var since: MonotonicTime
    package var nextProbe: MonotonicTime?
    /// Of the destination, on the link up; nil while it is closed.
    package var circuitBreaker: CircuitBreakerState<MonotonicTime>?
    /// The newest refusal of the destination, while that has not opened its circuit breaker; on the link up.
    package var refusal: String?

    init(key: LinkKey, level: LinkLevel, reason: LinkReason, since: MonotonicTime) {
        self.key = key
        self.level = level
        self.reason = reason
        self.since = since
    }
}
