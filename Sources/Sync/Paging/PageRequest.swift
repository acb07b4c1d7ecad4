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

/// The parts of an answer that lead to the next page.
struct PageAnswer: Sendable {
    /// The URL that answered, after redirects; relative references start from it.
    var url: ResourceURL
    /// The values of the `Link` fields.
    var links: [String] = []
    var cursor = EnvelopeValue.missing
    var total = EnvelopeValue.missing
    /// The value at “more”.
    var more = EnvelopeValue.missing
    /// The value at “lastRecord” in the last record of the page.
    var lastRecord = EnvelopeValue.missing
    /// Members of the answer that look like those of a list of several pages.
    var signs = PagingSigns()
    /// Elements of the list, with those that were rejected.
    var items: Int
    /// The ones of ``items`` with a key that no page before had.
    var newItems: Int

    init(url: ResourceURL, items: Int, newItems: Int? = nil) {
        (self.url, self.items, self.newItems) = (url, items, newItems ?? items)
    }
}
