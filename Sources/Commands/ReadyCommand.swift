/// What the ready queue needs to know of a command.
package struct ReadyCommand: Sendable, Equatable {
    package var id: CommandID
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var turn: Int64
    package var createdAt: Timestamp
    package var suspect: Bool
    /// Bytes that it has to send; nil where nobody knows.
    package var remaining: Int64?

    package init(
        id: CommandID, type: String, qos: QualityOfService, destination: Destination, turn: Int64,
        createdAt: Timestamp, suspect: Bool, remaining: Int64? = nil
    ) {
        self.id = id
        self.type = type
        self.qos = qos
        self.destination = destination
        self.turn = turn
        self.createdAt = createdAt
        self.suspect = suspect
        self.remaining = remaining
    }

    /// Bytes from an offset to the end, with a total of which 0 means that it is not known.
    package static func remaining(from offset: Int64 = 0, of total: Int64) -> Int64? {
        total > 0 ? max(total - max(offset, 0), 0) : nil
    }
}
