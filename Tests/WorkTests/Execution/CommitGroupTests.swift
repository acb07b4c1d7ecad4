import Commands
import Store
import TestSupport
import Testing
import Wire

@testable import Operations
@testable import Work

/// A worker on a store whose commits take the writes of several shards.
@Suite struct CommitGroupTests {
    @Test func `outcomes and effects of a commit of several shards reach their commands`() async throws {
        let operation = Scripted(
            type: "a", preparesBeforeSending: true,
            body: { execution in
                try await execution.saveCheckpoint([1])
                return Array("\"\(execution.id)\"".utf8)
            })
        let bench = try Bench([operation], concurrency: 8, shardCount: 4, shardsPerGroup: 4)
        let ids = try (0..<4).map { try bench.submit("a", shard: $0) }
        let children = try ids.enumerated().map { try bench.submit("a", shard: $0, after: [Dependency(on: $1)]) }
        bench.offer(ids, "a")
        for id in ids { try await bench.reach(.success, id) }
        await bench.executor.idle()
        let (_, reports, effects) = bench.executor.takeReports()
        for (shard, id) in ids.enumerated() {
            let events = reports.map(\.event).filter { $0.transition.id == id }
            #expect(events.map(\.transition.status) == [.queued, .sent, .success])
            #expect(events.allSatisfy { $0.shard == shard })
            #expect(try bench.store.result(id) == Array("\"\(id)\"".utf8))
            #expect(effects.events.filter { $0.shard == shard }.map(\.transition.id) == [children[shard]])
        }
        #expect(Set(effects.ready.map(\.id)) == Set(children))
        #expect(bench.groups.maxShards > 1)
        await bench.close()
    }

    @Test func `a write that can never be committed fails only itself`() async throws {
        let isOpen = Shared(false)
        let operation = Scripted(
            type: "a",
            body: { _ in
                try await until("the ends of all") { isOpen.value }
                return nil
            })
        let bench = try Bench([operation], concurrency: 8, shardCount: 4, shardsPerGroup: 4) { write in
            if case .end(let id, _, _) = write { id.shard(of: 4) == 1 } else { false }
        }
        let ids = try (0..<4).map { try bench.submit("a", shard: $0) }
        bench.offer(ids, "a")
        for id in ids { try await bench.reach(.sent, id) }
        isOpen.change { $0 = true }
        for id in [ids[0], ids[2], ids[3]] { try await bench.reach(.success, id) }
        await bench.executor.idle()
        #expect(try bench.command(ids[1]).status == .sent)
        await bench.close()
    }

    @Test func `a lock holds up all shards of its commit group, and no other`() async throws {
        let bench = try Bench([Scripted(type: "a")], concurrency: 8, shardCount: 4, shardsPerGroup: 2)
        let ids = try (0..<4).map { try bench.submit("a", shard: $0) }
        bench.groups.fail(1, with: StoreError(.busy, "another process writes"))
        bench.offer(ids, "a")
        for id in ids[2...] { try await bench.reach(.success, id) }
        try await until("the report of the lock") { bench.executor.workerState.locked == [0, 1] }
        for id in ids[..<2] { #expect(try bench.command(id).status == .new) }
        bench.groups.fail(1, with: nil)
        try await until("the end of the lock") { bench.executor.workerState.locked.isEmpty }
        bench.offer(Array(ids[..<2]), "a")
        for id in ids[..<2] { try await bench.reach(.success, id) }
        await bench.executor.idle()
        await bench.close()
    }
}

extension Bench {
    /// Submits a command to a shard, by its unique key.
    fileprivate func submit(_ type: String, shard: Int, after parents: [Dependency] = []) throws -> CommandID {
        for _ in 0..<10_000 {
            var draft = CommandDraft(type: type, payload: Array("{}".utf8), destination: .none, idempotent: true)
            draft.uniqueKey = "\(CommandID())"
            draft.dependencies = parents
            guard store.router.shard(of: draft) == shard else { continue }
            return try store.submit([draft], allowUnknownTypes: false)[0].get().id
        }
        throw Missed("no key leads to shard \(shard)")
    }
}
