internal import Commands

/// How many commands are offered or claimed, by destination and class.
struct InFlight: Sendable {
    private var counts: [ReadyQueue.Group: Int] = [:]
    /// Of middle and low quality, to all that have a link.
    private(set) var onLinks = 0

    subscript(destination: Destination, serviceClass: ServiceClass) -> Int {
        counts[.init(destination: destination, serviceClass: serviceClass)] ?? 0
    }

    mutating func count(_ destination: Destination, _ serviceClass: ServiceClass, by difference: Int) {
        counts.count(.init(destination: destination, serviceClass: serviceClass), by: difference)
        if destination != .none, serviceClass != .high { onLinks += difference }
    }
}
