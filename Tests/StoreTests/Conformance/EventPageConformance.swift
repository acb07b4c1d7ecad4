import Commands
import Store
import Testing

/// How far the pages of transitions are complete.
@Suite(.postgreSQLServer) struct EventPageConformance {
    private func numbers(_ page: EventPage) -> [Int64] { page.events.map(\.transition.seq) }

    @Test(arguments: StoreKind.allCases)
    func `a page is complete up to the newest transition`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let empty = try subject.store.events(shard: 0, after: 0, limit: 10)
        #expect(empty == EventPage([], complete: 0, prunedThrough: 0))
        try subject.submit([CommandDraft](repeating: .noop, count: 10))
        let newest = try subject.store.lastTransition(shard: 0)
        let page = try subject.store.events(shard: 0, after: 0, limit: 100)
        #expect(page.events.count == 10 && page.complete == newest && numbers(page).last == newest)
        for after in [newest, newest + 10] {
            let behind = try subject.store.events(shard: 0, after: after, limit: 100)
            #expect(behind.events.isEmpty && behind.complete == newest, "\(after): \(behind.complete)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a page that reaches its limit is complete up to its last transition`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        try subject.submit([CommandDraft](repeating: .noop, count: 10))
        let all = try numbers(subject.store.events(shard: 0, after: 0, limit: 100))
        var read: [Int64] = []
        var after: Int64 = 0
        for _ in 0..<4 {
            let page = try subject.store.events(shard: 0, after: after, limit: 3)
            read += numbers(page)
            if page.events.count == 3 { #expect(page.complete == numbers(page).last) }
            #expect(page.prunedThrough <= page.complete)
            after = page.complete
        }
        #expect(try read == all && after == subject.store.lastTransition(shard: 0))
        let none = try subject.store.events(shard: 0, after: all[4], limit: 0)
        #expect(none.events.isEmpty && none.complete == all[4])
    }

    @Test(arguments: StoreKind.allCases)
    func `a page of transitions that were pruned is complete, and says that they were`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        _ = try subject.make(.success)
        let pruned = try numbers(subject.store.events(shard: 0, after: 0, limit: 100))
        let id = try subject.submit()
        _ = try subject.make(.success)
        let newest = try subject.store.lastTransition(shard: 0)
        let removed = try subject.store.prune(
            shard: 0, before: .base + .seconds(60), statuses: [.success], limit: 5)
        #expect(removed.count == 2)
        let page = try subject.store.events(shard: 0, after: 0, limit: 100)
        #expect(page.events.map(\.transition.id) == [id] && page.complete == newest)
        #expect(page.prunedThrough >= pruned[pruned.count - 1])
        let tail = try subject.store.events(shard: 0, after: numbers(page)[0], limit: 100)
        #expect(tail.events.isEmpty && tail.complete == newest && tail.prunedThrough == newest)
    }
}
