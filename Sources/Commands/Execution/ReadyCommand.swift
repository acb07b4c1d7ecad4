/// A command as the ready queue needs it.
package struct ReadyCommand: Sendable, Equatable {
    package var id: CommandID
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var turn: Int64
    package var createdAt: Timestamp
    package var suspect = false
    /// It runs as the only suspect of its worker (``Command/isSoleSuspect``).
    package var isSoleSuspect = false
    /// Bytes that it has to send; nil where not known.
    package var remaining: Int64?
    /// The name of its rate limit.
    package var limit: String?

    /// Makes a command that is not suspect, and whose remaining bytes are not known.
    package init(
        id: CommandID, type: String, qos: QualityOfService, destination: Destination, turn: Int64, createdAt: Timestamp
    ) {
        self.id = id
        self.type = type
        self.qos = qos
        self.destination = destination
        self.turn = turn
        self.createdAt = createdAt
    }

    /// Bytes from an offset to the end; nil where the total is not known.
    /// - Parameter total: 0 where not known.
    package static func remaining(from offset: Int64 = 0, of total: Int64) -> Int64? {
        total > 0 ? max(total - max(offset, 0), 0) : nil
    }
}

/// A queue of ready commands: those of one destination, quality of service and rate limit.
package struct ReadyKey: Hashable, Sendable {
    package var destination: Destination
    package var qos: QualityOfService
    /// The name of the rate limit of these commands; nil where they have none.
    package var limit: String?

    package init(destination: Destination, qos: QualityOfService, limit: String? = nil) {
        self.destination = destination
        self.qos = qos
        self.limit = limit
    }

    package init(_ command: ReadyCommand) {
        self.init(destination: command.destination, qos: command.qos, limit: command.limit)
    }
}
