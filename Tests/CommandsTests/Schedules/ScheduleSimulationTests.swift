import Commands
import TestSupport
import Testing

/// Coordinators that come and go, two at a time, under a clock that is put forward and back.
@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct ScheduleSimulationTests {
    /// A row of the store, which takes a decision only where `next` is still the one that was read.
    private struct Row {
        var state: ScheduleState
        var keys: Set<String> = []
        var nominal: [Timestamp] = []

        mutating func commit(_ decision: ScheduleDecision, read: ScheduleState, _ definition: ScheduleDefinition)
            -> Bool
        {
            guard state.next == read.next, state.since == read.since else { return false }
            for fire in decision.fires {
                let isNew = keys.insert(definition.uniqueKey(of: fire.nominal)).inserted
                if isNew || definition.expression.isInterval { nominal.append(fire.nominal) }
            }
            state = state.applying(decision, id: nil)
            return true
        }
    }

    @Test func `the fired times are those of a model that walks the minutes, and no fixed one fires twice`() throws {
        var random = SeededRandom.announced("ScheduleSimulationTests")
        for _ in 0..<60 { try simulate(&random) }
    }

    private func simulate(_ random: inout SeededRandom) throws {
        let times = ScheduleModel.Times.allCases.randomElement(using: &random)!
        let timing = try ScheduleCases.timing(
            times.expression, zone: times.zone,
            missed: [.one, .skip, .all(1), .all(4), .all(1000)].randomElement(using: &random)!,
            overlap: OverlapPolicy.allCases.randomElement(using: &random)!,
            jitter: .seconds(random.number(in: 0..<900)),
            grace: .seconds([1, 60, 600, 7200].randomElement(using: &random)!))
        // Ten days around a change of Berlin's clock.
        let start = (random.chance(0.5) ? 29_579_100 : 29_881_500) - Int64(random.number(in: 0..<7200))
        let minutes = start - 14_400..<start + 43_200
        var clock = Timestamp(milliseconds: start * 60_000 + Int64(random.number(in: 0..<60_000)))
        let first = clock
        var row = Row(state: timing.firstState(now: clock))
        var model = ScheduleModel(timing.definition, times, minutes: minutes, since: clock)
        var expected: [Timestamp] = []
        var (fired, skipped): (Int64, Int64) = (0, 0)

        for _ in 0..<120 {
            switch random.number(in: 0..<20) {
            case 0: clock = clock + .seconds(random.number(in: -10_000..<10_000))
            case 1: clock = clock + .seconds(random.number(in: -200_000..<200_000))
            case 2: clock = clock + .seconds(random.number(in: 0..<100_000))
            case 3:
                row.state = timing.paused(row.state)
                model.isPaused = true
            case 4...6 where model.isPaused:
                row.state = timing.resumed(row.state, now: clock)
                model.isPaused = false
                model.since = clock
            default: clock = clock + .milliseconds(random.number(in: 1..<1_500_000))
            }
            clock = min(max(clock, first + .seconds(-800_000)), first + .seconds(1_800_000))

            let states: [ScheduledCommandState?] = [nil, .ended, .running, .waiting]
            let last = states[random.number(in: 0..<4)]
            let before = row.state
            let decision = timing.decision(for: before, now: clock, last: last)
            // A second coordinator read the same row, and a third took over from one that crashed before its commit.
            let other = timing.decision(for: before, now: clock + .milliseconds(random.number(in: 0..<500)), last: last)
            let repeated = timing.decision(for: before, now: clock, last: last)
            #expect(repeated == decision)
            let isDue = decision.changes(before)
            #expect(!isDue || ScheduleTiming.isDue(before, now: clock))
            if isDue {
                let isFirst = row.commit(decision, read: before, timing.definition)
                let isSecond = row.commit(other, read: before, timing.definition)
                #expect(isFirst && !isSecond)
            }

            let outcome = model.decide(now: clock, last: last)
            expected += outcome.fires.filter { times.isInterval || !expected.contains($0) }
            fired += Int64(outcome.fires.count)
            skipped += Int64(outcome.skippedByMissed + outcome.skippedByOverlap)
            #expect(decision.fires.map(\.nominal) == outcome.fires)
            #expect(decision.skippedByMissed == outcome.skippedByMissed)
            #expect(decision.skippedByOverlap == outcome.skippedByOverlap)
            #expect(decision.cancelsLast == outcome.cancelsLast)
            #expect(decision.next == outcome.next)
        }
        #expect(row.nominal == expected)
        #expect(row.state.fired == fired && row.state.skipped == skipped)
    }
}
