import TestSupport

/// A situation, what happens in it, and what must come out.
struct Scenario: Sendable {
    var name: String
    /// For the report.
    var title: String
    var uplink: EmulatedLink
    /// A link of its own for each destination, or nil.
    var destinations: [EmulatedLink?] = [nil]
    var targets: [Target]
    var arms: [Arm] = Arm.allCases
    /// A shorter run would show nothing.
    var minSeconds = 0.0
    /// `sluice.yaml` beyond the arm's.
    var policy: [String: String] = [:]
    /// Places of each worker; nil: the arm's.
    var concurrency: Int?
    /// Whether ``run`` starts Sluice itself.
    var startsItself = false
    /// Whether its record has every arm, and more and longer runs.
    var isMain = false
    /// Runs beside it at most, where it measures processor time or milliseconds, or takes all that the disk can do.
    var neighbours = Int.max
    /// Does it, and puts figures into the stage's record.
    var run: @Sendable (Stage) async throws -> Void

    static let all: [Scenario] =
        priority + changes + resumes + [reaction] + capacity + outages + [flap, loss] + others + faults + [
            starvation, overhead, kill,
        ] + admission

    /// What the README quotes.
    var recorded: Extent {
        isMain
            ? Extent(arms: arms, repetitions: 5, seconds: 150)
            : Extent(arms: [.ours, .fixed8] + targets.compactMap(\.relativeTo), repetitions: 3, seconds: 60)
    }

    /// Of its fastest link; without a rate what the machine can do.
    var megabits: Double {
        let links = [uplink] + destinations.compactMap { $0 }
        return (links.compactMap(\.rate).max() ?? 1e9) / 1e6
    }

    /// The same with a shared link of so many Mbit/s at most; nil: as it is.
    func over(uplink most: Double?) -> Scenario {
        guard let most, let rate = uplink.rate else { return self }
        var scenario = self
        scenario.uplink.rate = min(rate, most * 1e6)
        return scenario
    }

    static func named(_ name: String) -> Scenario? { all.first { $0.name == name } }
}

/// How often and how long a scenario is run.
struct Extent: Sendable {
    var arms: [Arm]
    var repetitions: Int
    var seconds: Double
}

/// A figure and what it must be.
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

        /// What no run may be.
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
    /// The figure is divided by this arm's median first.
    var relativeTo: Arm?

    init(_ figure: String, _ bound: Bound, relativeTo: Arm? = nil) {
        self.figure = figure
        self.bound = bound
        self.relativeTo = relativeTo
    }
}
