internal import Commands

/// How many commands wait at each circuit breaker that is not closed, as counted last. Counting costs reads
/// of the store, so each round counts a few destinations, the one counted longest ago first. Pure.
struct WaitingCounts {
    private var counts: [Destination: Int] = [:]
    /// The next to be counted first.
    private var order: [Destination] = []

    /// Destinations of one round, so that an uplink whose portal affects all of them costs no more.
    static let maxPerRound = 64

    subscript(destination: Destination) -> Int { counts[destination] ?? 0 }

    mutating func remove(_ destination: Destination) { counts[destination] = nil }

    /// - Returns: whether the count has changed.
    mutating func set(_ count: Int, of destination: Destination) -> Bool {
        counts.updateValue(count, forKey: destination) != count
    }

    /// Begins a round.
    /// - Parameter current: all destinations whose circuit breaker is not closed; the others are dropped.
    /// - Returns: the destinations to be counted.
    mutating func nextRound(of current: Set<Destination>) -> [Destination] {
        counts = counts.filter { current.contains($0.key) }
        let kept = order.filter { current.contains($0) }
        order = current.subtracting(kept) + kept
        let next = Array(order.prefix(Self.maxPerRound))
        order = Array(order.dropFirst(next.count)) + next
        return next
    }
}
