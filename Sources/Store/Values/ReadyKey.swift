package import Commands

/// A queue of ready commands: those of one destination and quality of service.
package struct ReadyKey: Hashable, Sendable {
    package var destination: Destination
    package var qos: QualityOfService

    package init(destination: Destination, qos: QualityOfService) {
        self.destination = destination
        self.qos = qos
    }
}
