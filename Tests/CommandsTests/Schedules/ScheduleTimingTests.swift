import Commands
import Testing

@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct ScheduleTimingTests {
    private func time(_ text: String) throws -> Timestamp { try ScheduleCases.time(text) }

    @Test(arguments: [(MissedPolicy.skip, 0, 1), (.one, 1, 0), (.all(5), 1, 0)])
    func `one missed night fires by the policy for missed times`(
        _ policy: MissedPolicy, _ fires: Int, _ skipped: Int
    ) throws {
        let timing = try ScheduleCases.timing("0 1 * * *", missed: policy)
        let state = timing.firstState(now: try time("2026-06-01T00:00:00Z"))
        let decision = timing.decision(for: state, now: try time("2026-06-01T03:00:00Z"), last: nil)
        #expect(decision.fires.count == fires)
        #expect(decision.skippedByMissed == skipped)
        #expect(decision.next == (try time("2026-06-02T01:00:00Z")))
    }

    @Test func `a schedule of each minute fires once after a week without a coordinator`() throws {
        let timing = try ScheduleCases.timing("* * * * *")
        let state = timing.firstState(now: try time("2026-06-01T00:00:30Z"))
        let decision = timing.decision(for: state, now: try time("2026-06-08T00:00:30Z"), last: nil)
        // The newest missed time fires; the one of 00:00 is not missed and overlaps it.
        #expect(decision.texts == ["2026-06-07T23:59:00"])
        #expect(decision.skippedByMissed == 10_078)
        #expect(decision.skippedByOverlap == 1)
        #expect(decision.next == (try time("2026-06-08T00:01:00Z")))
    }

    @Test func `a decision after a thousand years costs as much as one after a day`() throws {
        let timing = try ScheduleCases.timing("* * * * * *", zone: "Europe/Berlin", missed: .all(3), overlap: .allow)
        let state = timing.firstState(now: try time("2026-06-01T00:00:00Z"))
        let clock = ContinuousClock()
        let duration = try clock.measure {
            let decision = timing.decision(
                for: state, now: try time("3026-06-01T00:00:00.500Z"), last: nil)
            #expect(decision.fires.count == 63)
            #expect(decision.skippedByMissed > 1_000_000_000)
        }
        #expect(duration < .seconds(1))
    }

    @Test func `all missed times up to the limit fire from the oldest on`() throws {
        let timing = try ScheduleCases.timing("0 * * * *", missed: .all(3), overlap: .allow)
        let state = timing.firstState(now: try time("2026-06-01T00:30:00Z"))
        let decision = timing.decision(for: state, now: try time("2026-06-01T06:30:00Z"), last: .running)
        #expect(decision.texts == ["2026-06-01T04:00:00", "2026-06-01T05:00:00", "2026-06-01T06:00:00"])
        #expect(decision.skippedByMissed == 3)
        #expect(decision.since == (try time("2026-06-01T06:00:00Z")))
    }

    @Test func `a time is missed only when it is later than the grace`() throws {
        let timing = try ScheduleCases.timing("0 1 * * *", missed: .skip)
        let state = timing.firstState(now: try time("2026-06-01T00:00:00Z"))
        #expect(timing.decision(for: state, now: try time("2026-06-01T01:01:00Z"), last: nil).fires.count == 1)
        #expect(timing.decision(for: state, now: try time("2026-06-01T01:01:00.001Z"), last: nil).fires.isEmpty)
    }

    @Test(arguments: [
        // Berlin puts the clock forward on 2026-03-29 at 01:00Z and back on 2026-10-25 at 01:00Z.
        ("30 2 * * *", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", 1),
        ("30 2 * * *", "2026-10-24T23:00:00Z", "2026-10-25T12:00:00Z", 1),
        ("*/15 * * * *", "2026-03-29T00:14:59Z", "2026-03-29T02:14:59Z", 8),
        ("*/15 * * * *", "2026-10-25T00:14:59Z", "2026-10-25T02:14:59Z", 8),
    ])
    func `daylight saving neither drops nor repeats a time`(
        _ text: String, _ start: String, _ end: String, _ expected: Int
    ) throws {
        let timing = try ScheduleCases.timing(text, zone: "Europe/Berlin", overlap: .allow)
        var state = timing.firstState(now: try time(start))
        var (now, end) = (try time(start), try time(end))
        var fired: [Timestamp] = []
        while now < end {
            let decision = timing.decision(for: state, now: now, last: .ended)
            fired += decision.fires.map(\.nominal)
            state = state.applying(decision, id: nil)
            now = now + .seconds(30)
        }
        #expect(fired.count == expected)
        #expect(Set(fired).count == expected)
        #expect(state.fired == Int64(expected) && state.skipped == 0)
    }

    @Test func `29 February fires in leap years only`() throws {
        let timing = try ScheduleCases.timing("0 0 29 2 *")
        let state = timing.firstState(now: try time("2026-06-01T00:00:00Z"))
        #expect(state.next == (try time("2028-02-29T00:00:00Z")))
        let decision = timing.decision(for: state, now: try time("2028-02-29T00:00:00Z"), last: nil)
        #expect(decision.next == (try time("2032-02-29T00:00:00Z")))
    }

    @Test func `a clock that is a year ahead fires once, and the times count again when it is put back`() throws {
        let timing = try ScheduleCases.timing("0 * * * *")
        var state = timing.firstState(now: try time("2026-06-01T00:30:00Z"))
        let ahead = timing.decision(for: state, now: try time("2027-06-01T00:30:00Z"), last: nil)
        #expect(ahead.texts == ["2027-06-01T00:00:00"])
        state = state.applying(ahead, id: nil)
        let now = try time("2026-06-01T00:40:00Z")
        #expect(ScheduleTiming.isDue(state, now: now))
        let back = timing.decision(for: state, now: now, last: .ended)
        #expect(back.clockWasSetBack && back.fires.isEmpty && back.since == now)
        state = state.applying(back, id: nil)
        #expect(state.next == (try time("2026-06-01T01:00:00Z")))
        #expect(!ScheduleTiming.isDue(state, now: now))
        #expect(timing.decision(for: state, now: try time("2026-06-01T01:00:00Z"), last: .ended).fires.count == 1)
    }

    @Test(arguments: ["0 * * * *", "* * * * * *", "@every 10m"])
    func `an interval expression continues at once when the clock is put back`(_ text: String) throws {
        let timing = try ScheduleCases.timing(text)
        let start = try time("2026-06-01T00:30:00Z")
        let state = timing.firstState(now: start)
        let ahead = state.applying(timing.decision(for: state, now: start + .seconds(7200), last: nil), id: nil)
        let now = start + .seconds(6)
        #expect(ScheduleTiming.isDue(ahead, now: now) && !timing.waitsForClock(ahead, now: now))
        let back = timing.decision(for: ahead, now: now, last: .ended)
        #expect(back.clockWasSetBack && back.since == now && back.fires.isEmpty)
        #expect(back.next == timing.definition.expression.next(after: now, in: try timing.zone.get()))
        // A step of some seconds is waited for: it comes from the discipline of the clock.
        let small = timing.decision(for: ahead, now: ahead.since + .seconds(-9), last: .ended)
        #expect(small.fires.isEmpty && !small.changes(ahead))
    }

    @Test func `a fixed time is not repeated by a clock that is put back by less than three hours`() throws {
        let timing = try ScheduleCases.timing("0 1-6 * * *")
        var state = timing.firstState(now: try time("2026-06-01T00:30:00Z"))
        state = state.applying(timing.decision(for: state, now: try time("2026-06-01T05:00:01Z"), last: nil), id: nil)
        for text in ["2026-06-01T02:30:00Z", "2026-06-01T03:00:00Z", "2026-06-01T05:59:59Z"] {
            let decision = timing.decision(for: state, now: try time(text), last: .ended)
            #expect(decision.fires.isEmpty && !decision.changes(state))
            #expect(timing.waitsForClock(state, now: try time(text)) == (text < "2026-06-01T05"))
        }
        #expect(timing.decision(for: state, now: try time("2026-06-01T06:00:00Z"), last: .ended).fires.count == 1)
    }

    @Test func `the times of a pause are not missed`() throws {
        let timing = try ScheduleCases.timing("0 * * * *", missed: .all(10))
        let paused = timing.paused(timing.firstState(now: try time("2026-06-01T00:30:00Z")))
        #expect(paused.next == nil)
        let later = try time("2026-06-01T09:30:00Z")
        #expect(!ScheduleTiming.isDue(paused, now: later))
        #expect(!timing.decision(for: paused, now: later, last: nil).changes(paused))
        let state = timing.resumed(paused, now: later)
        #expect(state.next == (try time("2026-06-01T10:00:00Z")))
        #expect(timing.decision(for: state, now: later, last: nil).fires.isEmpty)
    }

    @Test func `a put with another expression does not fire for the past`() throws {
        let old = try ScheduleCases.timing("15 1 * * *")
        let state = old.firstState(now: try time("2026-06-01T00:00:00Z"))
        let now = try time("2026-06-01T03:00:00Z")
        let new = try ScheduleCases.timing("15 2 * * *", missed: .all(10))
        let replaced = new.state(state, replacing: old.definition, now: now)
        #expect(replaced.next == (try time("2026-06-02T02:15:00Z")))
        #expect(new.decision(for: replaced, now: now, last: nil).fires.isEmpty)
    }

    @Test func `a put with the same times keeps a time that is due`() throws {
        let old = try ScheduleCases.timing("15 1 * * *")
        let state = old.firstState(now: try time("2026-06-01T00:00:00Z"))
        let new = try ScheduleCases.timing("15 1 * * *", jitter: .seconds(5))
        #expect(new.state(state, replacing: old.definition, now: try time("2026-06-01T01:15:00Z")) == state)
    }

    @Test func `a missing zone holds the schedule with a reason, and its times count as missed later`() throws {
        let missing = try ScheduleCases.timing("0 1 * * *", zone: "Europe/Pariss")
        let held = missing.firstState(now: try time("2026-06-01T00:00:00Z"))
        #expect(held.next == nil)
        #expect(held.reason?.contains("Europe/Pariss") == true)
        let now = try time("2026-06-03T12:00:00Z")
        #expect(!missing.decision(for: held, now: now, last: nil).changes(held))
        let found = try ScheduleCases.timing("0 1 * * *", zone: "Europe/Paris")
        let decision = found.decision(for: held, now: now, last: nil)
        #expect(decision.texts == ["2026-06-02T23:00:00"])
        #expect(decision.skippedByMissed == 1)
        #expect(decision.reason == nil)
        #expect(decision.next == (try time("2026-06-03T23:00:00Z")))
    }

    @Test func `another offset of the zone moves the next time`() throws {
        let paris = try ScheduleCases.timing("0 1 * * *", zone: "Europe/Paris")
        let lisbon = ScheduleTiming(
            paris.definition, zone: .success(try TimeZoneDatabase.system.zone(named: "Europe/Lisbon")))
        let state = paris.firstState(now: try time("2026-06-01T12:00:00Z"))
        #expect(state.next == (try time("2026-06-01T23:00:00Z")))
        let decision = lisbon.decision(for: state, now: try time("2026-06-01T12:00:01Z"), last: nil)
        #expect(decision.changes(state) && decision.fires.isEmpty)
        #expect(decision.next == (try time("2026-06-02T00:00:00Z")))
    }

    @Test func `absurd clocks and states do not trap`() throws {
        let ends = [Int64.min, .min + 1, -62_200_000_000_000, 0, 253_500_000_000_000, .max - 1, .max]
        for text in ["* * * * * *", "30 2 * * *", "0 0 29 2 *", "@every 1s", "@every 18300d"] {
            for overlap in OverlapPolicy.allCases {
                let timing = try ScheduleCases.timing(
                    text, zone: "Europe/Berlin", missed: .all(2), overlap: overlap, jitter: .seconds(30))
                for since in ends {
                    for now in ends {
                        var state = ScheduleState(since: Timestamp(milliseconds: since), next: nil)
                        (state.fired, state.skipped) = (.max, .max)
                        let now = Timestamp(milliseconds: now)
                        let decision = timing.decision(for: state, now: now, last: nil)
                        #expect(state.applying(decision, id: nil).skipped == .max)
                        #expect(decision.fires.allSatisfy { $0.nominal <= now })
                        _ = try timing.upcoming(2, after: now)
                    }
                }
            }
        }
    }
}
