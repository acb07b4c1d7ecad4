import Commands
import Host
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct ScheduleConformance {
    private static let start = Timestamp(milliseconds: 1_772_323_200_000)  // 2026-03-01T00:00:00Z

    private static func minute(_ number: Int) -> Timestamp { start + .seconds(number * 60) }

    /// A store with one schedule that a test fires.
    private struct Rig {
        let subject: StoreUnderTest
        let name: String
        var store: any CommandStore { subject.store }
        var shard: Int

        init(_ kind: StoreKind, _ options: [(String, String)] = [], flow: ScheduledFlow? = nil) throws {
            subject = try StoreUnderTest(kind)
            try subject.open()
            name = "beat"
            var members: [JSONValue.Member] = [.init("cron", .string("* * * * *"))]
            for (key, value) in options { members.append(.init(key, .string(value))) }
            members.append(
                flow == nil
                    ? .init("command", .object([.init("type", .string("noop"))])) : .init("flow", .object([])))
            let definition = try SchedulePut(.object(members), name: name).definition
            let action: ScheduleAction =
                flow.map { .flow($0) } ?? .command(ScheduledDraft(.noop, deadline: .seconds(90)))
            let timing = ScheduleTiming(definition, in: .system)
            let state = timing.firstState(now: ScheduleConformance.start)
            try subject.store.changeSchedule("beat") { _ throws(StoreError) in
                StoredSchedule(definition: definition, action: action, state: state)
            }
            shard = 0
            for number in 0..<subject.store.shardCount {
                var found = false
                _ = try subject.store.fireSchedules(
                    shard: number, .named("beat"), now: ScheduleConformance.start, limit: 1
                ) {
                    _, _ in
                    found = true
                    return nil
                }
                if found { shard = number }
            }
        }

        @discardableResult
        func fire(_ now: Timestamp, _ scope: ScheduleScope = .due) throws -> ScheduleRound {
            try store.fireSchedules(shard: shard, scope, now: now, limit: 500) { schedule, last in
                ScheduleTiming(schedule.definition, in: .system).decision(for: schedule.state, now: now, last: last)
            }
        }

        func state() throws -> ScheduleState { try #require(try store.schedule(name)).state }

        func end(_ id: CommandID) throws {
            let claim = try #require(try subject.claim(id, now: ScheduleConformance.minute(2)))
            try subject.apply(.end(id, claim: claim, .success(result: nil)), now: ScheduleConformance.minute(2))
        }
    }

    @Test(arguments: StoreKind.current)
    func `a due time submits one command, and moves the schedule on in its transaction`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        #expect(try rig.fire(Self.start).changes.isEmpty)
        let round = try rig.fire(Self.minute(1))
        let id = try #require(round.changes.first?.ids.first)
        #expect(round.effects.ready.map(\.id) == [id] && id.shard(of: 4) == rig.shard)
        let command = try #require(try rig.store.command(id))
        #expect(command.uniqueKey == "schedule:beat@2026-03-01T00:01:00Z")
        #expect(command.deadline == Self.minute(1) + .seconds(90))
        let state = try rig.state()
        #expect(state.next == Self.minute(2) && state.last == Self.minute(1) && state.lastID == id && state.fired == 1)
        // Another coordinator at the same moment finds nothing.
        #expect(try rig.fire(Self.minute(1)).changes.isEmpty)
        #expect(try rig.store.counts()[.new] == 1)
        #expect(try rig.subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.current)
    func `a restored schedule does not fire a time whose command exists`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let before = try #require(try rig.store.schedule("beat"))
        let first = try #require(try rig.fire(Self.minute(1)).changes.first?.ids.first)
        try rig.store.changeSchedule("beat") { _ throws(StoreError) in before }
        let second = try rig.fire(Self.minute(1)).changes.first?.ids.first
        #expect(second == first)
        #expect(try rig.store.counts()[.new] == 1)
    }

    @Test(arguments: StoreKind.current)
    func `the times that come again after the clock was set back submit commands of their own`(_ kind: StoreKind) throws
    {
        let rig = try Rig(kind, [("overlap", "allow")])
        for number in 1...5 { try rig.fire(Self.minute(number)) }
        // Two passes back, of which the second is as long as the first.
        for _ in 0..<2 {
            let back = try rig.fire(Self.minute(2) + .seconds(-1), .held(after: nil))
            #expect(back.changes.first?.decision.clockWasSetBack == true)
            for number in 2...5 { #expect(try rig.fire(Self.minute(number)).changes.first?.ids.count == 1) }
        }
        #expect(try rig.state().fired == 13)
        #expect(try rig.store.counts()[.new] == 13)
    }

    @Test(arguments: StoreKind.current)
    func `a command that has not ended lets the next time be skipped, queued or cancelled`(_ kind: StoreKind) throws {
        let skip = try Rig(kind)
        try skip.fire(Self.minute(1))
        let round = try skip.fire(Self.minute(2))
        #expect(round.changes.first?.ids == [] && round.changes.first?.decision.skippedByOverlap == 1)
        #expect(try skip.state().skipped == 1 && skip.store.counts()[.new] == 1)

        let queue = try Rig(kind, [("overlap", "queue")])
        let first = try #require(try queue.fire(Self.minute(1)).changes.first?.ids.first)
        let second = try #require(try queue.fire(Self.minute(2)).changes.first?.ids.first)
        #expect(try queue.store.command(second)?.status == .blocked)
        // One waits at most.
        #expect(try queue.fire(Self.minute(3)).changes.first?.ids == [])
        try queue.end(first)
        #expect(try queue.store.command(second)?.status == .new)

        let cancel = try Rig(kind, [("overlap", "cancel")])
        let old = try #require(try cancel.fire(Self.minute(1)).changes.first?.ids.first)
        let replacing = try cancel.fire(Self.minute(2))
        let new = try #require(replacing.changes.first?.ids.first)
        #expect(try cancel.store.command(old)?.status == .cancelled && cancel.store.command(new)?.status == .new)
        #expect(replacing.effects.ready.map(\.id) == [new])
        for rig in [skip, queue, cancel] { #expect(try rig.store.relationProblems(shard: rig.shard).isEmpty) }
    }

    @Test(arguments: StoreKind.current)
    func `a flow is submitted as a whole, with its callbacks`(_ kind: StoreKind) throws {
        let draft = ScheduledDraft(.noop)
        var flow = ScheduledFlow(
            name: "f",
            nodes: [
                .init(name: "a", draft: draft, after: [:], mayFail: false),
                .init(name: "b", draft: draft, after: ["a": .success], mayFail: false),
            ])
        flow.callbacks = [.init(condition: .end, draft: draft)]
        let rig = try Rig(kind, flow: flow)
        let round = try rig.fire(Self.minute(1))
        let id = try #require(round.changes.first?.ids.first)
        #expect(round.effects.ready.count == 1)
        #expect(try rig.store.flow(id)?.nodes == 2)
        #expect(try rig.store.flowNodes(id, after: 0, limit: 9).count == 3)
        #expect(try rig.fire(Self.minute(2)).changes.first?.ids == [])
        #expect(try rig.store.relationProblems(shard: rig.shard).isEmpty)
    }

    @Test(arguments: StoreKind.current)
    func `a trigger submits at once, and leaves the next time`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let round = try rig.store.fireSchedule(named: "beat", now: Self.start + .seconds(5))
        #expect(round.changes.first?.ids.count == 1 && round.effects.ready.count == 1)
        #expect(try rig.state().next == Self.minute(1) && rig.state().fired == 1)
        #expect(try rig.store.fireSchedule(named: "other", now: Self.start).changes.isEmpty)
    }

    @Test(arguments: StoreKind.current)
    func `what a schedule cannot submit is told, counted as skipped, and does not stop it`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        try rig.store.changeSchedule("beat") { schedule throws(StoreError) in
            guard var schedule else { return nil }
            var draft = CommandDraft.noop
            draft.retryLimit = 5000
            schedule.action = .command(ScheduledDraft(draft))
            return schedule
        }
        let round = try rig.fire(Self.minute(1))
        #expect(round.problems.first?.contains("retry limit 5000") == true, "\(round.problems)")
        let state = try rig.state()
        #expect(state.fired == 0 && state.skipped == 1 && state.next == Self.minute(2))
    }

    @Test(arguments: StoreKind.current)
    func `a command in doubt keeps those behind it waiting, and a triggered one does not hide one that runs`(
        _ kind: StoreKind
    ) throws {
        let rig = try Rig(kind, [("overlap", "queue")])
        try rig.store.changeSchedule("beat") { schedule throws(StoreError) in
            guard var schedule else { return nil }
            schedule.action = .command(ScheduledDraft(CommandDraft.noop.with { $0.idempotent = false }))
            return schedule
        }
        let first = try #require(try rig.fire(Self.minute(1)).changes.first?.ids.first)
        let claim = try #require(try rig.subject.claim(first, now: Self.minute(2)))
        try rig.subject.apply(
            .end(first, claim: claim, .failure(CommandFailure(.command, reason: "cut", ambiguous: true))),
            now: Self.minute(2))
        #expect(try rig.fire(Self.minute(2)).changes.first?.ids.count == 1)
        #expect(try rig.fire(Self.minute(3)).changes.first?.ids == [])

        let skip = try Rig(kind)
        let running = try #require(try skip.fire(Self.minute(1)).changes.first?.ids.first)
        _ = try skip.store.fireSchedule(named: "beat", now: Self.minute(1) + .seconds(3))
        #expect(try skip.state().lastID == running)
    }

    @Test func `a schedule that cannot be read is held and told, and can be put again`() throws {
        let directory = try TemporaryStore("schedules")
        let store = try directory.store(shards: 1)
        let definition = try SchedulePut(
            .object([
                .init("cron", .string("* * * * *")), .init("command", .object([.init("type", .string("noop"))])),
            ]), name: "beat"
        ).definition
        let good = StoredSchedule(
            definition: definition, action: .command(ScheduledDraft(.noop)),
            state: ScheduleTiming(definition, in: .system).firstState(now: Self.start))
        try store.changeSchedule("beat") { _ throws(StoreError) in good }
        try SQLiteProbe(directory.data.shard(0)).run("UPDATE schedule SET action = '{}'")
        let error = try #require(throws: StoreError.self) { try store.schedule("beat") }
        #expect(error.code == .invalid && error.message.contains("put it again"))
        let round = try store.fireSchedules(shard: 0, .due, now: Self.minute(5), limit: 9) { _, _ in nil }
        #expect(round.problems.count == 1)
        // It is not due any more.
        #expect(try store.fireSchedules(shard: 0, .due, now: Self.minute(5), limit: 9) { _, _ in nil }.problems.isEmpty)
        try store.changeSchedule("beat") { _ throws(StoreError) in good }
        #expect(try store.schedule("beat") == good)
    }

    @Test(arguments: StoreKind.current)
    func `schedules are listed by name, changed, held and removed`(_ kind: StoreKind) throws {
        let rig = try Rig(kind)
        let beat = try #require(try rig.store.schedule("beat"))
        for name in ["b", "a", "c"] {
            let definition = try SchedulePut(
                .object([
                    .init("cron", .string("0 0 1 1 *")), .init("command", .object([.init("type", .string("noop"))])),
                ]), name: name
            ).definition
            try rig.store.changeSchedule(name) { _ throws(StoreError) in
                var state = beat.state
                state.next = nil
                state.reason = name == "b" ? "no zone" : nil
                return StoredSchedule(definition: definition, action: beat.action, state: state)
            }
        }
        #expect(try rig.store.schedules().map(\.name) == ["a", "b", "beat", "c"])
        #expect(try rig.store.schedule("beat") == beat)
        var held: [String] = []
        for shard in 0..<4 {
            _ = try rig.store.fireSchedules(shard: shard, .held(after: nil), now: Self.start, limit: 9) { schedule, _ in
                held.append(schedule.name)
                return nil
            }
        }
        #expect(held == ["b"])
        try rig.store.changeSchedule("a") { _ throws(StoreError) in nil }
        #expect(try rig.store.schedules().map(\.name) == ["b", "beat", "c"])
    }
}
