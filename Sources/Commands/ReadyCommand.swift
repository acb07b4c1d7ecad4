/// What the ready queue needs to know of a command.
package struct ReadyCommand: Sendable, Equatable {
    package var id: CommandID
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var turn: Int64
    package var createdAt: Timestamp
    package var suspect: Bool

    package init(
        id: CommandID, type: String, qos: QualityOfService, destination: Destination, turn: Int64,
        createdAt: Timestamp, suspect: Bool
    ) {
        self.id = id
        self.type = type
        self.qos = qos
        self.destination = destination
        self.turn = turn
        self.createdAt = createdAt
        self.suspect = suspect
    }
}
