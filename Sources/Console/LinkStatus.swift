package import NetworkControl

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
