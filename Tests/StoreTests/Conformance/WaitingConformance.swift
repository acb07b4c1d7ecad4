import Commands
import Store
import TestSupport
import Testing

/// The queues of waiting commands, as pages count them.
@Suite(.postgreSQLServer) struct WaitingConformance {
    private static func queues(
        _ subject: StoreUnderTest, of destinations: Destination...
    ) throws -> [WaitingQueue.Name: WaitingQueue] {
        try subject.store.waitingQueues(of: destinations, shard: 0)
    }

    @Test(arguments: StoreKind.allCases) func `ready commands are counted by destination`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let a = CommandDraft.noop.with { $0.destination = .test("a") }
        try subject.submit([a, a.with { $0.qos = .userInitiated }, a, .noop.with { $0.destination = .test("b") }])
        let queues = try Self.queues(subject, of: .test("a"), .test("c"), .none)
        let queue = try #require(queues[.destination(.test("a"))])
        #expect(queue.count == 3 && queue.isComplete && queue.qos == .userInitiated && queue.release == nil)
        #expect(queue.since == .base && queue.due == nil && queues.count == 1)
    }

    @Test(arguments: StoreKind.allCases) func `a released command has the reason of its queue`(_ kind: StoreKind) throws
    {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        try subject.open()
        let id = try subject.submit(.noop.with { $0.destination = .test("a") })
        try subject.claim(id)
        #expect(try Self.queues(subject, of: .test("a")).isEmpty)
        try subject.apply(.end(id, claim: 1, .failure(CommandFailure(.link, reason: "refuses connections"))))
        let queue = try #require(Self.queues(subject, of: .test("a"))[.destination(.test("a"))])
        #expect(queue.count == 1 && queue.release?.reason == "refuses connections")
    }

    @Test(arguments: StoreKind.allCases) func `commands that are not due have a queue with the next time`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        for hours in [3, 2, 9] {
            try subject.submit(.noop.with { $0.notBefore = .base + .seconds(hours * 3600) })
        }
        _ = try subject.make(.error)
        let queues = try Self.queues(subject, of: .none)
        let queue = try #require(queues[.notBefore])
        #expect(queue.count == 4 && queue.isComplete && queues.count == 1)
        #expect(try #require(queue.due) < .base + .seconds(60))
    }

    @Test(arguments: StoreKind.current) func `commands of a rate limit have a queue of their own`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        for name in ["api", "web"] { try subject.store.set(SettingKey.limit(name), to: #"{"starts":"30/s"}"#) }
        let limits = ["api", nil, "web", "api"]
        try subject.submit(limits.map { limit in .noop.with { $0.limit = limit } })
        let queues = try Self.queues(subject, of: .none)
        #expect(queues.mapValues(\.count) == [.limit("api"): 2, .limit("web"): 1, .destination(.none): 1])
    }

    @Test(arguments: StoreKind.current) func `a long queue is counted up to a maximum`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        try subject.submit([CommandDraft](repeating: .noop, count: WaitingQueue.maxCounted))
        var queue = try #require(Self.queues(subject, of: .none)[.destination(.none)])
        #expect(queue.count == WaitingQueue.maxCounted && queue.isComplete)
        try subject.submit([.noop, .noop])
        queue = try #require(Self.queues(subject, of: .none)[.destination(.none)])
        #expect(queue.count == WaitingQueue.maxCounted && !queue.isComplete)
    }

    @Test func `the queues of shards add up, with the newest release`() throws {
        let subject = try StoreUnderTest(.memory, shardCount: 1)
        try subject.submit([.noop.with { $0.qos = .utility }, .noop], now: .base + .seconds(5))
        var queue = try #require(Self.queues(subject, of: .none)[.destination(.none)])
        var other = queue
        other.since = .base
        other.isComplete = false
        other.release = WaitingQueue.Release(reason: "stalled", at: .base)
        queue.add(other)
        #expect(queue.count == 4 && !queue.isComplete && queue.since == .base && queue.release?.reason == "stalled")
        other.release = WaitingQueue.Release(reason: "refused", at: .base + .seconds(1))
        other.qos = .background
        queue.add(other)
        #expect(queue.release?.reason == "refused" && queue.qos == .background)
        other.release = WaitingQueue.Release(reason: "older", at: .base)
        queue.add(other)
        #expect(queue.release?.reason == "refused" && queue.count == 8)
    }
}
