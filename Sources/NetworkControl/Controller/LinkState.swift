package import Host

/// A link as people see it: `sluice network`, `watch`, `link/` events and `explain`.
package struct LinkState: Sendable, Equatable {
    package var key: LinkKey
    package var level: LinkLevel
    /// A person set it offline.
    package var isForced: Bool
    /// Transfers of middle and low quality that may run at once.
    package var limit: Int
    package var inFlight: Int
    package var highInFlight: Int
    /// Bytes per second: measured in the last tick, what the link carries by ``GoodputEstimator``, and the reference.
    package var rate: Double
    package var goodput: Double?
    package var reference: Double?
    package var srtt: Duration?
    /// The least round trip.
    package var baseRTT: Duration?
    /// One plain sentence with the measure and the threshold.
    package var reason: String
    /// What will lift it; nil where nothing holds anybody back.
    package var remedy: String?
    /// When the level was entered.
    package var since: MonotonicTime
    package var nextProbe: MonotonicTime?
    /// Of the destination, on its way up; nil where commands flow.
    package var circuitBreaker: CircuitBreakerState?
}
