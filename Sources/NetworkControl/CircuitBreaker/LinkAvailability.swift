/// Whether commands of one quality of service may go over a link to its destination now.
package enum LinkAvailability: Sendable, Equatable {
    case available
    /// The link is offline, and its next probe is due.
    case probe
    /// A person holds the destination offline.
    case heldOffline
    /// The destination takes no `background` at this hour.
    case outOfHours
    /// The link is offline, and no probe is due.
    case offline
    /// The circuit breaker of the destination is not closed. The dispatcher chooses its probes one by one.
    case circuitBreaker
}
