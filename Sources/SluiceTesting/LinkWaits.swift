internal import Commands

/// Commands that a failure of their link has released. Each waits 1 s × 2ⁿ, at most 60 s, before it runs again, as the
/// coordinator makes it wait, but without jitter. The waits of a destination end when it answers a command. Pure.
struct LinkWaits {
    private struct Wait {
        var destination: Destination
        /// In a row.
        var failures: Int
        var until: Timestamp
    }

    private var waits: [CommandID: Wait] = [:]

    private static let maxDoublings = 6
    private static let maxWait = Duration.seconds(60)

    mutating func failed(_ id: CommandID, to destination: Destination, now: Timestamp) {
        let failures = waits[id]?.failures ?? 0
        let wait = min(.seconds(1 << min(failures, Self.maxDoublings)), Self.maxWait)
        waits[id] = Wait(destination: destination, failures: failures + 1, until: now + wait)
    }

    mutating func answered(_ destination: Destination) {
        waits = waits.filter { $0.value.destination != destination }
    }

    mutating func ended(_ id: CommandID) { waits[id] = nil }

    func holds(_ id: CommandID, now: Timestamp) -> Bool { waits[id].map { $0.until > now } ?? false }

    func next(after now: Timestamp) -> Timestamp? { waits.values.map(\.until).filter { $0 > now }.min() }
}
