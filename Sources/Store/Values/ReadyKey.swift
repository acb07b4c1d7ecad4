package import Commands

package struct ReadyKey: Hashable, Sendable {
    package var destination: Destination
    package var qos: QualityOfService

    package init(destination: Destination, qos: QualityOfService) {
        self.destination = destination
        self.qos = qos
    }
}
