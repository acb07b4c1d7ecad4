import Commands
import Store
import TestSupport
import Testing

/// The ends of executions: success, failure and release.
@Suite(.postgreSQLServer) struct ExecutionEndConformance {
    @Test(arguments: StoreKind.allCases)
    func `a second success changes nothing`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(.success)
        #expect(try subject.apply(.end(id, claim: 1, .success(result: [1]))) == .replaced)
        #expect(try subject.statuses(id) == [.new, .queued, .sent, .success])
        #expect(try subject.claim(id) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a success respects changes that were made after the claim`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try subject.submit([CommandDraft](repeating: .noop, count: 2))
        try subject.open()
        for id in ids { try subject.claim(id) }
        #expect(try subject.store.requalify(ids[0], qos: .background, now: .base))
        _ = try subject.store.cancel(ids[1], reason: "too late", now: .base)
        for id in ids { try subject.apply(.end(id, claim: 1, .success(result: nil))) }
        #expect(try subject.store.command(ids[0])?.qos == .background)
        #expect(try subject.status(ids[1]) == .success)
        #expect(try subject.store.command(ids[1])?.cancelRequested == false)
        #expect(try subject.store.counts()[.success, .background] == 1)
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a charged failure waits for its backoff, and the last one ends the command`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let id = try subject.submit(.noop.with { $0.retryLimit = 1 })
        try subject.open()
        try subject.claim(id)
        let failure = ExecutionResult.failure(
            CommandFailure(.command, reason: "500 from there", retryAfter: .seconds(30)))
        guard case .done(_, let retries) = try subject.apply(.end(id, claim: 1, failure)) else {
            Issue.record("replaced")
            return
        }
        #expect(retries == 1)
        let command = try #require(try subject.store.command(id))
        #expect(command.status == .error && command.retries == 1 && command.reason == "500 from there")
        #expect(command.notBefore >= .base + .seconds(31))
        #expect(try subject.store.readyKeys(shard: 0).isEmpty)
        let later = command.notBefore
        #expect(try subject.claim(id, now: later) == 2)
        try subject.apply(.end(id, claim: 2, failure), now: later)
        #expect(try subject.statuses(id) == [.new, .queued, .sent, .error, .queued, .sent, .error, .tooManyTimes])
        #expect(try subject.store.timeline(id).last?.reason == "500 from there")
        #expect(try subject.store.list(CommandFilter(status: .tooManyTimes), after: nil, limit: 5).map(\.id) == [id])
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a failure of the link is not charged`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let id = try subject.submit()
        try subject.open()
        try subject.claim(id)
        try subject.apply(.end(id, claim: 1, .failure(CommandFailure(.link, reason: "connection refused"))))
        let command = try #require(try subject.store.command(id))
        #expect(command.status == .new && command.retries == 0 && command.notBefore == .zero)
        #expect(try subject.store.ready(shard: 0, ids: [id]).count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a released command keeps its offset, its turn and its retries`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let id = try subject.submit(.noop.with { $0.destination = .test("a") })
        try subject.submit(.noop.with { $0.destination = .test("a") })
        try subject.open()
        try subject.claim(id)
        #expect(try subject.apply(.offset(id, claim: 1, offset: 700, total: 1000)) == .done([], retries: 0))
        try subject.apply(.end(id, claim: 1, .released(reason: "drained", ambiguous: false)))
        let command = try #require(try subject.store.command(id))
        #expect(command.status == .new && command.offset == 700 && command.total == 1000 && command.turn == 1)
        let ready = try subject.store.ready(
            shard: 0, destination: .test("a"), qos: .default, afterTurn: 0, limit: 10)
        #expect(ready.first?.id == id)
        #expect(ready.count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `a ready command has the number of its remaining bytes`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let id = try subject.submit(.noop.with { $0.total = 1000 })
        let noop = try subject.submit()
        try subject.open()
        func remaining() throws -> [[Int64?]] {
            let found = try subject.store.ready(shard: 0, ids: [id, noop])
            let listed = try subject.store.ready(
                shard: 0, destination: .none, qos: .default, afterTurn: 0, limit: 10)
            return [found.map(\.remaining), listed.map(\.remaining)]
        }
        #expect(try remaining() == [[1000, nil], [1000, nil]])
        try subject.claim(id)
        try subject.apply(.offset(id, claim: 1, offset: 700, total: 1000))
        try subject.apply(.end(id, claim: 1, .released(reason: "drained", ambiguous: false)))
        #expect(try remaining() == [[300, nil], [300, nil]])
        try subject.claim(id)
        var released: [ReadyCommand] = []
        try subject.store.reap(
            seat: StoreUnderTest.seat, epoch: StoreUnderTest.epoch, charges: false, started: nil, reason: "killed",
            now: .base, released: { released += $0.ready })
        #expect(released.map(\.remaining) == [300])
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a success sets the offset to the total`(_ kind: StoreKind, isChanged: Bool) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        try subject.claim(id)
        #expect(try subject.apply(.offset(id, claim: 1, offset: 700, total: 1000)) == .done([], retries: 0))
        if isChanged { _ = try subject.store.requalify(id, qos: .utility, now: .base) }
        try subject.apply(.end(id, claim: 1, .success(result: nil)))
        let command = try #require(try subject.store.command(id))
        #expect(command.status == .success && command.offset == 1000 && command.total == 1000)
    }

    @Test(arguments: StoreKind.allCases)
    func `a command that is not idempotent is in doubt after an ambiguous end`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.make(.inDoubt)
        #expect(try subject.status(id) == .inDoubt)
        #expect(try subject.claim(id) == nil)
        #expect(try subject.store.retry(id, now: .base) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a failure may leave a result, which a retry by a person drops`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = try subject.submit()
        try subject.open()
        try subject.claim(id)
        var failure = CommandFailure(.final, reason: "exit 65")
        failure.result = Array(#"{"exit":65}"#.utf8)
        try subject.apply(.end(id, claim: 1, .failure(failure)))
        #expect(try subject.status(id) == .tooManyTimes && subject.store.result(id) == failure.result)
        _ = try subject.store.retry(id, now: .base + .seconds(2))
        #expect(try subject.store.result(id) == nil)
        try subject.claim(id, now: .base + .seconds(3))
        try subject.apply(.end(id, claim: 2, .failure(CommandFailure(.final, reason: "no program"))))
        #expect(try subject.store.result(id) == nil)
    }
}
