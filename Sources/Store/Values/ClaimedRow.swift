package import Commands

/// A command in the hands of a worker.
package struct ClaimedRow: Sendable, Equatable {
    package var id: CommandID
    package var status: CommandStatus
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var seat: Int
    package var epoch: Int64
    package var claim: Int
    package var retries: Int
    package var suspect: Bool
    package var updatedAt: Timestamp

    package init(
        id: CommandID, status: CommandStatus, type: String, qos: QualityOfService, destination: Destination, seat: Int,
        epoch: Int64, claim: Int, retries: Int, suspect: Bool, updatedAt: Timestamp
    ) {
        self.id = id
        self.status = status
        self.type = type
        self.qos = qos
        self.destination = destination
        self.seat = seat
        self.epoch = epoch
        self.claim = claim
        self.retries = retries
        self.suspect = suspect
        self.updatedAt = updatedAt
    }
}
