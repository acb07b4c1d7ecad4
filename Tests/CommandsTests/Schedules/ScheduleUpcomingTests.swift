import Commands
import Testing

@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct ScheduleUpcomingTests {
    @Test func `a local time that does not exist has a note`() throws {
        let timing = try ScheduleCases.timing("30 2 * * *", zone: "Europe/Berlin")
        let times = try timing.upcoming(3, after: ScheduleCases.time("2026-03-27T12:00:00Z"))
        #expect(
            times.map { String($0.time.nominal.description.prefix(16)) } == [
                "2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30",
            ])
        #expect(times.map(\.note) == [nil, "02:30 does not exist that day", nil])
        #expect(times.map(\.offset) == [3600, 7200, 7200])
    }

    @Test func `a missing zone throws`() throws {
        let timing = try ScheduleCases.timing("30 2 * * *", zone: "Europe/Pariss")
        #expect(throws: TimeZoneError.self) { try timing.upcoming(1, after: .zero) }
    }

    @Test func `the jitter of a time depends on the name and the time alone`() throws {
        let timing = try ScheduleCases.timing("0 1 * * *", jitter: .seconds(600))
        let after = try ScheduleCases.time("2026-06-01T00:00:00Z")
        let times = try timing.upcoming(200, after: after)
        let delays = times.map { $0.time.notBefore - $0.time.nominal }
        #expect(try timing.upcoming(200, after: after) == times)
        #expect(delays.allSatisfy { $0 >= .zero && $0 < .seconds(600) })
        #expect(delays.contains { $0 < .seconds(120) } && delays.contains { $0 > .seconds(480) })
        let other = try ScheduleCases.timing("0 1 * * *", jitter: .seconds(600), name: "weekly")
        #expect(try other.upcoming(200, after: after) != times)
        // The published form, so that another program can compute it.
        #expect(delays[0] == .milliseconds(228_881))
    }

    @Test func `the jitter is below half of the gap to the next time`() throws {
        let timing = try ScheduleCases.timing("* * * * *", jitter: .seconds(3600))
        let times = try timing.upcoming(200, after: .zero)
        #expect(times.allSatisfy { $0.time.notBefore - $0.time.nominal < .seconds(30) })
        #expect(times.contains { $0.time.notBefore - $0.time.nominal > .seconds(20) })
    }

    @Test func `the jitter of a fire is the one that was shown`() throws {
        let timing = try ScheduleCases.timing("0 1 * * *", jitter: .seconds(600))
        let state = timing.firstState(now: try ScheduleCases.time("2026-06-01T00:00:00Z"))
        let next = try #require(state.next)
        let shown = try timing.upcoming(1, after: state.since)
        #expect(timing.decision(for: state, now: next, last: nil).fires == shown.map(\.time))
    }
}
