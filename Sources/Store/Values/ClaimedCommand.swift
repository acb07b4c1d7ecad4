package import Commands

/// A command that a worker has claimed.
package struct ClaimedCommand: Sendable, Equatable {
    package var id: CommandID
    package var status: CommandStatus
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var seat: Int
    /// Of the worker.
    package var epoch: Int64
    package var claim: Int
    package var retries: Int
    package var suspect: Bool
    package var updatedAt: Timestamp
    /// The name of its rate limit.
    package var limit: String?

    /// - Parameter epoch: of the worker that sits in the seat of `command`.
    package init(_ command: Command, epoch: Int64) {
        id = command.id
        status = command.status
        type = command.type
        qos = command.qos
        destination = command.destination
        seat = command.seat ?? 0
        self.epoch = epoch
        claim = command.claim
        retries = command.retries
        suspect = command.suspect
        updatedAt = command.updatedAt
        limit = command.limit
    }
}
