internal import Commands
package import NetworkControl

/// The links that matter most, and the sum of the others. Keeps no more links than it shows, however many are
/// added.
package struct LinkOverview: Sendable, Equatable {
    private struct Entry: Equatable {
        var rank: LinkRank
        var link: LinkReport
    }

    /// Links shown unless all are asked for.
    package static let maxShown = 20

    /// The sum of the links that are not shown.
    package private(set) var rest = LinkSummary()
    /// Nil: every link is shown.
    private let limit: Int?
    private var uplinks: [Entry] = []
    /// Sorted where there is a limit.
    private var others: [Entry] = []

    /// - Parameter limit: of links shown, uplinks included, which are shown at any limit above 0; nil shows
    ///   every link.
    package init(limit: Int? = maxShown) { self.limit = limit }

    package init(_ links: some Sequence<LinkReport>, limit: Int? = maxShown) {
        self.init(limit: limit)
        for link in links { add(link) }
    }

    package mutating func add(_ link: LinkReport) {
        let entry = Entry(rank: LinkRank(link), link: link)
        guard let limit else {
            others.append(entry)
            return
        }
        if link.isUplink, limit > 0 {
            uplinks.append(entry)
        } else {
            if others.count == room(limit), let last = others.last, last.rank < entry.rank { return rest.add(link) }
            others.insert(entry, at: others.firstIndex { entry.rank < $0.rank } ?? others.count)
        }
        while others.count > room(limit), let last = others.popLast() { rest.add(last.link) }
    }

    /// The shown links in their order.
    package var shown: [LinkReport] { (uplinks + others).sorted { $0.rank < $1.rank }.map(\.link) }

    /// The number of links, shown or not.
    package var count: Int { uplinks.count + others.count + rest.count }

    /// An overview that shows at most `limit` of these links, with the others in the sum.
    package func limited(to limit: Int) -> Self {
        var overview = Self(limit: limit)
        overview.rest = rest
        for entry in uplinks + others { overview.add(entry.link) }
        return overview
    }

    /// Changes shown links, in fields that their order does not depend on.
    mutating func completeShown(_ complete: (inout LinkReport) -> Void) {
        for index in uplinks.indices { complete(&uplinks[index].link) }
        for index in others.indices { complete(&others[index].link) }
    }

    private func room(_ limit: Int) -> Int { max(limit - uplinks.count, 0) }
}

/// The order of links for a person: first by state, the worst first; then by traffic, the busiest first; then
/// by name.
///
/// Traffic counts as commands that wait at the circuit breaker, then bytes per second, then transfers. Rates
/// and transfers are compared by their powers of two, so that rows do not move with each measurement.
struct LinkRank: Comparable {
    private let severity: Int
    private let waiting: Int
    private let rate: Int
    private let inFlight: Int
    private let destination: String
    private let direction: String

    init(_ link: LinkReport) {
        severity = LinkStatus(link).severity
        waiting = link.circuitBreaker?.waiting ?? 0
        rate = Self.doublings(link.currentRate)
        inFlight = Self.doublings(link.allInFlight)
        destination = link.destination
        direction = link.direction.rawValue
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.severity != right.severity { return left.severity < right.severity }
        if left.waiting != right.waiting { return left.waiting > right.waiting }
        if left.rate != right.rate { return left.rate > right.rate }
        if left.inFlight != right.inFlight { return left.inFlight > right.inFlight }
        return (left.destination, left.direction) < (right.destination, right.direction)
    }

    /// Binary digits of a number: 0 for 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7.
    private static func doublings(_ count: Int64) -> Int { Int64.bitWidth - count.leadingZeroBitCount }
}

/// The state that a link is listed by: its circuit breaker while that is not closed, otherwise its level.
package enum LinkStatus: Int, Sendable, CaseIterable {
    case circuitBreakerOpen, offline, poor, degraded, good, unknown

    package init(_ link: LinkReport) {
        self =
            switch link.level {
            case _ where link.circuitBreaker != nil: .circuitBreakerOpen
            case .offline: .offline
            case .poor: .poor
            case .degraded: .degraded
            case .good: .good
            case .unknown: .unknown
            }
    }

    /// Words that follow a number of links: `12 offline`, `1 with an open circuit breaker`.
    package var text: String {
        switch self {
        case .circuitBreakerOpen: "with an open circuit breaker"
        case .offline, .poor, .degraded, .good, .unknown: "\(self)"
        }
    }

    /// The rank in the order of links. An unknown level counts as good: there is no evidence against the
    /// link.
    var severity: Int { self == .unknown ? Self.good.rawValue : rawValue }
}

/// The sum of links that are not shown one by one.
package struct LinkSummary: Sendable, Equatable {
    private var counts = [Int](repeating: 0, count: LinkStatus.allCases.count)
    private var waiting: Int64 = 0
    /// A circuit breaker stops counting its waiting commands at a maximum, so the sum may be too low.
    private var isWaitingAtLeast = false
    package private(set) var inFlight: Int64 = 0
    /// Bytes per second.
    package private(set) var rate: Int64 = 0

    package init() {}

    /// The number of links in the sum.
    package var count: Int { counts.reduce(0, +) }

    package func count(_ standing: LinkStatus) -> Int { counts[standing.rawValue] }

    package mutating func add(_ link: LinkReport) {
        counts[LinkStatus(link).rawValue] += 1
        if let circuitBreaker = link.circuitBreaker {
            waiting = Self.sum(waiting, Int64(circuitBreaker.waiting))
            isWaitingAtLeast = isWaitingAtLeast || !circuitBreaker.isWaitingExact
        }
        // The traffic of an uplink is that of its destinations, which are in the sum themselves.
        guard !link.isUplink else { return }
        inFlight = Self.sum(inFlight, link.allInFlight)
        rate = Self.sum(rate, link.currentRate)
    }

    /// `12 offline, 4,968 good`; `good` for a single link, `all good` where the links are alike.
    package var standings: String {
        let present = LinkStatus.allCases.filter { count($0) > 0 }
        if present.count == 1, let only = present.first { return (count == 1 ? "" : "all ") + only.text }
        return present.map { "\(Figures.grouped(Int64(count($0)))) \($0.text)" }.joined(separator: ", ")
    }

    /// `120 commands wait, 3 in flight, 1.2 MB/s`; empty where nothing waits or moves.
    package var traffic: String {
        var parts: [String] = []
        if waiting > 0 {
            let count = Figures.grouped(waiting) + (isWaitingAtLeast ? " or more" : "")
            parts.append(waiting == 1 ? "1 command waits" : "\(count) commands wait")
        }
        if inFlight > 0 { parts.append("\(Figures.grouped(inFlight)) in flight") }
        if rate > 0 { parts.append(Figures.rate(rate)) }
        return parts.joined(separator: ", ")
    }

    /// Stored figures may be damaged, so the sum stops at the largest number.
    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, isOverflow) = left.addingReportingOverflow(right)
        return isOverflow ? .max : sum
    }
}

extension LinkReport {
    /// The host's own uplink, or another.
    package var isUplink: Bool { destination.utf8.first == UInt8(ascii: "*") }

    /// Bytes per second, 0 where none were measured.
    package var currentRate: Int64 { max(rate ?? goodput ?? 0, 0) }

    /// Transfers of every quality.
    package var allInFlight: Int64 {
        let (sum, isOverflow) = max(inFlight ?? 0, 0).addingReportingOverflow(max(highInFlight ?? 0, 0))
        return isOverflow ? .max : sum
    }
}

extension CircuitBreakerState {
    /// Counting stops at a maximum.
    var isWaitingExact: Bool { waiting < Self.maxWaitingCounted }

    /// `3 commands wait`.
    package var waitingText: String {
        switch waiting {
        case 1: "1 command waits"
        case _ where isWaitingExact: "\(waiting) commands wait"
        default: "\(Self.maxWaitingCounted) or more commands wait"
        }
    }
}
