import Commands
import TestSupport
import Testing

@testable import Store

@Suite struct ShardRouterTests {
    private let router = ShardRouter(shardCount: 8)

    @Test func `a draft without a key or a parent may go to any shard`() {
        #expect(router.shard(of: .noop) == nil)
    }

    @Test func `the ordering key fixes the shard before the unique key, and that before the parent`() throws {
        let parent = CommandID(now: .now, shardByte: 5)
        var draft = CommandDraft.noop.with { $0.dependencies = [Dependency(on: parent)] }
        #expect(router.shard(of: draft) == 5)
        draft.uniqueKey = "invoice-7"
        #expect(router.shard(of: draft) == router.shard(of: UniqueKey.shardByte(of: "invoice-7")))
        draft.orderingKey = "customer-3"
        #expect(router.shard(of: draft) == router.shard(of: UniqueKey.shardByte(of: "customer-3")))
    }

    @Test func `a schedule has the shard of the commands that have its name as their key`() {
        let draft = CommandDraft.noop.with { $0.uniqueKey = "nightly" }
        #expect(router.shard(ofSchedule: "nightly") == router.shard(of: draft))
    }

    @Test func `an id without a key goes to the candidates, and reaches each of them`() {
        var random = SeededRandom(seed: 1)
        let candidates = (0..<8).map { $0 == 2 || $0 == 6 }
        let shards = (0..<200).map { _ in
            router.newID(nil, among: candidates, now: .now, using: &random).shard(of: 8)
        }
        #expect(Set(shards) == [2, 6])
    }

    @Test func `an id with a key goes to its shard, whatever the candidates`() {
        var random = SeededRandom(seed: 2)
        let id = router.newID(13, among: [true] + [Bool](repeating: false, count: 7), now: .now, using: &random)
        #expect(id.shardByte == 13 && id.shard(of: 8) == 5)
    }

    @Test func `an id is drawn where no shard is usable`() {
        var random = SeededRandom(seed: 3)
        let none = [Bool](repeating: false, count: 8)
        let shards = (0..<100).map { _ in router.newID(nil, among: none, now: .now, using: &random).shard(of: 8) }
        #expect(Set(shards).count > 1)
    }

    @Test func `the ids of a flow share a byte, and ascend`() {
        var random = SeededRandom(seed: 4)
        let ids = router.newIDs(50, now: .now, using: &random)
        #expect(ids == ids.sorted() && Set(ids).count == 50)
        #expect(Set(ids.map(\.shardByte)).count == 1)
        #expect(router.newIDs(3, 77, now: .now, using: &random).allSatisfy { $0.shardByte == 77 })
        let usable = (0..<8).map { $0 == 4 }
        for _ in 0..<20 {
            let ids = router.newIDs(2, among: usable, now: .now, using: &random)
            #expect(ids.allSatisfy { $0.shard(of: 8) == 4 })
        }
    }
}
