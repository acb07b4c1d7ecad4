import Commands
import Host
import Store
import Synchronization
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct SubmitConformance {
    @Test(arguments: StoreKind.allCases)
    func `a submitted command has the fields of its draft`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        var draft = CommandDraft(
            type: "upload", payload: Array(#"{"file":"/x"}"#.utf8), destination: .test("a"), qos: .userInitiated,
            idempotent: false)
        draft.retryLimit = 3
        draft.notBefore = .base + .seconds(60)
        draft.deadline = .base + .seconds(3600)
        draft.uniqueKey = "key"
        draft.total = 42
        let id = try subject.submit(draft)
        let command = try #require(try subject.store.command(id))
        #expect(command.type == "upload")
        #expect(command.qos == .userInitiated)
        #expect(command.status == .new)
        #expect(command.destination == .test("a"))
        #expect(!command.idempotent)
        #expect(command.retryLimit == 3)
        #expect(command.notBefore == .base + .seconds(60))
        #expect(command.deadline == .base + .seconds(3600))
        #expect(command.uniqueKey == "key")
        #expect(command.total == 42)
        #expect(command.claim == 0 && command.retries == 0 && command.crashes == 0 && command.offset == 0)
        #expect(command.createdAt == .base && command.updatedAt == .base)
        #expect(command.turn == 1)
        #expect(try subject.store.payload(id) == draft.payload)
        #expect(try subject.store.result(id) == nil)
        let timeline = try subject.store.timeline(id)
        #expect(timeline.map(\.status) == [.new])
        #expect(timeline.first?.seat == nil && timeline.first?.claim == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `a timeline is read by pages, the newest first`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let (id, other) = (try subject.make(.new), try subject.make(.new))
        for id in [id, other, id, other, id] {
            _ = try subject.store.cancel(id, reason: "no", now: .base)
            _ = try subject.store.retry(id, now: .base)
        }
        let all = try subject.store.timeline(id)
        #expect(all.map(\.status) == [.new, .cancelled, .new, .cancelled, .new, .cancelled, .new])
        func page(before seq: Int64?) throws -> [Transition] {
            try subject.store.timeline(id, before: seq, limit: 3)
        }
        #expect(try page(before: nil) == Array(all[4...]))
        #expect(try page(before: all[4].seq) == Array(all[1...3]))
        #expect(try page(before: all[1].seq) == [all[0]])
        #expect(try page(before: all[0].seq).isEmpty)
        #expect(try subject.store.timeline(id, before: nil, limit: 0).isEmpty)
        // Not transitions of this command; each shard counts its own.
        let others = try subject.store.timeline(other).map(\.seq).filter { !all.map(\.seq).contains($0) }
        for seq in [-1, 0, .max] + others { #expect(try page(before: seq).isEmpty, "\(seq)") }
    }

    @Test(arguments: StoreKind.allCases)
    func `no read finds an unknown id`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let id = CommandID()
        #expect(try subject.store.command(id) == nil)
        #expect(try subject.store.payload(id) == nil)
        #expect(try subject.store.timeline(id).isEmpty)
        #expect(throws: StoreError.self) { try subject.store.cancel(id, reason: "", now: .base) }
        #expect(throws: StoreError.self) { try subject.store.retry(id, now: .base) }
        #expect(try !subject.store.requalify(id, qos: .utility, now: .base))
        let writes: [ExecutionWrite] = [.sent(id, claim: 1), .end(id, claim: 1, .success(result: nil))]
        for write in writes { #expect(try subject.apply(write) == .replaced) }
        #expect(try subject.claim(id) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `a bulk keeps its order, and an invalid draft fails alone`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        var drafts = (0..<700).map { number in
            CommandDraft.noop.with { $0.payload = Array("{\"milliseconds\":\(number)}".utf8) }
        }
        drafts[10].type = "No Such Type"
        drafts[20].type = "never-registered"
        drafts[30].payload = [UInt8](repeating: 0x20, count: Command.payloadLimit + 1)
        drafts[40].retryLimit = -1
        drafts[50].uniqueKey = ""
        let results = subject.store.submit(drafts, allowUnknownTypes: false, now: .base)
        #expect(results.count == 700)
        for (index, result) in results.enumerated() {
            switch (index, result) {
            case (10, .failure(let error)), (20, .failure(let error)), (30, .failure(let error)),
                (40, .failure(let error)), (50, .failure(let error)):
                #expect(error.code == .invalid)
            case (_, .failure(let error)): Issue.record("draft \(index): \(error)")
            case (_, .success(let submission)):
                #expect(try subject.store.payload(submission.id) == drafts[index].payload)
            }
        }
        if case .failure(let error) = results[20] {
            #expect(error.message.contains("download, exec, fetch, noop, request, s3, sync, upload, webhook"))
        }
        #expect(try subject.store.counts()[.new] == 695)
        #expect(try subject.countsAreTrue())
    }

    @Test(arguments: StoreKind.allCases)
    func `turns grow within a shard in the order of submission`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let first = try subject.submit([CommandDraft](repeating: .noop, count: 40))
        let second = try subject.submit([CommandDraft](repeating: .noop, count: 3))
        let turns = try (first + second).map { try #require(try subject.store.command($0)).turn }
        #expect(turns == Array(1...43))
    }

    @Test(arguments: StoreKind.allCases)
    func `a recorded type is known`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let draft = CommandDraft.noop.with { $0.type = "thumbnail" }
        #expect(throws: StoreError.self) { try subject.submit(draft) }
        #expect(try subject.store.submit([draft], allowUnknownTypes: true, now: .base)[0].get().isExisting == false)
        try subject.store.record(types: ["thumbnail", "noop"])
        let builtIn: Set = [
            "cleanup", "download", "exec", "fetch", "noop", "request", "s3", "sync", "thumbnail", "upload", "webhook",
        ]
        #expect(try subject.store.types() == builtIn)
        try subject.submit(draft)
        #expect(throws: StoreError.self) { try subject.store.record(types: ["Not A Type"]) }
    }

    @Test(arguments: StoreKind.allCases)
    func `a command is not ready before its time`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let later = CommandDraft.noop.with { $0.notBefore = .base + .seconds(10) }
        let id = try subject.submit(later)
        try subject.open()
        #expect(try subject.store.readyKeys(shard: 0).isEmpty)
        #expect(try subject.claim(id, now: .base + .seconds(9)) == nil)
        let early = try subject.store.promoteDue(shard: 0, now: .base + .seconds(9), limit: 10)
        #expect(early.ready.count == 0 && early.next == .base + .seconds(10))
        let due = try subject.store.promoteDue(shard: 0, now: .base + .seconds(10), limit: 10)
        #expect(due.ready.map(\.id) == [id] && due.next == nil)
        #expect(try subject.store.ready(shard: 0, ids: [id]).map(\.id) == [id])
        #expect(try subject.claim(id, now: .base + .seconds(10)) == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a due command can be claimed before it is promoted`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let id = try subject.submit(.noop.with { $0.notBefore = .base + .seconds(10) })
        try subject.open()
        #expect(try subject.claim(id, now: .base + .seconds(11)) == 1)
        #expect(try subject.store.promoteDue(shard: 0, now: .base + .seconds(12), limit: 10).next == nil)
        #expect(try subject.store.command(id)?.notBefore == .zero)
    }

    @Test(arguments: StoreKind.allCases)
    func `sixteen threads submit at once, and no command is lost or doubled`(_ kind: StoreKind) async throws {
        let subject = try StoreUnderTest(kind)
        let ids = try await withThrowingTaskGroup(of: [CommandID].self) { group in
            for thread in 0..<16 {
                group.addTask {
                    try await BlockingPool.shared.run { () throws(StoreError) -> [CommandID] in
                        var ids: [CommandID] = []
                        for round in 0..<10 {
                            let drafts = (0..<5).map { number in
                                CommandDraft.noop.with { $0.payload = Array("[\(thread),\(round),\(number)]".utf8) }
                            }
                            for result in subject.store.submit(drafts, allowUnknownTypes: false) {
                                ids.append(try result.get().id)
                            }
                        }
                        return ids
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(ids).count == 800)
        #expect(try subject.store.counts()[.new] == 800)
        let payloads = try Set(ids.map { try subject.store.payload($0) })
        #expect(payloads.count == 800)
        for shard in 0..<subject.store.shardCount {
            let events = try subject.store.events(shard: shard, after: 0, limit: 10_000).events
            let numbers = events.map(\.transition.seq)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    @Test(arguments: StoreKind.current)
    func `times at which a command could never run are refused`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let hour = Timestamp.base + .seconds(3600)
        let wrong: [(CommandDraft, String)] = [
            (.noop.with { $0.deadline = .base }, "has passed"),
            (.noop.with { $0.deadline = .base + .seconds(-1) }, "has passed"),
            (
                .noop.with {
                    $0.deadline = hour
                    $0.notBefore = hour + .seconds(3600)
                }, "would never run"
            ),
            (
                .noop.with {
                    $0.deadline = hour
                    $0.notBefore = hour
                }, "would never run"
            ),
        ]
        for (draft, words) in wrong {
            let error = #expect(throws: StoreError.self) { try subject.submit(draft) }
            #expect(error?.code == .invalid && error?.message.contains(words) == true, "\(error?.message ?? "")")
            let flow = FlowDraft("f", nodes: [FlowNode("a", .noop), FlowNode("b", draft)])
            let refused = #expect(throws: StoreError.self) {
                try subject.store.submit(FlowPlan(flow), allowUnknownTypes: false, now: .base)
            }
            #expect(refused?.message.contains("Node “b”") == true, "\(refused?.message ?? "")")
        }
        var flow = FlowDraft("f", nodes: [FlowNode("a", .noop.with { $0.notBefore = hour })])
        flow.deadline = hour
        #expect(throws: StoreError.self) {
            try subject.store.submit(FlowPlan(flow), allowUnknownTypes: false, now: .base)
        }
        try subject.submit(
            .noop.with {
                $0.notBefore = hour
                $0.deadline = hour + .seconds(1)
            })
    }
}
