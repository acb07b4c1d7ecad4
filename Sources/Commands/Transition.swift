/// One row of the audit trail of a shard: a command came to a status.
public struct Transition: Sendable, Equatable {
    /// The number of the transition in its shard, from 1.
    public var seq: Int64
    public var id: CommandID
    public var status: CommandStatus
    public var at: Timestamp
    /// The seat of the worker that wrote the transition; nil for a producer, a person or the coordinator.
    public var seat: Int?
    /// The claims of the command so far.
    public var claim: Int
    /// Why the command came to the status, in a sentence.
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
