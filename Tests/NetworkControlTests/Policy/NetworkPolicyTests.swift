import Commands
import Settings
import Testing

@testable import NetworkControl

@Suite struct NetworkPolicyTests {
    private func key(_ change: (inout NetworkPolicy) -> Void) -> String? {
        var policy = NetworkPolicy()
        change(&policy)
        do {
            try policy.validate()
            return nil
        } catch {
            return error.key
        }
    }

    @Test func `the default policy is the documented table, and is valid`() throws {
        let policy = NetworkPolicy()
        try policy.validate()
        let rows: [(PolicyRow, String, Int)] = [
            (policy[.unknown], "run, run, run, run, run", 64),
            (policy[.good], "run, run, run, run, run", 64),
            (policy.contended, "run, run, throttle 25%, throttle 10%, throttle 10%", 64),
            (policy[.degraded], "run, run, run, throttle 25%, throttle 10%", 4),
            (policy[.poor], "run, run, throttle 25%, preempt, preempt", 2),
            (policy[.offline], "preempt, preempt, preempt, preempt, preempt", 0),
        ]
        for (row, verbs, limit) in rows {
            #expect(QualityOfService.allCases.map { row[$0].name }.joined(separator: ", ") == verbs)
            #expect(row.limit == limit)
        }
        #expect(policy.globalLimit == 64)
    }

    @Test func `a value out of range is refused by its key`() {
        #expect(key { $0.degraded[.utility] = .throttle(percent: 0) } == "network.level.degraded.utility")
        #expect(key { $0.degraded[.background] = .throttle(percent: 101) } == "network.level.degraded.background")
        #expect(key { $0.poor[.default] = .cancel } == "network.level.poor.utility", "a lower quality may do more")
        #expect(key { $0.degraded[.userInitiated] = .pause } == "network.level.degraded.default")
        #expect(
            key { $0.contended[.userInteractive] = .throttle(percent: 50) } == "network.level.contended.userInteractive"
        )
        #expect(key { $0.offline[.background] = .run } == "network.level.offline.background")
        #expect(key { $0.good.limit = 65 } == "network.level.good.limit")
        #expect(key { $0.degraded.limit = 65 } == "network.level.degraded.limit")
        #expect(key { $0.poor.limit = 0 } == "network.level.poor.limit")
        #expect(key { $0.offline.limit = 1 } == "network.level.offline.limit")
        #expect(key { $0.globalLimit = 0 } == "network.maxTransfers")
        #expect(key { $0.thresholds.degradedRate = 1 } == "network.threshold.degradedRate")
        #expect(key { $0.thresholds.degradedShare = 0.8 } == "network.threshold.degradedShare")
        #expect(key { $0.thresholds.poorErrors = 0.1 } == "network.threshold.poorErrors")
        #expect(key { $0.thresholds.poorStalls = .nan } == "network.threshold.poorStalls")
        #expect(key { $0.thresholds.leaveFactor = 0.9 } == "network.threshold.leaveFactor")
        #expect(key { $0.thresholds.enterAfter = .zero } == "network.threshold.enterAfter")
        #expect(key { $0.preemption.waveInterval = .zero } == "network.preemption.waveInterval")
        #expect(key { $0.preemption.headStart = .seconds(31) } == "network.preemption.headStart")
        #expect(key { $0.floorPercent = 0 } == "network.floor")
        #expect(key { $0.maxStandstill = .seconds(1) } == "network.longestStandstill")
        #expect(key { $0.fixedConcurrency = 65 } == "network.fixedConcurrency")
        #expect(key { $0.fixedConcurrency = 0 } == "network.fixedConcurrency")
        let limits: [(DestinationLimits, String)] = [
            (DestinationLimits(maxConcurrency: 0), "maxConcurrency"), (DestinationLimits(maxRate: 999), "maxRate"),
            (DestinationLimits(backgroundHours: AllowedHours(from: 60, to: 60)), "backgroundHours"),
        ]
        for (limit, name) in limits {
            #expect(key { $0.destinations[destination("a")] = limit } == "destination.http://a:80.\(name)")
        }
    }

    @Test func `unusual but valid values are accepted`() {
        #expect(key { $0.degraded[.background] = .cancel } == nil)
        #expect(key { $0.offline[.background] = .cancel } == nil)
        #expect(key { $0.poor[.utility] = .pause } == nil)
        #expect(key { $0.destinations[destination("a")] = DestinationLimits(maxConcurrency: 1, maxRate: 1000) } == nil)
    }

    @Test func `hours may go over midnight`() {
        let night = AllowedHours(from: 22 * 60, to: 6 * 60)
        #expect(night.contains(minute: 23 * 60) && night.contains(minute: 0) && !night.contains(minute: 6 * 60))
        let day = AllowedHours(from: 8 * 60, to: 24 * 60)
        #expect(day.contains(minute: 8 * 60) && !day.contains(minute: 7 * 60) && day.contains(minute: 1439))
    }

    @Test func `an error reads as a sentence`() {
        var policy = NetworkPolicy()
        policy.poor.limit = 9
        #expect(throws: SettingsError.self) { try policy.validate() }
        let error = #expect(throws: SettingsError.self) { try policy.validate() }
        #expect(
            error?.description
                == "configuration: network.level.poor.limit: takes 1 to 4, which the next better level allows, not 9")
    }
}
