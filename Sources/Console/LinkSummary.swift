package import NetworkControl

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
