package import Commands

/// A command that a worker executes.
package struct RunningCommand: Sendable, Equatable {
    package var id: CommandID
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    /// When its status last changed.
    package var since: Timestamp
    package var progress = CommandProgress()
    /// The file or URL; nil where it is not known.
    package var name: String?

    package init(
        id: CommandID, type: String, qos: QualityOfService, destination: Destination, since: Timestamp,
        progress: CommandProgress = CommandProgress(), name: String? = nil
    ) {
        self.id = id
        self.type = type
        self.qos = qos
        self.destination = destination
        self.since = since
        self.progress = progress
        self.name = name
    }
}
