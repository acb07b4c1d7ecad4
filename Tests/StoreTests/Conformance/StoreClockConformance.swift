import Commands
import Store
import TestSupport
import Testing

/// A store has the time of its clock, whatever the clock of the machine shows.
@Suite(.postgreSQLServer) struct StoreClockConformance {
    /// A store whose clock is ten minutes off that of the machine.
    private struct Rig {
        let subject: StoreUnderTest
        let start: Timestamp
        var store: any CommandStore { subject.store }
        var clock: SettableClock { subject.clock }

        init(_ kind: StoreKind, _ offset: Duration) throws {
            subject = try StoreUnderTest(kind, shardCount: 1)
            start = .now + offset
            subject.clock.set(to: start)
            try subject.open()
        }

        func submit(_ draft: CommandDraft = .noop) throws -> CommandID {
            try store.submit([draft], allowUnknownTypes: false)[0].get().id
        }

        @discardableResult
        func apply(_ writes: ExecutionWrite...) throws -> CommitOutcome {
            try store.apply(writes, shard: 0, seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch)
        }

        func command(_ id: CommandID) throws -> Command { try #require(try store.command(id)) }
    }

    private static let offsets = [Duration.seconds(-600), .seconds(600)]
    private static let all = StoreKind.allCases.flatMap { kind in offsets.map { (kind, $0) } }
    private static let current = StoreKind.current.flatMap { kind in offsets.map { (kind, $0) } }

    @Test(arguments: all)
    func `a submit and each transition have the time of the clock`(_ kind: StoreKind, _ offset: Duration) throws {
        let rig = try Rig(kind, offset)
        let (id, other) = (try rig.submit(), try rig.submit())
        rig.clock.advance(by: .seconds(1))
        try rig.apply(.claim(id, sent: true))
        rig.clock.advance(by: .seconds(1))
        try rig.apply(.end(id, claim: 1, .success(result: nil)))
        _ = try rig.store.cancel(other, reason: "not wanted")

        let ended = try rig.command(id)
        #expect(id.madeAt == rig.start && ended.createdAt == rig.start)
        #expect(ended.updatedAt == rig.start + .seconds(2))
        #expect(
            try rig.store.timeline(id).map { $0.at - rig.start } == [
                .zero, .seconds(1), .seconds(1), .seconds(2),
            ])
        #expect(try rig.command(other).updatedAt == rig.start + .seconds(2))
    }

    @Test(arguments: all)
    func `a wait begins and ends by the clock`(_ kind: StoreKind, _ offset: Duration) throws {
        let rig = try Rig(kind, offset)
        let late = try rig.submit(.noop.with { $0.notBefore = rig.start + .seconds(60) })
        let early = try rig.submit(.noop.with { $0.notBefore = rig.start })
        #expect(try rig.store.ready(shard: 0, ids: [late, early]).map(\.id) == [early])
        var due = try rig.store.promoteDue(shard: 0, limit: 10)
        #expect(due.ready.isEmpty && due.next == rig.start + .seconds(60))
        rig.clock.advance(by: .seconds(60))
        due = try rig.store.promoteDue(shard: 0, limit: 10)
        #expect(due.ready.map(\.id) == [late] && due.next == nil)

        var failure = CommandFailure(.command, reason: "went wrong")
        failure.backoff = .seconds(30)
        try rig.apply(.claim(early, sent: true), .end(early, claim: 1, .failure(failure)))
        #expect(try rig.command(early).notBefore == rig.start + .seconds(90))
    }

    @Test(arguments: all)
    func `a deadline passes by the clock`(_ kind: StoreKind, _ offset: Duration) throws {
        let rig = try Rig(kind, offset)
        let id = try rig.submit(.noop.with { $0.deadline = rig.start + .seconds(60) })
        let past = rig.store.submit([.noop.with { $0.deadline = rig.start }], allowUnknownTypes: false)[0]
        #expect(throws: StoreError.self) { try past.get() }
        rig.clock.advance(by: .seconds(59))
        #expect(try rig.store.passedDeadlines(shard: 0, limit: 10).isEmpty)
        #expect(try rig.store.expire(shard: 0, limit: 10).effects.events.isEmpty)
        rig.clock.advance(by: .seconds(1))
        #expect(try rig.store.passedDeadlines(shard: 0, limit: 10).count == 1)
        #expect(try rig.store.expire(shard: 0, limit: 10).effects.events.map(\.transition.id) == [id])
        #expect(try rig.command(id).updatedAt == rig.start + .seconds(60))
    }

    @Test(arguments: current)
    func `a unique key lapses by the clock`(_ kind: StoreKind, _ offset: Duration) throws {
        let rig = try Rig(kind, offset)
        let draft = CommandDraft.noop.with {
            $0.uniqueKey = "latest.csv"
            $0.uniqueFor = .duration(.seconds(60))
        }
        let first = try rig.submit(draft)
        rig.clock.advance(by: .seconds(59))
        #expect(try rig.submit(draft) == first)
        rig.clock.advance(by: .seconds(1))
        #expect(try rig.submit(draft) != first)
    }

    @Test(arguments: current)
    func `a schedule fires by the clock, and decides by the same time`(_ kind: StoreKind, _ offset: Duration) throws {
        let rig = try Rig(kind, offset)
        let definition = try SchedulePut(
            .object([
                .init("cron", .string("@every 1m")), .init("command", .object([.init("type", .string("noop"))])),
            ]), name: "beat"
        ).definition
        let timing = ScheduleTiming(definition, in: .system)
        let state = timing.firstState(now: rig.start)
        try rig.store.changeSchedule("beat") { _ throws(StoreError) in
            StoredSchedule(definition: definition, action: .command(ScheduledDraft(.noop)), state: state)
        }
        let next = try #require(state.next)
        rig.clock.set(to: next + .milliseconds(-1))
        var times: [Timestamp] = []
        func fire() throws -> ScheduleRound {
            try rig.store.fireSchedules(shard: 0, .due, limit: 10) { schedule, last, now in
                times.append(now)
                return timing.decision(for: schedule.state, now: now, last: last)
            }
        }
        #expect(try fire().changes.isEmpty && times.isEmpty)
        rig.clock.set(to: next)
        let id = try #require(try fire().changes.first?.ids.first)
        #expect(times == [next])
        #expect(try rig.command(id).createdAt == next)
    }
}
