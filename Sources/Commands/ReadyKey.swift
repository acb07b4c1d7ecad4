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
