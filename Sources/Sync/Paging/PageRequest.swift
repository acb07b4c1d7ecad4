internal import Transfers

/// One request of a list.
struct PageRequest: Sendable, Equatable {
    var url: ResourceURL
    /// From 1.
    var number: Int64
    /// The value that leads to this page, with `"by": "cursor"`.
    var cursor: String?
}

/// The pace of the requests of one sync. A list whose pages come from memory, or whose pages have no end, would
/// otherwise get thousands of requests a second.
struct PagePace {
    /// Between the starts of two requests: 50 pages a second.
    static let interval: Duration = .milliseconds(20)
    /// Pages before the pace applies, for short lists.
    private static let free = 10

    private var requests = 0
    private var next: ContinuousClock.Instant?

    /// The time at which the next request starts.
    mutating func start(now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        requests += 1
        let start = requests <= Self.free ? now : max(now, next ?? now)
        next = start + Self.interval
        return start
    }
}
