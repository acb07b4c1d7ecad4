/// The end of an execution, by what it says of the link and the destination. The coordinator reads it from
/// the transitions.
package enum TransferOutcome: Sendable, Equatable {
    /// The destination answered: a success, or a refusal that no retry would change.
    case answered
    /// The end speaks neither for the destination nor against its link: a 500, for instance, or a source that
    /// is gone.
    case undecided
    /// The destination refuses for a reason of its own: a certificate, 401, 507. `isAnswer` is false where
    /// the destination did not say so itself, as for a credential that cannot be read here.
    case refused(DestinationCircuitBreaker.Cause, reason: String, isAnswer: Bool = true)
    /// 429 or 503: too many at once. If the server answers no other commands, it counts as unreachable.
    case pushedBack(reason: String, othersAreAnswered: Bool = false)
    /// The link failed: DNS, refused, unreachable, connect or TLS timeout, stall. The sentence tells them
    /// apart.
    case unreachable(reason: String)
    /// Cancelled, preempted, drained, or never begun: it says nothing.
    case withdrawn
}
