import Host
import Store
import Testing

@testable import Coordination

@Suite struct StoreErrorLogTests {
    @Test func `a damaged shard is logged once`() {
        var log = StoreErrorLog()
        #expect(value(log.isNew(StoreError(.corrupt, "shard 1 is damaged", shard: 1), now: .zero)))
        #expect(!value(log.isNew(StoreError(.corrupt, "shard 1 is damaged", shard: 1), now: after(600))))
        #expect(value(log.isNew(StoreError(.corrupt, "shard 2 is damaged", shard: 2), now: .zero)))
    }

    @Test func `a locked shard is logged once a minute`() {
        var log = StoreErrorLog()
        #expect(value(log.isNew(StoreError(.busy, "locked", shard: 1), now: after(5))))
        #expect(!value(log.isNew(StoreError(.busy, "locked", shard: 1), now: after(64))))
        #expect(value(log.isNew(StoreError(.busy, "locked", shard: 2), now: after(5))), "another shard")
        #expect(value(log.isNew(StoreError(.busy, "locked", shard: 1), now: after(65))))
    }

    @Test func `an error that says nothing about a shard is logged each time`() {
        var log = StoreErrorLog()
        #expect(value(log.isNew(StoreError(.full, "the disk is full"), now: .zero)))
        #expect(value(log.isNew(StoreError(.full, "the disk is full"), now: .zero)))
    }
}
