internal import Commands

/// How many commands are offered or claimed, by destination and class.
struct InFlight: Sendable {
    private var counts: [ReadyQueue.Group: Int] = [:]
    /// To all that have a link: of high quality, and of middle and low.
    private(set) var high = 0
    private(set) var others = 0

    /// One more would be beyond what there may be in all. The two are counted apart, so that neither waits for the other.
    func isFull(_ serviceClass: ServiceClass, of most: Int) -> Bool {
        (serviceClass == .high ? high : others) >= most
    }

    subscript(destination: Destination, serviceClass: ServiceClass) -> Int {
        counts[.init(destination: destination, serviceClass: serviceClass)] ?? 0
    }

    mutating func count(_ destination: Destination, _ serviceClass: ServiceClass, by difference: Int) {
        counts.count(.init(destination: destination, serviceClass: serviceClass), by: difference)
        guard destination != .none else { return }
        if serviceClass == .high { high += difference } else { others += difference }
    }
}
