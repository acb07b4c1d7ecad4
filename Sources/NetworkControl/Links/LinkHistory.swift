/// A record of a link for the next coordinator, which can then tell a degraded link from one that was always
/// slow. It is stored when a level changes and once a minute.
package struct LinkHistory: Sendable, Equatable {
    /// Bytes per second, and the smallest number of transfers that carried them.
    package var reference: Double
    package var flows: Int
    package var limit: Int
    /// Why the link is offline; nil where it is not.
    package var offline: LinkReason?
    /// The level and its reason, where they are not old.
    package var level: LinkLevel?
    package var reason: LinkReason?

    package init(reference: Double, flows: Int, limit: Int, offline: LinkReason? = nil) {
        self.reference = reference
        self.flows = flows
        self.limit = limit
        self.offline = offline
    }
}
