/// One row of a shard's audit trail: a command came to a status.
public struct Transition: Sendable, Equatable {
    /// Counts the transitions of the shard, from 1.
    public var seq: Int64
    public var id: CommandID
    public var status: CommandStatus
    public var at: Timestamp
    /// Who did it; nil for a producer, a person or the coordinator.
    public var seat: Int?
    public var claim: Int
    public var reason: String?

    package init(
        seq: Int64, id: CommandID, status: CommandStatus, at: Timestamp, seat: Int?, claim: Int, reason: String?
    ) {
        self.seq = seq
        self.id = id
        self.status = status
        self.at = at
        self.seat = seat
        self.claim = claim
        self.reason = reason
    }
}
