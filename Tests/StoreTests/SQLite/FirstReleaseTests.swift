import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// Release 0.1.0 does not write the effects of an end on other commands.
@Suite struct FirstReleaseTests {
    @Test func `the first dependency keeps release 0,1,0 from its shard`() throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 2)
        let ids = try store.submitNoops(1)
        let shard = ids[0].shard(of: 2)
        func versions() throws -> [Int] {
            try (0..<2).map { try SQLiteProbe(fixture.data.shard($0)).number("PRAGMA user_version") }
        }
        #expect(try versions() == [2, 2])
        var draft = CommandDraft.noop
        draft.dependencies = [Dependency(on: ids[0])]
        _ = try #require(store.submit([draft], allowUnknownTypes: false).first).get()
        #expect(try versions()[shard] == 3 && versions()[1 - shard] == 2)
        _ = try #require(store.submit([draft], allowUnknownTypes: false).first).get()
    }

    @Test(arguments: [RunDirectory.Lock.coordinator, .seat(17)])
    func `no command depends on another while release 0,1,0 runs`(_ lock: RunDirectory.Lock) throws {
        let fixture = try TemporaryStore()
        let store = try fixture.store(shards: 1)
        let ids = try store.submitNoops(1)
        var draft = CommandDraft.noop
        draft.dependencies = [Dependency(on: ids[0])]
        let plan = try FlowPlan(FlowDraft("f", nodes: [FlowNode("a", .noop)]))
        do {
            // As 0.1.0 does: the file, and no bytes.
            let held = try #require(try FileLock.attempt(fixture.data.run.lock(lock)))
            defer { withExtendedLifetime(held) {} }
            let refused = try #require(store.submit([draft], allowUnknownTypes: false).first)
            let error = try #require(throws: StoreError.self) { try refused.get() }
            #expect(error.code == .overloaded && error.message.contains("release 0.1.0, process"), "\(error)")
            #expect(throws: StoreError.self) { try store.submit(plan, allowUnknownTypes: false) }
            #expect(try store.submitNoops(1).count == 1)
        }
        // A worker of this release holds both.
        let seat = try #require(try fixture.data.run.take(lock))
        defer { withExtendedLifetime(seat) {} }
        _ = try store.submit(plan, allowUnknownTypes: false)
    }
}
