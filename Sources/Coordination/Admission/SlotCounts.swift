internal import Commands

/// Slots that commands in flight hold, by destination and class. Pure.
struct SlotCounts: Sendable {
    struct Held: Sendable, Equatable {
        var high = 0
        var middle = 0
        var low = 0
        /// Middle and low commands in extra slots.
        var extra = 0

        var others: Int { middle + low }
        var all: Int { high + middle + low }
        /// Middle and low commands in ordinary slots.
        var ordinary: Int { others - extra }

        subscript(serviceClass: ServiceClass) -> Int {
            get {
                switch serviceClass {
                case .high: high
                case .middle: middle
                case .low: low
                }
            }
            set {
                switch serviceClass {
                case .high: high = newValue
                case .middle: middle = newValue
                case .low: low = newValue
                }
            }
        }
    }

    private(set) var destinations: [Destination: Held] = [:]
    /// Of all destinations that have a link.
    private(set) var linked = Held()
    /// Of all commands, with those without a destination.
    private(set) var total = Held()

    subscript(destination: Destination) -> Held { destinations[destination] ?? Held() }
    subscript(destination: Destination, serviceClass: ServiceClass) -> Int {
        destinations[destination]?[serviceClass] ?? 0
    }

    /// - Parameter step: 1 or -1.
    mutating func count(_ destination: Destination, _ serviceClass: ServiceClass, isExtra: Bool, by step: Int) {
        var held = destinations[destination] ?? Held()
        held.count(serviceClass, isExtra: isExtra, by: step)
        destinations[destination] = held == Held() ? nil : held
        total.count(serviceClass, isExtra: isExtra, by: step)
        if destination != .none { linked.count(serviceClass, isExtra: isExtra, by: step) }
    }
}

extension SlotCounts.Held {
    fileprivate mutating func count(_ serviceClass: ServiceClass, isExtra: Bool, by step: Int) {
        self[serviceClass] += step
        if isExtra, serviceClass != .high { extra += step }
    }
}
