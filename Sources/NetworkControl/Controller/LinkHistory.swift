/// What the next coordinator should know of a link, so that it can tell degraded from always so. Worth a row of the store
/// when a level changes and once a minute.
package struct LinkHistory: Sendable, Equatable {
    /// Bytes per second, and how few transfers they take.
    package var reference: Double
    package var flows: Int
    package var limit: Int
    /// Why it is offline; nil where it is not.
    package var offline: String?
    /// How it stood, where that is not long ago.
    package var level: LinkLevel?
    package var reason: String?

    package init(reference: Double, flows: Int, limit: Int, offline: String? = nil) {
        self.reference = reference
        self.flows = flows
        self.limit = limit
        self.offline = offline
    }
}
