package import Commands

package struct CommandFilter: Sendable, Equatable {
    package var status: CommandStatus?
    package var qos: QualityOfService?
    package var destination: Destination?

    package init(status: CommandStatus? = nil, qos: QualityOfService? = nil, destination: Destination? = nil) {
        self.status = status
        self.qos = qos
        self.destination = destination
    }
}
