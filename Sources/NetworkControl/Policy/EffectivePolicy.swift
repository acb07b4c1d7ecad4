internal import Commands

/// The decisions that hold on a link: its own and that of the uplink above it.
struct EffectivePolicy {
    let key: LinkKey
    let level: LinkLevel
    let own: LinkPolicyDecision
    let above: LinkPolicyDecision?
    /// The stricter verb of the two, by quality.
    let verbs: [PolicyVerb]

    init(key: LinkKey, level: LinkLevel, own: LinkPolicyDecision, above: LinkPolicyDecision?) {
        self.key = key
        self.level = level
        self.own = own
        self.above = above
        verbs = above.map { zip(own.verbs, $0.verbs).map(PolicyVerb.stricter) } ?? own.verbs
    }

    func verb(_ qos: QualityOfService) -> PolicyVerb { verbs[qos.rawValue] }

    /// The link whose decision the verb is.
    func author(_ qos: QualityOfService) -> LinkKey {
        verb(qos) == own.verbs[qos.rawValue] ? own.key : above?.key ?? own.key
    }

    var isLowBlocked: Bool { own.preemption.isLowBlocked || above?.preemption.isLowBlocked ?? false }
    var capacity: Double { min(own.capacity, above?.capacity ?? .infinity) }
    /// No quality is held back.
    var isFree: Bool { verbs.allSatisfy { $0 == .run } }
}
