package import Commands

/// The rules of what the network allows, read from `sluice.yaml`. The defaults are in
/// `deploy/sluice.example.yaml`; ``validate()`` refuses contradictory values.
package struct NetworkPolicy: Sendable, Equatable {
    /// Also for `unknown`.
    package var good = PolicyRow(.run, .run, .run, .run, .run, limit: 64)
    package var degraded = PolicyRow(
        .run, .run, .run, .throttle(percent: 25), .throttle(percent: 10), limit: 4)
    package var poor = PolicyRow(.run, .run, .throttle(percent: 25), .preempt, .preempt, limit: 2)
    /// Running transfers are released, or cancelled where a verb says so.
    package var offline = PolicyRow(.preempt, .preempt, .preempt, .preempt, .preempt, limit: 0)
    /// At any level, while high quality is active and the link is saturated. Its limit is not used.
    package var contended = PolicyRow(
        .run, .run, .throttle(percent: 25), .throttle(percent: 10), .throttle(percent: 10), limit: 64)
    package var thresholds = LevelThresholds()
    package var preemption = PreemptionRules()
    /// Transfers of middle and low QoS at once over all links, and as many of high QoS.
    package var globalLimit = 64
    /// Percent of the link for a class that would not run otherwise.
    package var floorPercent = 5
    /// A wait of this time counts as one step of quality within a class of service.
    package var agingStep: Duration = .seconds(60)
    /// The longest that a low transfer stands still, and that a class waits behind higher ones before one of
    /// it runs.
    package var maxStandstill: Duration = .seconds(60)
    /// From the end of one probe of a destination to the next, while its circuit breaker is open.
    package var probeInterval: Duration = .seconds(60)
    /// Whether low quality yields to high. If not, the row ``contended`` is not used and no transfer is cut
    /// for another one; what a level allows still holds.
    package var preemptionIsOn = true
    /// A fixed number of transfers to each destination: no limit is measured, no level judged, no transfer
    /// preempted. For comparison; nil: as measured.
    package var fixedConcurrency: Int?
    package var destinations: [Destination: DestinationLimits] = [:]

    package init() {}

    package subscript(level: LinkLevel) -> PolicyRow {
        switch level {
        case .unknown, .good: good
        case .degraded: degraded
        case .poor: poor
        case .offline: offline
        }
    }
}
