import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// A wall clock that is not trusted. These act by the age of a row, and were searched for: deadlines (expiry, claim), unique
/// keys of a duration (submit, retry), pruning, leftovers, uploads that expire, destinations that are unreachable.
@Suite(.postgreSQLServer) struct ClockHoldConformance {
    /// As long as the retention and a day.
    private static let jump: Duration = .seconds(8 * 86_400)
    private static let late = Timestamp.base + jump

    private static func hold(_ subject: StoreUnderTest, _ hold: ClockHold?) throws {
        try subject.store.set(SettingKey.clockHold, to: hold?.json.text)
    }

    private static var ahead: ClockHold { ClockHold(.jump(jump), now: .now) }

    @Test(arguments: StoreKind.current)
    func `while the clock is held no deadline has passed`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let ids = try subject.submit([0, 1].map { _ in .noop.with { $0.deadline = .base + .seconds(86_400) } })
        try subject.open()
        try Self.hold(subject, Self.ahead)
        #expect(subject.store.isClockHeld)
        #expect(try subject.store.passedDeadlines(shard: 0, now: Self.late, limit: 10).isEmpty)
        #expect(try subject.store.expire(shard: 0, now: Self.late, limit: 10).effects.isEmpty)
        #expect(try subject.claim(ids[0], now: Self.late) == 1)
        try Self.hold(subject, nil)
        #expect(!subject.store.isClockHeld)
        #expect(try subject.claim(ids[1], now: Self.late) == nil)
        #expect(try subject.store.passedDeadlines(shard: 0, now: Self.late, limit: 10).count == 1)
        #expect(try subject.store.expire(shard: 0, now: Self.late, limit: 10).effects.events.count == 1)
        #expect(try subject.status(ids[1]) == .cancelled)
    }

    @Test(arguments: [true, false])
    func `a process sees a jump of the clock of its machine, and takes no other clock for it`(_ isOwn: Bool) throws {
        let place = try TemporaryStore()
        let clock = SettableClock(followsThisMachine: isOwn)
        let store = try SQLiteStore(directory: place.data, shardCount: 1, clock: clock)
        _ = try store.submitNoops()
        #expect(!store.isClockHeld)
        clock.advance(by: Self.jump)
        _ = try store.submitNoops()
        #expect(store.isClockHeld == isOwn)
    }

    @Test(arguments: StoreKind.current)
    func `while the clock is held no unique key is freed and nothing is pruned`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let draft = CommandDraft.noop.with {
            $0.uniqueKey = "report"
            $0.uniqueFor = .duration(.seconds(3600))
        }
        let first = try subject.make(.success, of: draft)
        func submit() throws -> Submission {
            try subject.store.submit([draft], allowUnknownTypes: false, now: Self.late)[0].get()
        }
        func prune() throws -> Int {
            try subject.store.prune(
                shard: 0, before: Self.late + .seconds(-7 * 86_400), statuses: [.success, .cancelled], limit: 10
            ).count
        }
        try Self.hold(subject, Self.ahead)
        #expect(try submit() == Submission(id: first, isExisting: true))
        #expect(try prune() == 0)
        #expect(try subject.status(first) == .success)
        try Self.hold(subject, nil)
        #expect(try !submit().isExisting)
        #expect(try prune() == 1)
    }

    @Test(arguments: StoreKind.current)
    func `while the clock is held no remains of a cancelled command are removed`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        try subject.open()
        let id = try subject.submit()
        try subject.claim(id)
        try subject.apply(.saveCheckpoint(id, claim: 1, state: Array("{}".utf8)))
        try subject.apply(.end(id, claim: 1, .released(reason: "preempted", ambiguous: false)))
        _ = try subject.store.cancel(id, reason: "not wanted", now: .base + .seconds(2))
        func removed() throws -> Int {
            try subject.store.cleanUp(shard: 0, now: Self.late, limit: 10) { _ in nil }
        }
        try Self.hold(subject, Self.ahead)
        #expect(try removed() == 0)
        try Self.hold(subject, nil)
        #expect(try removed() == 1)
    }

    @Test(arguments: StoreKind.current)
    func `a hold of another boot or of the past is not in force`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        try Self.hold(subject, ClockHold(.jump(Self.jump), boot: "another", now: .now))
        #expect(!subject.store.isClockHeld)
        try Self.hold(subject, ClockHold(.jump(Self.jump), now: .now + .seconds(-301)))
        #expect(!subject.store.isClockHeld)
        try subject.store.set(SettingKey.clockHold, to: "{")
        #expect(!subject.store.isClockHeld)
    }

    // MARK: Decisions

    @Test func `a jump of more than ten seconds in either direction begins a hold`() {
        for seconds in [-86_400, -11, 11, 86_400] {
            let hold = ClockHold(after: .seconds(seconds), now: .zero)
            #expect(hold?.stands(now: .zero + .seconds(299)) == true)
            #expect(hold?.stands(now: .zero + .seconds(300)) == false)
        }
        for seconds in [-10, 0, 10] { #expect(ClockHold(after: .seconds(seconds), now: .zero) == nil) }
        #expect(ClockHold(after: .seconds(Int64.min / 2000), now: .zero) != nil)
    }

    @Test func `a start behind the newest transition or a day after it begins a hold`() {
        for seconds in [-86_400, -11, 86_401] {
            #expect(ClockHold(atStart: .base, wall: .base + .seconds(seconds), now: .zero) != nil, "\(seconds)")
        }
        for seconds in [-10, 0, 86_400] {
            #expect(ClockHold(atStart: .base, wall: .base + .seconds(seconds), now: .zero) == nil, "\(seconds)")
        }
        #expect(ClockHold(atStart: nil, wall: .base, now: .zero) == nil)
    }

    @Test func `a hold is read back from its setting`() {
        for cause in [ClockHold.Cause.jump(.seconds(-7200)), .start(wall: .base, newest: .base + .seconds(60))] {
            let hold = ClockHold(cause, boot: "b", now: .zero + .milliseconds(1500))
            #expect(ClockHold(setting: hold.json.text) == hold)
        }
        for text in ["", "{}", #"{"boot":"b","end":1}"#, #"{"jump":"1","boot":"b","end":1}"#] {
            #expect(ClockHold(setting: text) == nil)
        }
    }

    @Test func `a process sees a jump itself and trusts the clock after five steady minutes`() {
        var steps = ClockSteps()
        func hasJumped(_ wall: Int, _ seconds: Int) -> Bool {
            steps.hasJumped(wall: .base + .seconds(wall), now: .zero + .seconds(seconds))
        }
        #expect(!hasJumped(0, 0) && !hasJumped(60, 60))
        #expect(hasJumped(700_000, 61) && hasJumped(700_040, 101))
        // The step back is a jump too, from which the time counts again.
        #expect(hasJumped(102, 102) && hasJumped(401, 401))
        #expect(!hasJumped(402, 402))
        #expect(!hasJumped(411, 403), "the discipline of a clock makes small steps")
    }

    @Test(arguments: StoreKind.current)
    func `the last command before a jump is the newest whose time the clock has not shown since`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        func last(_ times: Range<Timestamp>) throws -> Int64 {
            try subject.store.lastTurn(shard: 0, outside: times)
        }
        #expect(try last(Timestamp.base..<Self.late) == 0)
        for seconds in [0, 1, 700_000, 700_001, 2] { _ = try subject.submit(now: .base + .seconds(seconds)) }
        #expect(try last(Timestamp.base + .seconds(600_000)..<Timestamp(milliseconds: .max)) == 5)
        #expect(try last(Timestamp.base..<Timestamp(milliseconds: .max)) == 0)
        #expect(try last(Timestamp.base..<Timestamp.base + .seconds(60)) == 4)
    }

    // MARK: Waits

    @Test(arguments: StoreKind.current)
    func `waits that a clock ahead has written are as long as they were meant to be`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let ahead = Timestamp.base + .seconds(10 * 365 * 86_400)
        let ids = try subject.submit([.noop, .noop, .noop.with { $0.notBefore = ahead }])
        try subject.open()
        for (id, fault) in zip(ids, [CommandFailure.Fault.command, .destination]) {
            try subject.claim(id, now: ahead)
            let failure = CommandFailure(fault, reason: "503", retryAfter: .seconds(90))
            try subject.apply(.end(id, claim: 1, .failure(failure)), now: ahead)
        }
        func waits() throws -> [Duration] {
            try ids.map { (try subject.store.command($0)?.notBefore ?? .zero) - .base }
        }
        let meant = try waits().map { $0 - (ahead - .base) }
        try subject.store.clampWaits(shard: 0, now: .base)
        #expect(try waits() == [meant[0], meant[1], ahead - .base])
        #expect(meant[0] >= .seconds(90) && meant[0] < .seconds(600))
        // Nothing is moved a second time.
        try subject.store.clampWaits(shard: 0, now: .base)
        #expect(try waits().prefix(2) == meant.prefix(2))
    }

    @Test(arguments: StoreKind.current)
    func `a wait that no failure can cause is clamped to the longest backoff`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let id = try subject.submit()
        try subject.open()
        try subject.claim(id)
        try subject.apply(
            .end(id, claim: 1, .failure(CommandFailure(.command, reason: "500", retryAfter: .seconds(60)))))
        func wait() throws -> Duration { (try subject.store.command(id)?.notBefore ?? .zero) - .base }
        let before = try wait()
        try subject.store.clampWaits(shard: 0, now: .base + .seconds(1))
        #expect(try wait() == before)
        try subject.store.shiftBackoffs(shard: 0, by: Self.jump, writtenBefore: nil)
        try subject.store.clampWaits(shard: 0, now: .base + .seconds(1))
        #expect(try wait() == .seconds(3601))
    }
}
