import Commands
import Store
import TestSupport
import Testing

/// The calls that read all shards at once, beside the calls of each shard.
@Suite(.postgreSQLServer) struct AllShardsConformance {
    /// A store whose shards have something of each kind, but for the last.
    private func filled(_ kind: StoreKind) throws -> StoreUnderTest {
        let subject = try StoreUnderTest(kind)
        let store = subject.store
        try subject.open()
        for byte in [UInt8(0), 1, 2, 4, 5, 8] {
            try subject.submit()
            try subject.claim(subject.submit(), sent: byte % 2 == 0)
            try subject.submit(.noop.with { $0.notBefore = .base + .seconds(Int(byte) * 60 + 60) })
            try subject.submit(.noop.with { $0.deadline = .base + .seconds(Int(byte) * 60 + 90) })
            var upload = Upload(
                id: CommandID(now: .base + .seconds(Int(byte)), shardByte: byte), length: 10,
                facts: UploadFacts(origin: .tus), createdAt: .base)
            upload.due = .base + .seconds(Int(byte) * 60 + 30)
            upload.state = byte == 5 ? .ended : .open
            _ = try store.apply([.create(upload)], shard: upload.id.shard(of: store.shardCount), now: .base)[0].get()
        }
        for number in 0..<7 {
            // Of each shard, the flow with the greatest id is the newest.
            subject.clock.set(to: .base + .milliseconds(number))
            let flow = FlowDraft("flow \(number)", nodes: [FlowNode("a", .noop)])
            _ = try store.submit(FlowPlan(flow), allowUnknownTypes: false)
            try subject.submit([CommandDraft](repeating: .noop.with { $0.orderingKey = "key \(number)" }, count: 3))
        }
        _ = try store.open(BatchDraft("import"), allowUnknownTypes: false)
        return subject
    }

    private func shards<Value>(
        of store: any CommandStore, _ read: (Int) throws -> [Value]
    ) rethrows -> [Value] {
        try (0..<store.shardCount).flatMap(read)
    }

    @Test(arguments: StoreKind.current)
    func `what is read of all shards at once is what each shard has`(_ kind: StoreKind) throws {
        let subject = try filled(kind)
        let store = subject.store
        #expect(
            try store.lastTransitions() == (0..<store.shardCount).map { try store.lastTransition(shard: $0) })
        let claimed = try store.claimed()
        #expect(claimed.count == store.shardCount && claimed.joined().count == 6)
        for shard in 0..<store.shardCount { #expect(try claimed[shard] == store.claimed(shard: shard)) }
        let flows = try shards(of: store) { try store.openFlows(shard: $0, limit: 100) }
            .sorted { $0.command.id > $1.command.id }
        #expect(flows.count == 7)
        #expect(try store.openFlows(limit: 100) == flows)
        #expect(try store.openFlows(limit: 3) == Array(flows.prefix(3)))
        let batches = try shards(of: store) { try store.openBatches(shard: $0, limit: 10) }
        #expect(try store.openBatches(limit: 10) == Set(batches) && batches.count == store.shardCount)
        var sum = RelationOverview()
        for shard in 0..<store.shardCount { sum.add(try store.relationOverview(shard: shard)) }
        #expect(sum.flows.count == 7 && sum.keys.waiting == 14)
        #expect(try store.relationOverview() == sum)
    }

    @Test(arguments: StoreKind.current)
    func `the uploads of all shards come newest first, and page by page`(_ kind: StoreKind) throws {
        let subject = try filled(kind)
        let store = subject.store
        let all = try shards(of: store) {
            try store.uploads(shard: $0, state: nil, order: .newestFirst, after: nil, limit: 100)
        }.sorted { $0.id > $1.id }
        #expect(all.count == 6)
        #expect(try store.uploads(state: nil, after: nil, limit: 100) == all)
        #expect(
            try store.uploads(state: .ended, after: nil, limit: 100).map(\.id)
                == all.filter { $0.state == .ended }.map(\.id))
        var pages: [CommandID] = []
        while true {
            let page = try store.uploads(state: nil, after: pages.last, limit: 4)
            pages += page.map(\.id)
            if page.count < 4 { break }
        }
        #expect(pages == all.map(\.id))
    }

    @Test(arguments: StoreKind.current)
    func `the due uploads of all shards are those of each`(_ kind: StoreKind) throws {
        let subject = try filled(kind)
        let store = subject.store
        for minutes in [0, 1, 3, 10] {
            subject.clock.set(to: .base + .seconds(minutes * 60))
            let expected = try shards(of: store) { try store.dueUploads(shard: $0, limit: 10) }.map(\.id)
            var found: [CommandID] = []
            store.dueUploads(limit: 10) { shard, uploads in
                let ids = (try? uploads.get())?.map(\.id) ?? []
                #expect(!ids.isEmpty && ids.allSatisfy { $0.shard(of: store.shardCount) == shard })
                found += ids
            }
            #expect(Set(found) == Set(expected) && found.count == expected.count)
            #expect(minutes < 10 || found.count == 6)
        }
    }

    @Test(arguments: StoreKind.current)
    func `one look finds the work that the call of each shard finds`(_ kind: StoreKind) throws {
        let subject = try filled(kind)
        let store = subject.store
        let shards = Array(0..<store.shardCount)
        var looks = 0
        for minutes in [0, 1, 2, 4, 11] {
            subject.clock.set(to: .base + .seconds(minutes * 60 + 1))
            guard let work = try store.dueWork(shards) else { continue }
            looks += 1
            let now = store.clock.now()
            var next: [Timestamp] = []
            for shard in shards {
                let (ready, later) = try store.promoteDue(shard: shard, limit: 10)
                #expect(work.promotions.contains(shard) == !ready.isEmpty, "\(shard) at \(minutes)")
                // The second row of a shard is not looked at.
                if let later, later > now, ready.isEmpty { next.append(later) }
                #expect(
                    try work.deadlines.contains(shard) == !store.passedDeadlines(shard: shard, limit: 10).isEmpty)
                #expect(try work.messages.contains(shard) == !store.outbox(shard: shard, after: 0, limit: 1).isEmpty)
            }
            #expect(work.effects.isEmpty && work.schedules.isEmpty && !work.hasInbox)
            if let earliest = next.min() { #expect(work.next.map { $0 <= earliest } == true) }
            for shard in shards { _ = try store.expire(shard: shard, limit: 10) }
        }
        #expect(looks == (kind == .postgresql ? 5 : 0))
    }

    @Test(arguments: StoreKind.current)
    func `only shards with something are cleaned up and pruned`(_ kind: StoreKind) throws {
        let subject = try filled(kind)
        let store = subject.store
        let shards = Set(0..<store.shardCount)
        let id = try subject.submit()
        try subject.claim(id)
        try subject.apply(.end(id, claim: 1, .success(result: [])))
        let statuses: Set<CommandStatus> = [.success, .cancelled]
        let early = try Set(store.shardsToPrune(before: .base, statuses: statuses))
        let late = try Set(store.shardsToPrune(before: .base + .seconds(3600), statuses: statuses))
        let leftovers = try Set(store.shardsWithLeftovers())
        if kind == .postgresql {
            #expect(early.isEmpty && late == [id.shard(of: store.shardCount)] && leftovers.isEmpty)
        } else {
            #expect(early == shards && late == shards && leftovers == shards)
        }
        #expect(try Set(store.shardsToPrune(before: .base, statuses: [.inDoubt])) == shards)
    }
}
