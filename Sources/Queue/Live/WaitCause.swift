package import Commands

/// Waiting commands with one cause.
package struct WaitCause: Sendable, Equatable {
    package enum Subject: Hashable, Sendable {
        /// ``Destination/none`` for operations that talk to no other machine.
        case destination(Destination)
        case limit(String)
        case notBefore
    }

    package var subject: Subject
    package var count: Int
    /// Whether `count` has all of them.
    package var isComplete: Bool
    /// A clause without the name of the subject: `refuses connections; is it running?`
    package var text: String
    /// When the first of them was submitted.
    package var since: Timestamp
    package var kind: Kind

    package enum Kind: String, Sendable {
        /// A person has paused the commands, or holds their destination offline.
        case person
        /// The link is offline, or the circuit breaker of the destination is open.
        case link
        /// The last attempt has failed, and its link has not changed its level yet; or the rate limit is missing.
        case failing
        /// No coordinator runs or makes progress, or no worker.
        case process
        /// The commands start when those before them have.
        case turn
    }

    /// Whether time alone does not end the wait.
    package var isStopped: Bool { kind != .turn }
}
