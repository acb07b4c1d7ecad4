public import Commands

/// Which transitions a reader gets. A field that is nil admits all.
public struct TransitionFilter: Sendable, Hashable {
    /// Commands.
    public var ids: Set<CommandID>?
    /// Destinations; ``Destination/none`` admits commands without one.
    public var destinations: Set<Destination>?
    /// Statuses that a command came to.
    public var statuses: Set<CommandStatus>?
    /// Types of commands.
    public var types: Set<String>?
    /// Qualities of service of commands.
    public var qos: Set<QualityOfService>?

    /// Makes a filter. Each field is nil, which admits all, unless it is given.
    public init(
        ids: Set<CommandID>? = nil, destinations: Set<Destination>? = nil, statuses: Set<CommandStatus>? = nil
    ) {
        self.ids = ids
        self.destinations = destinations
        self.statuses = statuses
    }

    package func admits(_ event: StatusEvent) -> Bool {
        ids?.contains(event.transition.id) ?? true
            && destinations?.contains(event.destination) ?? true
            && statuses?.contains(event.transition.status) ?? true
            && types?.contains(event.type) ?? true
            && qos?.contains(event.qos) ?? true
    }
}
