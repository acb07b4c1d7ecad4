internal import Commands

/// A decision of how far one link, or the uplink above it, admits each quality now.
struct LinkPolicyDecision: Sendable {
    var verbs: [PolicyVerb]
    /// The link that decided.
    var key: LinkKey
    /// Bytes per second to share; infinite for an uplink of which nothing is known.
    var capacity: Double
    /// Transfers of each class that share it.
    var counts: [Int]
    var preemption: PreemptionDecision

    /// Capacity before anything was measured: as if the link carried 1 Mbit/s.
    static let unknownCapacity = 125_000.0

    /// Whether the two decisions admit the same commands, whatever was measured.
    func allowsTheSame(as other: LinkPolicyDecision?) -> Bool {
        guard let other else { return false }
        return verbs == other.verbs && preemption.isLowBlocked == other.preemption.isLowBlocked
    }

    /// Bytes per second for each transfer of a quality; nil: not paced.
    func rate(_ qos: QualityOfService) -> Double? {
        guard case .throttle(let percent) = verbs[qos.rawValue] else { return nil }
        if preemption.isHeadStart && qos.serviceClass == .low { return 0 }
        guard capacity.isFinite else { return nil }
        return capacity * Double(percent) / 100 / Double(max(counts[qos.serviceClass.rawValue], 1))
    }
}
