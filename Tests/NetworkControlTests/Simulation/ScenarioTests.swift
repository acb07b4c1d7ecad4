import Commands
import TestSupport
import Testing

@testable import NetworkControl

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Scenarios of a shared link, seven seeds each: the median is compared with the target. ``Simulation`` checks
/// the invariants of every moment and names the seed that breaks one. With `SLUICE_FIGURES` set, the runs are 20 and
/// twice as long, and the figures are printed beside those of fixed limits.
@Suite(.enabled(if: runsSlowTests, "slow")) struct ScenarioTests {
    private static let megabit = 125_000.0
    private static let seeds: Range<UInt64> = wantsFigures ? 1..<21 : 1..<8
    private static let wantsFigures = getenv("SLUICE_FIGURES") != nil

    private func run(_ scenario: Simulation.Scenario, seeds: Range<UInt64> = seeds) -> [Simulation.Figures] {
        var scenario = scenario
        if Self.wantsFigures { scenario.duration *= 2 }
        let all = seeds.map { Simulation.run(scenario, seed: $0) }
        if Self.wantsFigures { show(scenario, all) }
        return all
    }

    private func show(_ scenario: Simulation.Scenario, _ all: [Simulation.Figures]) {
        var line = "simulated \(scenario.name): goodput \(percent(median(all.map(\.share)))) "
        line +=
            "(\(percent(all.map(\.share).min() ?? 0)) at least), mean limit \(tenths(median(all.map(\.meanLimit)))), "
        line += "levels entered \(Int(median(all.map { Double($0.levels.count) })))"
        for fixed in [1, 8, 32] where scenario.high == nil {
            var other = scenario
            other.fixed = fixed
            line += ", fixed \(fixed) \(percent(median((1..<6).map { Simulation.run(other, seed: $0).share })))"
        }
        var other = scenario
        other.tuning.keepUp = 1.05
        other.tuning.keepDown = 0.98
        line += ", kept at 1.05 and 0.98 \(percent(median(Self.seeds.map { Simulation.run(other, seed: $0).share })))"
        print(line)
    }

    private func show(_ name: String, _ values: [Double]) {
        guard Self.wantsFigures else { return }
        let sorted = values.sorted()
        print("    \(name): median \(sorted[sorted.count / 2]), 99 % \(sorted[sorted.count * 99 / 100])")
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
    private func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }
    private func percent(_ share: Double) -> String { "\(tenths(share * 100)) %" }

    // MARK: Goodput

    @Test func `few transfers fill a steady link`() {
        let all = run(.init(name: "steady 100 Mbit/s", duration: 30))
        #expect(median(all.map(\.share)) >= 0.95)
        #expect((2...10).contains(median(all.map(\.meanLimit))))
        #expect(all.allSatisfy { $0.levels.map(\.level) == [.good] })
    }

    @Test func `the limit rises where each connection has a limit of its own`() {
        var scenario = Simulation.Scenario(name: "10 Mbit/s for each connection", duration: 45)
        scenario.servers[0].connectionCapacity = 10 * Self.megabit
        let all = run(scenario)
        #expect(median(all.map(\.share)) >= 0.95)
        #expect((10...24).contains(median(all.map(\.meanLimit))))
    }

    @Test func `the limit rises for small files that are answered after 400 ms`() {
        var scenario = Simulation.Scenario(name: "200 kB files at 400 ms", duration: 60)
        scenario.servers[0].fileSize = 200_000
        scenario.servers[0].responseTime = 0.4
        #expect(median(run(scenario).map(\.share)) >= 0.85)
    }

    @Test func `as many empty files end per second as files of 1 kB`() {
        var scenario = Simulation.Scenario(name: "files of 1 kB, answers after 0.4 s", duration: 60)
        scenario.fileSize = { _ in 1000 }
        scenario.servers[0].responseTime = 0.4
        let small = run(scenario).map { $0.finished(in: 0..<60) }
        scenario.name = "empty files, answers after 0.4 s"
        scenario.fileSize = { _ in 0 }
        let empty = run(scenario).map { $0.finished(in: 0..<60) }
        show("files a second", empty)
        show("of 1 kB", small)
        #expect(median(empty) >= 0.9 * median(small))
        #expect((empty.min() ?? 0) >= 0.75 * median(small))
    }

    @Test(arguments: [1000.0, 50_000]) func `files that become small reach their rate within 5 s`(size: Double) {
        var scenario = Simulation.Scenario(name: "files of 1 MB, then of \(size) B, answers after 0.4 s", duration: 60)
        scenario.fileSize = { $0 < 30 ? 1_000_000 : size }
        scenario.servers[0].responseTime = 0.4
        let all = run(scenario)
        show("files a second at 5 s", all.map { $0.finished(in: 35..<37) })
        #expect(median(all.map { $0.finished(in: 35..<37) }) >= 0.9 * 75)
        for (seed, figures) in zip(Self.seeds, all) {
            // A trial may be under way.
            let before = figures.limits[96..<120].min() ?? 0
            #expect(figures.finished(in: 35..<37) >= 0.7 * 75, "seed \(seed)")
            #expect(figures.limits[120...].min() ?? 0 >= before, "seed \(seed): \(figures.limits[110...])")
            #expect(figures.levels.map(\.level) == [.good], "seed \(seed)")
        }
    }

    @Test func `a rate that a person set does not hold the climb back`() {
        var scenario = Simulation.Scenario(name: "64 kB files, answers after 0.4 s", duration: 40)
        scenario.servers[0].fileSize = 64_000
        scenario.servers[0].responseTime = 0.4
        scenario.weather = { _ in Weather(capacity: 200 * Self.megabit) }
        let free = run(scenario).map(\.meanLimit)
        scenario.name += ", 100 Mbit/s set"
        let server = Destination(scheme: "http", host: "server0", port: 80)
        scenario.policy.destinations[server] = DestinationLimits(maxRate: Int64(100 * Self.megabit))
        let paced = run(scenario)
        show("mean limit", paced.map(\.meanLimit))
        #expect(median(paced.map(\.meanLimit)) >= 0.8 * median(free))
        scenario.policy.destinations[server] = DestinationLimits(maxRate: Int64(8 * Self.megabit))
        #expect(median(run(scenario).map { $0.moved / 40 / Self.megabit }) >= 7)
    }

    @Test func `loss does not lower the limit`() {
        var scenario = Simulation.Scenario(name: "loss 0 to 5 %", duration: 45)
        scenario.weather = { Weather(loss: $0 > 15 ? 0.05 : 0) }
        let all = run(scenario)
        scenario.fixed = 32
        let most = Self.seeds.prefix(5).map { Simulation.run(scenario, seed: $0).share }
        #expect(median(all.map(\.share)) >= 0.95 * median(most))
        #expect(all.allSatisfy { $0.levels.map(\.level) == [.good] })
    }

    @Test func `a longer round trip does not lower the level`() {
        var scenario = Simulation.Scenario(name: "round trip 30 to 300 to 30 ms", duration: 45)
        scenario.weather = { Weather(rtt: (15..<30).contains($0) ? 0.3 : 0.03) }
        let all = run(scenario)
        #expect(median(all.map(\.share)) >= 0.9)
        #expect(all.filter { $0.levels.contains { $0.level > .good } }.count <= 2)
    }

    @Test(arguments: [1, 2, 4, 8, 16, 32]) func `the estimate does not depend on the number of transfers`(
        transfers: Int
    ) {
        var scenario = Simulation.Scenario(name: "estimate", duration: 6)
        scenario.weather = { _ in Weather(capacity: 20 * Self.megabit) }
        scenario.servers[0].fileSize = 20_000_000
        scenario.fixed = transfers
        for seed in Self.seeds {
            let estimates = Simulation.run(scenario, seed: seed).estimates.filter { $0.at > 3 }.map(\.estimate)
            let error = median(estimates) / (20 * Self.megabit) - 1
            #expect(abs(error) <= 0.1, "seed \(seed)")
        }
    }

    // MARK: Change

    @Test func `a link that falls from 100 to 2 Mbit per second and recovers is followed within seconds`() {
        var scenario = Simulation.Scenario(name: "100 to 2 to 100 Mbit/s", duration: 60)
        scenario.weather = { Weather(capacity: ((20..<40).contains($0) ? 2 : 100) * Self.megabit) }
        let all = run(scenario)
        let detected = all.map { $0.detection(of: .degraded, from: 20) }
        let recovered = all.map { $0.recovery(from: 40, to: 80 * Self.megabit) }
        show("detected", detected)
        show("recovered", recovered)
        #expect(median(all.map(\.share)) >= 0.93)
        #expect(detected.allSatisfy { $0 <= 1.5 })
        #expect(recovered.allSatisfy { $0 <= 5 })
        // Degraded, and good again: one change of level for each change of the link.
        #expect(all.allSatisfy { $0.levels.map(\.level) == [.good, .degraded, .good] })
    }

    @Test func `the limit rises for slow connections on a wide link`() {
        var scenario = Simulation.Scenario(name: "0.4 Mbit/s for each connection", duration: 120, warmUp: 60)
        scenario.servers[0].connectionCapacity = 0.4 * Self.megabit
        let rates = run(scenario).map { $0.moved / 60 / Self.megabit }
        show("Mbit/s", rates)
        #expect(rates.allSatisfy { $0 >= 0.8 * 32 * 0.4 })
    }

    @Test func `low quality alone uses all of a degraded link`() {
        var scenario = Simulation.Scenario(name: "low quality alone at 2 Mbit/s", duration: 45, warmUp: 25)
        scenario.weather = { Weather(capacity: ($0 < 20 ? 100 : 2) * Self.megabit) }
        scenario.servers[0].qualities = [.utility, .background]
        #expect(median(run(scenario).map(\.share)) >= 0.9)
    }

    @Test(arguments: [false, true]) func `a link recovers within three seconds after a blackout`(refuses: Bool) {
        var scenario = Simulation.Scenario(name: "blackout of 30 s, \(refuses ? "refused" : "silent")", duration: 55)
        scenario.weather = {
            Weather(capacity: (15..<45).contains($0) ? 0 : 100 * Self.megabit, refuses: refuses)
        }
        let all = run(scenario)
        let recovered = all.map { $0.recovery(from: 45, to: 80 * Self.megabit) }
        show("recovered", recovered)
        show("probes", all.map { Double($0.probes.count) })
        #expect(recovered.allSatisfy { $0 <= 3 })
        #expect(all.allSatisfy { $0.resent <= 0.005 * $0.moved })
        #expect(all.allSatisfy { $0.detection(of: .offline, from: 15) <= 4 })
        #expect(all.allSatisfy { $0.levels.map(\.level).filter { $0 == .offline }.count == 1 })
    }

    @Test func `a probe goes every thirty seconds of a long outage, and the link recovers with the next`() {
        var scenario = Simulation.Scenario(name: "blackout of six minutes", duration: 425)
        scenario.weather = { Weather(capacity: (15..<375).contains($0) ? 0 : 100 * Self.megabit) }
        for (seed, figures) in zip(Self.seeds, run(scenario)) {
            let probes = figures.probes.filter { (20..<375).contains($0) }
            #expect(probes.count >= 10, "seed \(seed)")
            #expect(zip(probes, probes.dropFirst()).allSatisfy { $1 - $0 <= 30.5 }, "seed \(seed): \(probes)")
            #expect(figures.recovery(from: 375, to: 80 * Self.megabit) <= 35, "seed \(seed)")
        }
    }

    @Test func `a flapping link changes its level as often as it flaps`() {
        var scenario = Simulation.Scenario(name: "50 and 5 Mbit/s in turn, 20 s each", duration: 80)
        scenario.weather = { Weather(capacity: (Int($0 / 20) % 2 == 0 ? 50 : 5) * Self.megabit) }
        let all = run(scenario)
        #expect(median(all.map(\.share)) >= 0.9)
        if !Self.wantsFigures {
            #expect(all.allSatisfy { $0.levels.map(\.level) == [.good, .degraded, .good, .degraded] })
        }
    }

    // MARK: Servers

    @Test func `a server that takes six requests gets five or six`() {
        var scenario = Simulation.Scenario(name: "503 above 6", duration: 40)
        scenario.servers[0].connectionCapacity = 10 * Self.megabit
        scenario.servers[0].maxConnections = 6
        scenario.servers[0].fileSize = 500_000
        let all = run(scenario)
        let rejected = all.map { Double($0.lateRejected) / Double(max($0.lateRequests, 1)) }
        show("refused", rejected)
        #expect(rejected.allSatisfy { $0 <= 0.02 })
        #expect(all.allSatisfy { (4.5...6.5).contains($0.meanLimit) })
    }

    @Test func `a slow destination does not slow another one down`() {
        var scenario = Simulation.Scenario(name: "A alone", duration: 30)
        scenario.weather = { _ in Weather(capacity: 110 * Self.megabit) }
        scenario.servers[0].capacity = 100 * Self.megabit
        let alone = run(scenario)
        scenario.name = "A beside B"
        scenario.servers.append(Server(capacity: Self.megabit, responseTime: 3, fileSize: 200_000))
        let both = run(scenario)
        let shares = zip(both, alone).map { $0.movedByServer[0] / $1.movedByServer[0] }
        show("A's share", shares)
        #expect(median(shares) >= 0.98)
    }

    @Test func `twenty destinations share the slots`() {
        var scenario = Simulation.Scenario(name: "twenty destinations", duration: 20)
        scenario.servers = (0..<20).map { _ in Server(connectionCapacity: 2 * Self.megabit, fileSize: 500_000) }
        // The simulation records an issue if more than 64 slots are used.
        let all = run(scenario)
        #expect(all.allSatisfy { $0.movedByServer.allSatisfy { $0 > 0 } })
    }

    // MARK: High quality

    @Test(arguments: [20.0, 2.0], [false, true])
    func `a high transfer every 10 s is as fast as alone`(megabits: Double, isElsewhere: Bool) {
        let name = "high every 10 s at \(megabits) Mbit/s\(isElsewhere ? ", to another destination" : "")"
        var scenario = Simulation.Scenario(name: name, duration: 35, warmUp: 5)
        scenario.weather = { _ in Weather(capacity: megabits * Self.megabit) }
        scenario.servers[0].qualities = [.utility, .background]
        if isElsewhere { scenario.servers.append(Server(fileSize: 0)) }
        // A second's worth of the link.
        scenario.high = (isElsewhere ? 1 : 0, megabits * Self.megabit, 10)
        let all = run(scenario)
        let slowdowns = all.flatMap(\.slowdowns).sorted()
        show("slowdown", slowdowns)
        show("standstill", all.map(\.maxStandstill))
        #expect(slowdowns.count >= 3 * all.count)
        #expect(median(slowdowns) <= (megabits > 10 ? 1.15 : 1.3))
        #expect((slowdowns.last ?? 9) <= (megabits > 10 ? 1.5 : 2))
        #expect(all.allSatisfy { $0.maxStandstill <= 60 })
        // The simulation records an issue if there are two within five seconds.
        if megabits < 10 { #expect(all.allSatisfy { !$0.lastCuts.isEmpty }) }
    }

    @Test(arguments: [(2.0, false, false), (2, true, true), (20, false, true), (20, true, false)])
    func `all low transfers end despite a high transfer every 10 s`(
        megabits: Double, isElsewhere: Bool, isResumable: Bool
    ) {
        var scenario = Simulation.Scenario(name: "every low transfer ends", duration: 90)
        scenario.weather = { _ in Weather(capacity: megabits * Self.megabit) }
        scenario.servers[0].isResumable = isResumable
        scenario.servers[0].fileSize = megabits * 250_000
        if isElsewhere { scenario.servers.append(Server(fileSize: 0)) }
        scenario.files = 6
        scenario.high = (isElsewhere ? 1 : 0, megabits * Self.megabit, 10)
        for (seed, figures) in zip(Self.seeds, run(scenario)) {
            #expect(figures.finished.count == 6, "seed \(seed)")
        }
    }

    /// Ten minutes for a seed; the others need no more than the longest standstill.
    @Test(arguments: [(1..<2, 610.0), (2..<8, 75.0)])
    func `low transfers are not starved by endless high quality`(seeds: Range<UInt64>, duration: Double) {
        var scenario = Simulation.Scenario(name: "high for \(duration) s", duration: duration)
        scenario.weather = { _ in Weather(capacity: 20 * Self.megabit) }
        scenario.high = (0, 25_000_000, 0)
        let all = run(scenario, seeds: seeds)
        show("standstill", all.map(\.maxStandstill))
        #expect(all.allSatisfy { $0.maxStandstill <= 60 })
        #expect(all.allSatisfy { $0.share >= 0.9 })
    }
}
