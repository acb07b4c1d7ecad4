package import Commands

/// The end of an execution, by what it says of the link and the destination. The coordinator reads it from
/// the transitions.
package enum TransferOutcome: Sendable, Equatable {
    /// The destination answered: a success, or a refusal that no retry would change.
    case answered
    /// The end speaks neither for the destination nor against its link: a source that is gone, for instance.
    case undecided
    /// The destination refuses for a reason of its own: a certificate, 401, 507. `isAnswer` is false where
    /// the destination did not say so itself, as for a credential that cannot be read here.
    case refused(DestinationCircuitBreaker.Cause, reason: String, isAnswer: Bool = true)
    /// 429: too many at once.
    case pushedBack
    /// 503. `target`: the URL that was asked for, where it is known.
    case unavailable(reason: String, _ target: CommandTarget? = nil)
    /// Another answer that says nothing of the destination as a whole, such as 500 or 423.
    case answeredWithError
    /// The link failed: DNS, refused, unreachable, connect or TLS timeout, stall. The sentence tells them
    /// apart.
    case unreachable(reason: String)
    /// Cancelled, preempted, drained, or never begun: it says nothing.
    case withdrawn
}
