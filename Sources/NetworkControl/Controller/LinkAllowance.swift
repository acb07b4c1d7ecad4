package import Commands

/// What a link lets run. The controller's limit binds middle and low QoS; what the server takes and what a person sets binds
/// every class.
package struct LinkAllowance: Sendable, Equatable {
    package var level: LinkLevel
    /// Transfers of middle and low QoS at once, in all workers together.
    package var limit: Int
    /// Of these, low ones at most.
    package var lowLimit: Int
    /// Requests of all classes at once that the server takes; nil while it has refused none.
    package var pushback: Int?
    /// Until the server has refused one: commands of high QoS at once, and as many of the others. It doubles in a round.
    package var slowStart = Int.max
    /// A person's limit of all classes; nil: none.
    package var maxConcurrency: Int?
    /// Qualities of service that begin nothing now.
    package var closed: Set<QualityOfService> = []
    /// The uplink above, and the limit that its links share; nil while it bounds none.
    package var uplink: LinkKey?
    package var uplinkLimit: Int?

    package init(level: LinkLevel, limit: Int, lowLimit: Int, closed: Set<QualityOfService> = []) {
        self.level = level
        self.limit = limit
        self.lowLimit = lowLimit
        self.closed = closed
    }
}
