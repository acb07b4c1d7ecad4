package import Commands

/// What the network allows: the default is the table that README shows. Values come from `sluice.yaml`; ``validate()`` refuses
/// what makes no sense.
package struct NetworkPolicy: Sendable, Equatable {
    /// Also for `unknown`.
    package var good = PolicyRow(.run, .run, .run, .run, .run, limit: 64)
    package var degraded = PolicyRow(
        .run, .run, .run, .throttle(percent: 25), .throttle(percent: 10), limit: 4)
    package var poor = PolicyRow(.run, .run, .throttle(percent: 25), .preempt, .preempt, limit: 2)
    /// Running ones are released, or cancelled where a verb says so.
    package var offline = PolicyRow(.preempt, .preempt, .preempt, .preempt, .preempt, limit: 0)
    /// At any level, while high quality is active and the link is saturated. Its limit counts for nothing.
    package var contended = PolicyRow(
        .run, .run, .throttle(percent: 25), .throttle(percent: 10), .throttle(percent: 10), limit: 64)
    package var thresholds = LevelThresholds()
    package var preemption = PreemptionRules()
    /// Transfers of middle and low QoS at once over all links; and of high QoS as many again.
    package var globalLimit = 64
    /// Share of the link, in percent, that a class keeps which nothing else would let run.
    package var floorPercent = 5
    /// So long a wait counts as one step of quality within a class of service.
    package var agingStep: Duration = .seconds(60)
    /// The longest that a low transfer may stand still, and that a class waits behind higher ones before one of it runs.
    package var longestStandstill: Duration = .seconds(60)
    /// From the end of one probe of a destination to the next, while its circuit breaker is open.
    package var probeInterval: Duration = .seconds(60)
    /// Whether low quality makes way for high. Without it the row ``contended`` counts for nothing and nobody is cut for
    /// somebody else; what a level allows goes on to hold.
    package var preemptionIsOn = true
    /// So many transfers to each destination and nothing else: no limit is measured, no level judged, nobody preempted. For
    /// comparison; nil: as measured.
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
