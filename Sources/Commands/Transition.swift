/// One row of the audit trail of a shard: a command came to a status.
public struct Transition: Sendable, Equatable {
    /// The number of the transition in its shard, from 1.
    public var seq: Int64
    /// The command that came to the status.
    public var id: CommandID
    /// The status that the command came to.
    public var status: CommandStatus
    /// When, by the wall clock of the process that wrote the transition.
    public var at: Timestamp
    /// The seat, 0…255, of the worker that wrote the transition; nil for a producer, a person or the
    /// coordinator.
    public var seat: Int?
    /// The number of claims of the command so far, from 0.
    public var claim: Int
    /// Why the command came to the status, in a sentence. Nil for a submit, a claim, a `sent`, and the
    /// success of an execution.
    public var reason: String?

    /// Makes a transition without a seat.
    package init(
        seq: Int64, id: CommandID, status: CommandStatus, at: Timestamp, claim: Int, reason: String? = nil
    ) {
        self.seq = seq
        self.id = id
        self.status = status
        self.at = at
        self.claim = claim
        self.reason = reason
    }
}
