import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct RateLimitConformance {
    private static let key = ReadyKey(destination: .none, qos: .default, limit: "api")

    private static func subject(_ kind: StoreKind, _ names: String...) throws -> StoreUnderTest {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        for name in names { try subject.store.set(SettingKey.limit(name), to: #"{"starts":"30/s"}"#) }
        try subject.open()
        return subject
    }

    private static func ready(_ subject: StoreUnderTest, _ key: ReadyKey) throws -> [CommandID] {
        try subject.store.ready(shard: 0, key: key, afterTurn: 0, limit: 100).map(\.id)
    }

    @Test(arguments: StoreKind.current)
    func `commands with a rate limit have queues of their own, in the order of their submits`(_ kind: StoreKind) throws
    {
        let subject = try Self.subject(kind, "api", "web")
        let limits = [nil, "api", "web", "api", nil, "api"]
        let qualities: [QualityOfService] = [.default, .utility]
        let drafts = (0..<60).map { number in
            CommandDraft.noop.with {
                $0.limit = limits[number % 6]
                $0.qos = qualities[number / 30]
                $0.destination = number % 4 == 0 ? .test("a") : .none
            }
        }
        let ids = try subject.submit(drafts)
        func key(_ draft: CommandDraft) -> ReadyKey {
            ReadyKey(destination: draft.destination, qos: draft.qos, limit: draft.limit)
        }
        let keys = try subject.store.readyKeys(shard: 0)
        #expect(keys == Set(drafts.map(key)))
        #expect(try subject.store.limitedKeys(shard: 0) == keys.filter { $0.limit != nil })
        #expect(try subject.store.readyCounts(shard: 0) == ["api": 30, "web": 10])
        for key in keys {
            let expected = zip(ids, drafts).filter {
                ReadyKey(destination: $1.destination, qos: $1.qos, limit: $1.limit) == key
            }
            let found = try subject.store.ready(shard: 0, key: key, afterTurn: 0, limit: 100)
            #expect(found.map(\.id) == expected.map(\.0) && found.allSatisfy { $0.limit == key.limit })
            let next = try subject.store.ready(shard: 0, key: key, afterTurn: found[0].turn, limit: 1)
            #expect(next.map(\.id) == expected.dropFirst().prefix(1).map(\.0))
        }
        #expect(try subject.store.ready(shard: 0, ids: ids).map(\.limit) == drafts.map(\.limit))
        #expect(try subject.store.command(ids[1])?.limit == "api")
        #expect(try subject.store.list(CommandFilter(status: .new), after: nil, limit: 100).count == 60)
        #expect(try subject.store.list(CommandFilter(), after: nil, limit: 100).count == 60)
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.current)
    func `a command keeps its limit through its claim, its backoff and its retry`(_ kind: StoreKind) throws {
        let subject = try Self.subject(kind, "api")
        let id = try subject.submit(.noop.with { $0.limit = "api" })
        #expect(try Self.ready(subject, Self.key) == [id])
        try subject.claim(id)
        #expect(try Self.ready(subject, Self.key).isEmpty && subject.store.readyKeys(shard: 0).isEmpty)
        #expect(try subject.store.claimed(shard: 0).map(\.limit) == ["api"])
        try subject.apply(.end(id, claim: 1, .failure(CommandFailure(.command, reason: "went wrong"))))
        #expect(try subject.status(id) == .error && Self.ready(subject, Self.key).isEmpty)
        let due = try subject.store.promoteDue(shard: 0, now: .base + .seconds(3600), limit: 10)
        #expect(due.ready.map(\.id) == [id] && due.ready.map(\.limit) == ["api"])
        #expect(try Self.ready(subject, Self.key) == [id])
        try subject.claim(id, now: .base + .seconds(3600))
        try subject.apply(.end(id, claim: 2, .released(reason: "drain", ambiguous: false)))
        #expect(try Self.ready(subject, Self.key) == [id])
        #expect(try subject.store.takeReadyAgain(shard: 0, limit: 10).map(\.limit) == ["api"])
        _ = try subject.store.cancel(id, reason: "not wanted", now: .base)
        #expect(try Self.ready(subject, Self.key).isEmpty)
        let retried = try #require(try subject.store.retry(id, now: .base))
        #expect(retried.ready.map(\.limit) == ["api"] && retried.ready.map(\.id) == [id])
        _ = try subject.store.requalify(id, qos: .background, now: .base)
        #expect(try Self.ready(subject, Self.key).isEmpty)
        #expect(try Self.ready(subject, ReadyKey(destination: .none, qos: .background, limit: "api")) == [id])
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.current)
    func `a limited command waits for its time, its parent and its ordering key before it is ready`(
        _ kind: StoreKind
    ) throws {
        let subject = try Self.subject(kind, "api")
        let later = try subject.submit(
            .noop.with {
                $0.limit = "api"
                $0.notBefore = .base + .seconds(60)
            })
        let parent = try subject.submit(.noop)
        let child = try subject.submit(
            .noop.with {
                $0.limit = "api"
                $0.dependencies = [Dependency(on: parent)]
            })
        #expect(try Self.ready(subject, Self.key).isEmpty)
        try subject.claim(parent)
        let effects = try subject.store.apply(
            [.end(parent, claim: 1, .success(result: nil))], shard: 0, seat: StoreUnderTest.seat,
            epoch: StoreUnderTest.epoch, now: .base + .seconds(2), timeout: .seconds(1)
        ).effects
        #expect(effects.ready.map(\.id) == [child] && effects.ready.map(\.limit) == ["api"])
        #expect(try Self.ready(subject, Self.key) == [child])
        #expect(try subject.store.promoteDue(shard: 0, now: .base + .seconds(61), limit: 10).ready.map(\.id) == [later])
        #expect(try Set(Self.ready(subject, Self.key)) == [child, later])
    }

    @Test(arguments: StoreKind.current)
    func `a limit that does not exist is refused with the nearest name, and the others of the bulk are accepted`(
        _ kind: StoreKind
    ) throws {
        let subject = try Self.subject(kind, "quotes-api")
        let names = ["quotes-api", "qoutes-api", nil, "an other"]
        let results = subject.store.submit(
            names.map { name in .noop.with { $0.limit = name } }, allowUnknownTypes: false, now: .base)
        let messages = results.map { result -> String? in
            if case .failure(let error) = result { error.message } else { nil }
        }
        #expect(messages[0] == nil && messages[2] == nil)
        #expect(messages[1]?.hasPrefix("There is no rate limit “qoutes-api”; is it “quotes-api”?") == true)
        #expect(messages[3]?.contains("is not the name of a rate limit") == true)
        let plan = try FlowPlan(FlowDraft("f", nodes: [FlowNode("a", .noop.with { $0.limit = "quotes" })]))
        let error = try #require(throws: StoreError.self) {
            try subject.store.submit(plan, allowUnknownTypes: false, now: .base)
        }
        #expect(error.code == .invalid && error.message.contains("Node “a”: There is no rate limit “quotes”"))
    }

    @Test(arguments: StoreKind.current)
    func `nodes of a flow have the limits of their drafts`(_ kind: StoreKind) throws {
        let subject = try Self.subject(kind, "api")
        let limited = CommandDraft.noop.with { $0.limit = "api" }
        let plan = try FlowPlan(
            FlowDraft("f", nodes: [FlowNode("a", limited), FlowNode("b", limited, after: ["a": .success])]))
        let submission = try subject.store.submit(plan, allowUnknownTypes: false, now: .base)
        #expect(submission.ready.map(\.limit) == ["api"])
        #expect(try Self.ready(subject, Self.key) == submission.ready.map(\.id))
    }

    @Test
    func `a store of the first release has no queue of a limit, and refuses limited commands until it is migrated`()
        throws
    {
        let subject = try StoreUnderTest(.firstRelease, shardCount: 1)
        try subject.store.set(SettingKey.limit("api"), to: #"{"starts":"30/s"}"#)
        _ = try subject.submit(.noop)
        #expect(try subject.store.readyKeys(shard: 0) == [ReadyKey(destination: .none, qos: .default)])
        #expect(try subject.store.readyCounts(shard: 0).isEmpty && Self.ready(subject, Self.key).isEmpty)
        let result = subject.store.submit(
            [.noop.with { $0.limit = "api" }], allowUnknownTypes: false, now: .base)[0]
        guard case .failure(let error) = result else { return #expect(Bool(false), "\(result)") }
        #expect(error.code == .overloaded && error.message.contains("rate limits need version 3"))
    }
}
