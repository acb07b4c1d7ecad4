package import Commands

/// The bytes that a worker has moved over one link for one class since it started, including transfers that
/// have ended. Short transfers begin and end between two samples, so goodput is counted here.
package struct LinkCounter: Sendable, Equatable {
    package var destination: Destination
    package var direction: Direction
    package var serviceClass: ServiceClass
    /// Bytes acknowledged by the peer, or read; cumulative.
    package var bytes: Int64

    package init(destination: Destination, direction: Direction = .up, serviceClass: ServiceClass, bytes: Int64) {
        self.destination = destination
        self.direction = direction
        self.serviceClass = serviceClass
        self.bytes = bytes
    }
}
