internal import Commands

/// The transitions that a stream `log` sends. A nil admits every value.
struct LogFilter: Sendable, Hashable {
    var ids: Set<CommandID>?
    var destinations: Set<Destination>?
    var statuses: Set<CommandStatus>?
    var types: Set<String>?
    var qos: Set<QualityOfService>?

    func admits(_ event: StatusEvent) -> Bool {
        ids?.contains(event.transition.id) ?? true
            && destinations?.contains(event.destination) ?? true
            && statuses?.contains(event.transition.status) ?? true
            && types?.contains(event.type) ?? true
            && qos?.contains(event.qos) ?? true
    }
}
