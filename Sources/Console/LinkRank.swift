internal import Commands
internal import NetworkControl

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
