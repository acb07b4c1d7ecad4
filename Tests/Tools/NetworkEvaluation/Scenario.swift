import TestSupport

/// A situation on emulated links, its events, and the targets of its figures.
struct Scenario: Sendable {
    var name: String
    /// The description in the report.
    var title: String
    var uplink: EmulatedLink
    /// The link of each destination behind the uplink; nil for none.
    var destinations: [EmulatedLink?] = [nil]
    var targets: [Target]
    var arms: [Arm] = Arm.allCases
    /// The minimum length of a meaningful run.
    var minSeconds = 0.0
    /// Keys of `sluice.yaml` in addition to those of the arm.
    var policy: [String: String] = [:]
    /// The slots of each worker; nil for those of the arm.
    var concurrency: Int?
    /// Whether ``run`` starts Sluice itself.
    var startsItself = false
    /// Whether the record has every arm of this scenario, and more and longer runs.
    var isMain = false
    /// The maximum number of concurrent other runs. Limited for scenarios that measure processor time or
    /// milliseconds, or saturate the disk.
    var neighbours = Int.max
    /// Runs the scenario, and writes its figures into the record of the stage.
    var run: @Sendable (Stage) async throws -> Void

    static let all: [Scenario] =
        priority + changes + resumes + [reaction] + capacity + outages + [flap, loss] + others + faults + [
            starvation, overhead, kill,
        ] + admission + downloads

    /// The extent of the record that PERFORMANCE.md shows.
    var recorded: Extent {
        isMain
            ? Extent(arms: arms, repetitions: 5, seconds: 150)
            : Extent(arms: [.ours, .fixed8] + targets.compactMap(\.relativeTo), repetitions: 3, seconds: 60)
    }

    /// The rate of the fastest link; 1 Gbit/s for a link without a rate.
    var megabits: Double {
        let links = [uplink] + destinations.compactMap { $0 }
        return (links.compactMap(\.rate).max() ?? 1e9) / 1e6
    }

    /// The same scenario with a limit in Mbit/s for the shared link; nil for no limit.
    func over(uplink max: Double?) -> Scenario {
        guard let max, let rate = uplink.rate else { return self }
        var scenario = self
        scenario.uplink.rate = min(rate, max * 1e6)
        return scenario
    }

    static func named(_ name: String) -> Scenario? { all.first { $0.name == name } }
}
