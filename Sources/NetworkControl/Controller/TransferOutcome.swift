/// What the end of an execution says of the link and the destination. The coordinator reads it from the transitions.
package enum TransferOutcome: Sendable, Equatable {
    /// The destination answered: a success, or a refusal that no retry would mend.
    case answered
    /// It ended in what speaks neither for the destination nor against its link, such as a 500, or a source that is gone.
    case undecided
    /// The destination refuses for a reason of its own: a certificate, 401, 507. `isAnswer` is false where the
    /// destination did not say so itself, as for a credential that cannot be read here.
    case refused(DestinationCircuitBreaker.Cause, reason: String, isAnswer: Bool = true)
    /// 429 or 503: too many at once. Where the server answers no other commands, it counts as unreachable.
    case pushedBack(reason: String, othersAreAnswered: Bool = false)
    /// The link's fault: DNS, refused, unreachable, connect or TLS time-out, stall. The sentence tells them apart.
    case unreachable(reason: String)
    /// Cancelled, preempted, drained, or never begun: says nothing.
    case withdrawn
}
