import Commands
import Testing

@Suite(.enabled(if: MachineZones.isInstalled, "tzdata is not installed; deploy/prepare test installs it"))
struct ScheduleOverlapTests {
    /// The decision at 04:00:30, when 02:00 and 03:00 were missed.
    private func decision(
        _ overlap: OverlapPolicy, _ last: ScheduledCommandState?, missed: MissedPolicy = .skip
    ) throws -> ScheduleDecision {
        let timing = try ScheduleCases.timing("0 * * * *", missed: missed, overlap: overlap)
        let state = timing.firstState(now: try ScheduleCases.time("2026-06-01T01:30:00Z"))
        return timing.decision(for: state, now: try ScheduleCases.time("2026-06-01T04:00:30Z"), last: last)
    }

    private static let (two, three, four) = ("2026-06-01T02:00:00", "2026-06-01T03:00:00", "2026-06-01T04:00:00")

    @Test(
        arguments: [
            (OverlapPolicy.skip, nil, [four], false, false), (.skip, .ended, [four], false, false),
            (.skip, .running, [], false, false), (.skip, .waiting, [], false, false),
            (.queue, nil, [four], false, false), (.queue, .ended, [four], false, false),
            (.queue, .running, [four], true, false), (.queue, .waiting, [], false, false),
            (.cancel, nil, [four], false, false), (.cancel, .ended, [four], false, false),
            (.cancel, .running, [four], true, true), (.cancel, .waiting, [four], true, true),
            (.allow, .running, [four], false, false), (.allow, .waiting, [four], false, false),
        ] as [(OverlapPolicy, ScheduledCommandState?, [String], Bool, Bool)])
    func `one due time follows the policy for overlaps`(
        _ overlap: OverlapPolicy, _ last: ScheduledCommandState?, _ fires: [String], _ queues: Bool, _ cancels: Bool
    ) throws {
        let decision = try decision(overlap, last)
        #expect(decision.texts == fires)
        #expect(decision.queues == queues)
        #expect(decision.cancelsLast == cancels)
        #expect(decision.skippedByMissed == 2)
        #expect(decision.skippedByOverlap == 1 - fires.count)
    }

    @Test(
        arguments: [
            (OverlapPolicy.skip, nil, [two], false), (.skip, .running, [], false),
            (.queue, nil, [two, three], true), (.queue, .running, [two], true), (.queue, .waiting, [], false),
            (.cancel, nil, [four], false), (.cancel, .running, [four], true),
            (.allow, .running, [two, three, four], false),
        ] as [(OverlapPolicy, ScheduledCommandState?, [String], Bool)])
    func `times of one decision overlap each other`(
        _ overlap: OverlapPolicy, _ last: ScheduledCommandState?, _ fires: [String], _ queues: Bool
    ) throws {
        let decision = try decision(overlap, last, missed: .all(5))
        #expect(decision.texts == fires)
        #expect(decision.queues == queues)
        #expect(decision.skippedByMissed == 0)
        #expect(decision.skippedByOverlap == 3 - fires.count)
        #expect(decision.last?.description.prefix(19) ?? "" == fires.last ?? "")
    }

    @Test func `a command in doubt has ended, and one in backoff has not`() {
        #expect(ScheduledCommandState(status: .inDoubt, waitsInLane: false) == .ended)
        #expect(ScheduledCommandState(status: .tooManyTimes, waitsInLane: true) == .ended)
        #expect(ScheduledCommandState(status: .error, waitsInLane: false) == .running)
        #expect(ScheduledCommandState(status: .blocked, waitsInLane: false) == .running)
        #expect(ScheduledCommandState(status: .blocked, waitsInLane: true) == .waiting)
    }

    @Test func `a skipped time counts in the state and keeps the last command`() throws {
        let timing = try ScheduleCases.timing("0 * * * *")
        var state = timing.firstState(now: try ScheduleCases.time("2026-06-01T01:30:00Z"))
        let id = CommandID(high: 1, low: 2)
        for (text, last) in [("2026-06-01T02:00:01Z", nil), ("2026-06-01T03:00:01Z", ScheduledCommandState.running)] {
            let decision = timing.decision(for: state, now: try ScheduleCases.time(text), last: last)
            state = state.applying(decision, id: decision.fires.isEmpty ? nil : id)
        }
        #expect(state.fired == 1 && state.skipped == 1 && state.lastID == id)
        #expect(state.last == (try ScheduleCases.time("2026-06-01T02:00:00Z")))
        #expect(state.next == (try ScheduleCases.time("2026-06-01T04:00:00Z")))
    }
}
