internal import Commands

/// What one link, or the uplink above it, has to say to each quality just now.
struct LinkPolicyDecision: Sendable {
    var verbs: [PolicyVerb]
    /// Whose ruling it is.
    var key: LinkKey
    /// Bytes per second of what is to be shared; infinite for an uplink of which nothing is known.
    var capacity: Double
    /// Transfers of each class that share it.
    var counts: [Int]
    var plan: PreemptionPlanner.PreemptionDecision

    /// Before anything was measured, as if it were 1 Mbit/s.
    static let unknownCapacity = 125_000.0

    /// It lets the same begin, whatever it measures.
    func allowsTheSame(as other: LinkPolicyDecision?) -> Bool {
        guard let other else { return false }
        return verbs == other.verbs && plan.isLowClosed == other.plan.isLowClosed
    }

    /// Bytes per second for each transfer of a quality; nil: as fast as it goes.
    func rate(_ qos: QualityOfService) -> Double? {
        guard case .throttle(let percent) = verbs[qos.rawValue] else { return nil }
        if plan.isHeadStart && qos.serviceClass == .low { return 0 }
        guard capacity.isFinite else { return nil }
        return capacity * Double(percent) / 100 / Double(max(counts[qos.serviceClass.rawValue], 1))
    }
}
