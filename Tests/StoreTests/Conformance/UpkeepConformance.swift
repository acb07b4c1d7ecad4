import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct UpkeepConformance {
    @Test(arguments: StoreKind.allCases)
    func `ready commands are listed by destination and quality of service, in order`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        var drafts: [CommandDraft] = []
        for number in 0..<30 {
            drafts.append(
                .noop.with {
                    $0.destination = number % 3 == 0 ? .none : .test("host-\(number % 3)")
                    $0.qos = number % 2 == 0 ? .default : .background
                })
        }
        let ids = try subject.submit(drafts)
        let keys = try subject.store.readyKeys(shard: 0)
        #expect(keys.count == 6)
        #expect(keys == Set(drafts.map { ReadyKey(destination: $0.destination, qos: $0.qos) }))
        for key in keys {
            let expected = zip(ids, drafts).filter { $1.destination == key.destination && $1.qos == key.qos }.map(\.0)
            let ready = try subject.store.ready(
                shard: 0, destination: key.destination, qos: key.qos, afterTurn: 0, limit: 100)
            #expect(ready.map(\.id) == expected)
            let page = try subject.store.ready(
                shard: 0, destination: key.destination, qos: key.qos, afterTurn: ready[1].turn, limit: 2)
            #expect(page.map(\.id) == Array(expected[2..<4]))
        }
        #expect(throws: StoreError.self) { try subject.store.readyKeys(shard: 1) }
    }

    @Test(arguments: StoreKind.allCases)
    func `a list continues where it stopped, over all shards`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try subject.submit(
            (0..<50).map { number in .noop.with { $0.qos = number < 10 ? .utility : .default } }
        ).sorted()
        var found: [CommandID] = []
        while true {
            let page = try subject.store.list(CommandFilter(), after: found.last, limit: 7)
            found += page.map(\.id)
            if page.count < 7 { break }
        }
        #expect(found == ids)
        #expect(try subject.store.list(CommandFilter(qos: .utility), after: nil, limit: 100).count == 10)
        #expect(try subject.store.list(CommandFilter(destination: .test("x")), after: nil, limit: 100).isEmpty)
        #expect(try subject.store.list(CommandFilter(status: .new, qos: .default), after: nil, limit: 100).count == 40)
        #expect(try subject.store.list(CommandFilter(status: .error), after: nil, limit: 100).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `settings are found by their prefix`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        try subject.store.set("pause/all", to: "1")
        try subject.store.set("pause/%", to: "2")
        try subject.store.set("rate/x", to: "5")
        try subject.store.set("rate/x", to: "6")
        #expect(try subject.store.settings(prefix: "pause/") == ["pause/all": "1", "pause/%": "2"])
        #expect(try subject.store.settings(prefix: "pause/%") == ["pause/%": "2"])
        #expect(try subject.store.settings(prefix: "") == ["pause/all": "1", "pause/%": "2", "rate/x": "6"])
        try subject.store.set("rate/x", to: nil)
        #expect(try subject.store.settings(prefix: "rate").isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a setting is updated from its value, and no update of another thread is lost`(_ kind: StoreKind) async throws
    {
        let subject = try StoreUnderTest(kind)
        // It removes the directory when it goes away.
        defer { withExtendedLifetime(subject) {} }
        let store = subject.store
        #expect(try store.setting("count") == nil)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<25 { try? store.update("count") { String((($0.flatMap { Int($0) }) ?? 0) + 1) } }
                }
            }
        }
        #expect(try store.setting("count") == "200")
        try store.update("count") { _ in nil }
        #expect(try store.settings(prefix: "").isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `the waits of one type and destination end, and those that a producer chose do not`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        try subject.open()
        let draft = CommandDraft.noop.with { $0.destination = .test("a") }
        func waiting(_ fault: CommandFailure.Fault, _ draft: CommandDraft) throws -> CommandID {
            let id = try subject.submit(draft)
            try subject.claim(id)
            let failure = CommandFailure(fault, reason: "later", retryAfter: .seconds(3600))
            try subject.apply(.end(id, claim: 1, .failure(failure)))
            return id
        }
        let held = try [waiting(.link, draft), waiting(.command, draft)]
        _ = try waiting(.link, draft.with { $0.destination = .test("b") })
        let planned = try subject.submit(draft.with { $0.notBefore = .base + .seconds(3600) })
        let count = { try subject.store.countHeldBack(shard: 0, type: "noop", destination: .test("a")) }
        func end(_ type: String, limit: Int) throws -> Int {
            var count = 0
            var position: HeldBackPosition?
            repeat {
                let batch = try subject.store.endWaits(
                    shard: 0, type: type, destination: .test("a"), after: position, limit: limit)
                count += batch.count
                position = batch.next
            } while position != nil
            return count
        }
        #expect(try count() == 2)
        #expect(try end("upload", limit: 10) == 0)
        #expect(
            try subject.store.endWaits(shard: 0, type: "noop", destination: .test("a"), after: nil, limit: 1).next
                != nil)
        #expect(try end("noop", limit: 1) == 2 && count() == 0)
        #expect(try end("noop", limit: 10) == 0)
        let due = try subject.store.promoteDue(shard: 0, now: .base + .seconds(2), limit: 10).ready
        #expect(Set(due.map(\.id)) == Set(held))
        #expect(try subject.store.command(planned)?.notBefore == .base + .seconds(3600))
        #expect(try subject.status(held[0]) == .new && subject.status(held[1]) == .error)
    }

    @Test(arguments: StoreKind.allCases)
    func `a shard whose transitions are all pruned keeps the number of its last one`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        #expect(try subject.store.lastTransition(shard: 0) == 0)
        _ = try subject.make(.success)
        let last = try subject.store.lastTransition(shard: 0)
        #expect(try subject.store.events(shard: 0, after: 0, limit: 100).events.last?.transition.seq == last)
        _ = try subject.store.prune(shard: 0, before: .base + .seconds(60), statuses: [.success], limit: 5)
        #expect(try subject.store.events(shard: 0, after: 0, limit: 100).events.isEmpty)
        #expect(try subject.store.lastTransition(shard: 0) == last)
    }

    @Test(arguments: StoreKind.allCases)
    func `old ended commands are pruned in batches, and no others`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        var kept: [CommandID] = []
        for status in CommandStatus.allCases where status != .blocked {
            let id = try subject.make(status)
            if ![.success, .cancelled].contains(status) { kept.append(id) }
        }
        let old = try (0..<10).map { _ in try subject.make(.success) }
        let before = Timestamp.base + .seconds(60)
        let last = try subject.store.lastTransition(shard: 0)
        let newestTurn = try #require(try subject.store.command(old[9])).turn
        #expect(try subject.store.prune(shard: 0, before: .base, statuses: [.success], limit: 100).count == 0)
        var batches: [Int] = []
        var abandoned: [[UInt8]] = []
        while true {
            let pruned = try subject.store.prune(
                shard: 0, before: before, statuses: [.success, .cancelled], limit: 5)
            if pruned.count == 0 { break }
            batches.append(pruned.count)
            abandoned += pruned.abandoned
        }
        #expect(batches == [5, 5, 2])
        // The payload of the cancelled command.
        #expect(abandoned == [CommandDraft.noop.payload])
        for id in old {
            #expect(try subject.store.command(id) == nil)
            #expect(try subject.store.payload(id) == nil)
            #expect(try subject.store.result(id) == nil)
            #expect(try subject.store.timeline(id).isEmpty)
        }
        for id in kept { #expect(try subject.store.command(id) != nil) }
        #expect(try subject.countsAreTrue())
        // Numbers go on although the newest rows are deleted.
        let id = try subject.submit()
        #expect(try subject.store.timeline(id).first?.seq ?? 0 > last)
        #expect(try #require(try subject.store.command(id)).turn > newestTurn)
        let dead = try subject.store.prune(shard: 0, before: before, statuses: [.tooManyTimes, .inDoubt], limit: 9)
        #expect(dead.count == 2, "\(dead)")
        #expect(
            try subject.store.events(shard: 0, after: 0, limit: 1000).events.allSatisfy {
                kept.contains($0.transition.id) || $0.transition.id == id
            })
    }

    @Test(arguments: StoreKind.allCases)
    func `a jump of the wall clock shifts backoffs, but not the time that a producer chose`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let failed = try subject.submit()
        let refused = try subject.submit()
        let planned = try subject.submit(.noop.with { $0.notBefore = .base + .seconds(100) })
        try subject.open()
        for (id, fault) in [(failed, CommandFailure.Fault.command), (refused, .link)] {
            try subject.claim(id)
            let failure = CommandFailure(fault, reason: "503", retryAfter: .seconds(30))
            try subject.apply(.end(id, claim: 1, .failure(failure)))
        }
        func waits() throws -> [Timestamp] {
            try [failed, refused, planned].map { try subject.store.command($0)?.notBefore ?? .zero }
        }
        let before = try waits()
        #expect(before.allSatisfy { $0 > .base })
        try subject.store.shiftBackoffs(shard: 0, by: .seconds(-3600), writtenBefore: nil)
        #expect(try waits() == [before[0] + .seconds(-3600), before[1] + .seconds(-3600), before[2]])
    }

    @Test(arguments: StoreKind.allCases)
    func `a jump of the wall clock does not shift the backoff of a failure that was written after it`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let ids = try subject.submit([.noop, .noop, .noop, .noop])
        try subject.open()
        let hour = Duration.seconds(3600)
        let found = Timestamp.base + .seconds(3600 + 10)
        // Two failures of the command and two of the link; of each, one before the jump and one after it.
        let moments: [Timestamp] = [.base + .seconds(5), found, .base + .seconds(6), found + .seconds(-1)]
        let faults: [CommandFailure.Fault] = [.command, .command, .link, .link]
        for (index, id) in ids.enumerated() {
            try subject.claim(id, now: moments[index])
            let failure = CommandFailure(faults[index], reason: "503", retryAfter: .seconds(30))
            try subject.apply(.end(id, claim: 1, .failure(failure)), now: moments[index])
        }
        func waits() throws -> [Timestamp] { try ids.map { try subject.store.command($0)?.notBefore ?? .zero } }
        let meant = try waits()
        #expect(zip(meant, moments).allSatisfy { $0 > $1 })
        try subject.store.shiftBackoffs(shard: 0, by: hour, writtenBefore: found + .seconds(-1800))
        #expect(try waits() == [meant[0] + hour, meant[1], meant[2] + hour, meant[3]])
        // A later jump shifts those, too, but not a row that was written at its bound.
        try subject.store.shiftBackoffs(shard: 0, by: hour, writtenBefore: found)
        let twice = hour + hour
        #expect(try waits() == [meant[0] + twice, meant[1], meant[2] + twice, meant[3] + hour])
    }

    // MARK: Ready again

    @Test(arguments: StoreKind.current)
    func `what becomes ready out of its turn is listed until it is taken`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let ids = try (0..<6).map { _ in try subject.submit(.noop) }
        func take(_ limit: Int = 100) throws -> [CommandID] {
            try subject.store.takeReadyAgain(shard: 0, limit: limit).map(\.id)
        }
        try subject.open()
        #expect(try take() == [])
        // A release, a retry, a change of quality and a death.
        _ = try #require(try subject.claim(ids[5]))
        _ = try subject.apply(.end(ids[5], claim: 1, .released(reason: "preempted", ambiguous: false)))
        _ = try subject.store.cancel(ids[4], reason: "not wanted", now: .base)
        #expect(try subject.store.retry(ids[4], now: .base) != nil)
        #expect(try subject.store.requalify(ids[3], qos: .userInitiated, now: .base))
        #expect(try take(1) == [ids[3]])
        #expect(try take() == [ids[4], ids[5]])
        #expect(try take() == [])
        _ = try #require(try subject.claim(ids[2]))
        try subject.store.reap(
            seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch, charges: false, started: nil, reason: "dead",
            now: .base
        ) { _ in }
        #expect(try take() == [ids[2]])
        // Neither a command that was claimed, cancelled or deleted meanwhile, nor one that is claimed.
        try subject.open()
        for id in ids[0..<2] { #expect(try subject.store.requalify(id, qos: .background, now: .base)) }
        _ = try subject.store.cancel(ids[0], reason: "not wanted", now: .base)
        _ = try #require(try subject.claim(ids[1]))
        #expect(try subject.store.requalify(ids[1], qos: .default, now: .base))
        #expect(try take() == [])
    }
}
