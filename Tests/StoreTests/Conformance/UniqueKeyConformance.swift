import Commands
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct UniqueKeyConformance {
    private static let draft = CommandDraft.noop.with {
        $0.uniqueKey = "order-7"
        $0.payload = Array(#"{"a": 1, "b": [2, 3]}"#.utf8)
    }

    @Test(arguments: StoreKind.allCases)
    func `a second submit of an equal command returns the first one`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let first = try subject.submit(Self.draft)
        let again = Self.draft.with { $0.qos = .background }
        let result = try subject.store.submit([again], allowUnknownTypes: false, now: .base)[0].get()
        #expect(result == Submission(id: first, isExisting: true))
        #expect(try subject.store.counts()[.new] == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `the commands of a request are found in every shard, by any type, and after they gave their keys up`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind)
        let prefix = "\(RequestKey.prefix)t:a§"
        var ids: [String: CommandID] = [:]
        for line in 1...20 {
            let key = "\(prefix)\(line)#00"
            ids[key] = try subject.submit(
                CommandDraft.noop.with {
                    $0.uniqueKey = key
                    if line > 10, kind != .firstRelease { $0.orderingKey = "lane \(line)" }
                })
        }
        for key in ["\(RequestKey.prefix)t:a1§1#00", "\(RequestKey.prefix)t:b§1#00", "order-7"] {
            _ = try subject.submit(CommandDraft.noop.with { $0.uniqueKey = key })
        }
        for id in ids.values { _ = try subject.store.cancel(id, reason: "not wanted", now: .base) }
        #expect(try subject.store.commands(ofRequestKeys: prefix) == ids)
        #expect(try subject.store.commands(ofRequestKeys: "\(RequestKey.prefix)t:c§").isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `two equal drafts in one bulk are one command`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let results = try subject.store.submit(
            [.noop, Self.draft, .noop, Self.draft], allowUnknownTypes: false, now: .base
        ).map { try $0.get() }
        #expect(results[1].id == results[3].id)
        #expect(results.map(\.isExisting) == [false, false, false, true])
        #expect(try subject.store.counts()[.new] == 3)
    }

    @Test(arguments: StoreKind.allCases)
    func `another payload or destination under the same key is an error that names the first`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind)
        let first = try subject.submit(Self.draft)
        let others = [
            Self.draft.with { $0.payload = Array(#"{"a": 2, "b": [2, 3]}"#.utf8) },
            Self.draft.with { $0.payload = Array(#"{"b": [2, 3], "a": 1}"#.utf8) },
            Self.draft.with { $0.destination = .test("elsewhere") },
        ]
        for other in others {
            let error = try #require(throws: StoreError.self) { try subject.submit(other) }
            #expect(error.code == .conflict)
            #expect(error.id == first)
            #expect(error.message.contains(first.description))
        }
        // Keys are unique within a type.
        let upload = try subject.submit(Self.draft.with { $0.type = "upload" })
        #expect(upload != first)
        #expect(upload.shard(of: 4) == first.shard(of: 4))
    }

    @Test(arguments: StoreKind.allCases)
    func `the identity of a draft is compared instead of its payload`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let draft = Self.draft.with { $0.identity = Array(#"{"file": "/a"}"#.utf8) }
        let first = try subject.submit(draft)
        #expect(try subject.store.payload(first) == draft.payload)
        let again = draft.with { $0.payload = Array(#"{"copy": 2}"#.utf8) }
        #expect(try subject.submit(again) == first)
        // A draft whose payload has the bytes of the identity is equal.
        let plain = Self.draft.with { $0.payload = Array(#"{"file": "/a"}"#.utf8) }
        #expect(try subject.submit(plain) == first)
        let other = draft.with { $0.identity = Array(#"{"file": "/b"}"#.utf8) }
        let error = try #require(throws: StoreError.self) { try subject.submit(other) }
        #expect(error.code == .conflict && error.id == first)
    }

    @Test(arguments: StoreKind.allCases)
    func `a cancelled command gives its key up, and a retry takes it back unless another command holds it`(
        _ kind: StoreKind
    ) throws {
        let subject = try StoreUnderTest(kind)
        let first = try subject.submit(Self.draft)
        _ = try subject.store.cancel(first, reason: "no", now: .base)
        let second = try subject.submit(Self.draft)
        #expect(second != first)
        let error = try #require(throws: StoreError.self) { try subject.store.retry(first, now: .base) }
        #expect(error.code == .conflict && error.id == second)
        #expect(try subject.status(first) == .cancelled)
        _ = try subject.store.cancel(second, reason: "no", now: .base)
        #expect(try subject.store.retry(first, now: .base) != nil)
        #expect(try subject.store.submit([Self.draft], allowUnknownTypes: false, now: .base)[0].get().id == first)
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `a finished command keeps its key until it is pruned`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let first = try subject.submit(Self.draft)
        try subject.open()
        try subject.claim(first)
        try subject.apply(.end(first, claim: 1, .success(result: nil)))
        #expect(try subject.submit(Self.draft) == first)
        let shard = first.shard(of: subject.store.shardCount)
        let pruned = try subject.store.prune(
            shard: shard, before: .base + .seconds(60), statuses: [.success], limit: 10)
        #expect(pruned.count == 1)
        #expect(try subject.submit(Self.draft) != first)
    }

    @Test(arguments: StoreKind.allCases)
    func `numbers that differ beyond 64 bits are different payloads`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        func draft(_ number: String) -> CommandDraft {
            Self.draft.with { $0.payload = Array("{\"id\":\(number)}".utf8) }
        }
        let first = try subject.submit(draft("18446744073709551615"))
        let error = try #require(throws: StoreError.self) { try subject.submit(draft("18446744073709551616")) }
        #expect(error.code == .conflict && error.id == first)
        #expect(try subject.submit(draft("18446744073709551615")) == first)
    }

    @Test(arguments: StoreKind.allCases)
    func `keys that differ only in their Unicode form are two keys`(_ kind: StoreKind) throws {
        // In one shard, where a wrong comparison would take them for one.
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let composed = try subject.submit(Self.draft.with { $0.uniqueKey = "\u{E9}" })
        let decomposed = try subject.submit(Self.draft.with { $0.uniqueKey = "e\u{301}" })
        #expect(composed != decomposed)
    }
}
