package import Commands

/// The transfers that a link admits. The controller's limit binds middle and low QoS. The limits of the
/// server and of a person bind every class.
package struct LinkAllowance: Sendable, Equatable {
    package var level: LinkLevel
    /// Transfers of middle and low QoS at once, in all workers together.
    package var limit: Int
    /// Of these, low ones at most.
    package var lowLimit: Int
    /// Requests of all classes at once that the server takes; nil while it has refused none.
    package var pushback: Int?
    /// Commands of high QoS at once, and as many of the others, until the server has refused one. It doubles
    /// in a round.
    package var slowStart = Int.max
    /// A person's limit of all classes; nil: none.
    package var maxConcurrency: Int?
    /// Qualities of service of which no command begins now.
    package var blocked: Set<QualityOfService> = []
    /// The uplink above, and the limit that its links share; nil while it bounds none.
    package var uplink: LinkKey?
    package var uplinkLimit: Int?

    package init(level: LinkLevel, limit: Int, lowLimit: Int, blocked: Set<QualityOfService> = []) {
        self.level = level
        self.limit = limit
        self.lowLimit = lowLimit
        self.blocked = blocked
    }

    /// The lower bounds of two links to one destination.
    package func combined(with other: LinkAllowance) -> LinkAllowance {
        var combined = limit <= other.limit ? self : other
        combined.level = max(level, other.level)
        combined.lowLimit = min(lowLimit, other.lowLimit)
        combined.blocked = blocked.union(other.blocked)
        return combined
    }
}
