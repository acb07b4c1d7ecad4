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

/// A transition with the fields of its command that an event carries.
package struct StatusEvent: Sendable, Equatable {
    package var transition: Transition
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var retries: Int
    package var shard: Int

    package init(
        transition: Transition, type: String, qos: QualityOfService, destination: Destination, retries: Int, shard: Int
    ) {
        self.transition = transition
        self.type = type
        self.qos = qos
        self.destination = destination
        self.retries = retries
        self.shard = shard
    }
}

extension StatusEvent {
    /// Writes the members of a `status/<id>` event of PROTOCOL.md.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", transition.id)
        writer.member("type", type)
        writer.member("qos", qos.name)
        writer.member("status", transition.status.name)
        writer.member("claim", transition.claim)
        writer.member("retries", retries)
        writer.member("worker", transition.seat.map { .integer(Int64($0)) } ?? .null)
        writer.member("destination", destination.text.isEmpty ? nil : destination.text)
        writer.member("reason", transition.reason)
        writer.member("at", transition.at)
        writer.member("shard", shard)
        writer.member("seq", transition.seq)
    }
}
