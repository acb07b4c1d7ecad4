/// Whether the gates of a link and of its destination let commands of one quality of service go.
package enum LinkAvailability: Sendable, Equatable {
    case open
    /// The link is offline, and its next probe is due.
    case probe
    /// A person holds the destination offline.
    case heldOffline
    /// `background` may not begin there at this hour.
    case outOfHours
    /// The link is offline, and no probe is due.
    case offline
    /// The circuit breaker of the destination is not closed. Its probes are chosen one by one.
    case circuitBreaker
}
