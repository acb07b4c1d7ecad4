package import Commands

/// Which commands a list has; a field that is nil admits all.
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
