package import Commands

/// Instructions for the workers and the dispatcher. Pacing and orders are complete, to be sent again as they
/// stand; the rest concerns the links that were looked at.
package struct NetworkDecisions: Sendable, Equatable {
    /// Of the links that were looked at.
    package var allowances: [LinkKey: LinkAllowance] = [:]
    package var pacing: [Pacing] = []
    /// An order stands until its transfer is gone from its worker's reports.
    package var orders: [TransferOrder] = []
    /// Links whose level has changed since the last decisions.
    package var changed: [LinkKey] = []
    /// Links that were forgotten.
    package var forgotten: [LinkKey] = []

    package init() {}
}

/// An order to a worker to end a transfer.
package struct TransferOrder: Sendable, Equatable {
    package enum Verb: Sendable, Equatable {
        /// Reset the connection and release the command; nothing is charged.
        case cut
        /// End it in status 5.
        case cancel
    }

    /// Why a transfer is ended.
    package enum Cause: Sendable, Equatable {
        /// The policy at this level of a link.
        case level(LinkLevel, LinkKey)
        /// High quality needs the bandwidth of a link.
        case contention(LinkKey)
        /// High quality waits for a slot at the destination.
        case slotForHigh
        /// Middle quality has fewer than half of the slots.
        case slotsForMiddle
        /// Its destination has not answered yet, and others were never tried.
        case firstTry
    }

    package var id: CommandID
    package var verb: Verb
    package var cause: Cause
}

/// How fast a worker may send transfers of one quality over a link. A quality without an entry is not paced.
package struct Pacing: Sendable, Equatable {
    package var key: LinkKey
    package var qos: QualityOfService
    /// Bytes per second for each transfer. A worker paces its transfers together, at the sum. 0: stop
    /// writing.
    package var bytesPerSecond: Int64
}

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
