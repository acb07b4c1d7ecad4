/// The target of a figure.
struct Target: Sendable {
    enum Bound: Sendable {
        case atMost(Double)
        case atLeast(Double)
        case between(Double, Double)

        func isMet(by value: Double) -> Bool {
            switch self {
            case .atMost(let limit): value <= limit
            case .atLeast(let limit): value >= limit
            case .between(let low, let high): (low...high).contains(value)
            }
        }

        /// The value of a run that did not reach the figure.
        var worst: Double {
            switch self {
            case .atMost, .between: 1e12
            case .atLeast: -1e12
            }
        }

        var text: String {
            switch self {
            case .atMost(let limit): "≤ \(limit.short)"
            case .atLeast(let limit): "≥ \(limit.short)"
            case .between(let low, let high): "\(low.short)–\(high.short)"
            }
        }
    }

    var figure: String
    var bound: Bound
    /// The arm by whose median the figure is divided; nil for an absolute figure.
    var relativeTo: Arm?

    init(_ figure: String, _ bound: Bound, relativeTo: Arm? = nil) {
        self.figure = figure
        self.bound = bound
        self.relativeTo = relativeTo
    }
}
