/// A transition with the fields of its command that an event carries.
package struct StatusEvent: Sendable, Equatable {
    package var transition: Transition
    package var type: String
    package var qos: QualityOfService
    package var destination: Destination
    package var retries: Int
    package var shard: Int

    package init(
        transition: Transition, type: String, qos: QualityOfService, destination: Destination, retries: Int, shard: Int
    ) {
        self.transition = transition
        self.type = type
        self.qos = qos
        self.destination = destination
        self.retries = retries
        self.shard = shard
    }
}
