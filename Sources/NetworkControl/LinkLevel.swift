/// How well a link does. Worse is greater.
package enum LinkLevel: Int, Sendable, CaseIterable, Comparable {
    /// No evidence for a minute; treated as good.
    case unknown
    case good
    case degraded
    case poor
    case offline

    /// The name in events and output.
    package var name: String {
        switch self {
        case .unknown: "unknown"
        case .good: "good"
        case .degraded: "degraded"
        case .poor: "poor"
        case .offline: "offline"
        }
    }

    /// Reads ``name`` back.
    package init?(name: some StringProtocol) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
