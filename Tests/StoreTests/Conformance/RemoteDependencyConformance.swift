import Commands
import Store
import TestSupport
import Testing

/// Commands that wait for commands of other shards.
@Suite(.postgreSQLServer) struct RemoteDependencyConformance {
    @Test(arguments: StoreKind.current)
    func `a command waits for parents of three shards, and is ready when all have succeeded`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let parents = try (0..<3).map { try rig.submit(to: $0) }
        let child = try rig.submit(to: 2, after: parents.map { Dependency(on: $0) })
        #expect(try rig.subject.status(child) == .blocked)
        try rig.carry()
        for parent in parents {
            #expect(try rig.subject.status(child) == .blocked)
            try rig.end(parent)
            try rig.carry()
        }
        #expect(try rig.subject.statuses(child) == [.blocked, .new])
        let dependencies = try #require(try rig.store.dependencies(of: child, limit: 10))
        #expect(dependencies.count == 3 && dependencies.open == 0)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a parent that ends before its dependant is known there tells it afterwards`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let parent = try rig.submit(to: 0)
        let child = try rig.submit(to: 1, after: [Dependency(on: parent)])
        let open = try #require(try rig.store.dependencies(of: child, limit: 10))
        #expect(open.parents.map(\.command.id) == [parent])
        try rig.end(parent)
        #expect(try rig.subject.status(child) == .blocked)
        let effects = try rig.carry()
        #expect(effects.ready.map(\.id) == [child])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a parent that has ended decides in the submit`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let (good, bad) = (try rig.submit(to: 0), try rig.submit(to: 0))
        try rig.end(good)
        try rig.end(bad, ShardRig.failure)
        #expect(try rig.subject.status(rig.submit(to: 1, after: [Dependency(on: good)])) == .new)
        #expect(try rig.subject.status(rig.submit(to: 1, after: [Dependency(on: bad, .end)])) == .new)
        #expect(try rig.messages().isEmpty)
        for (parent, condition) in [(bad, DependencyCondition.success), (good, .failure)] {
            let draft = try rig.draft(in: 1) { $0.dependencies = [Dependency(on: parent, condition)] }
            let error = #expect(throws: StoreError.self) {
                try rig.store.submit([draft], allowUnknownTypes: false, now: .base)[0].get()
            }
            #expect(error?.message.contains("would never run") == true)
        }
        let unknown = try rig.draft(in: 1) { $0.dependencies = [Dependency(on: CommandID(now: .base, shardByte: 2))] }
        let error = #expect(throws: StoreError.self) {
            try rig.store.submit([unknown], allowUnknownTypes: false, now: .base)[0].get()
        }
        #expect(error?.code == .notFound)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a failure cancels the dependant with its reason, and after a retry of both it runs`(_ kind: StoreKind) throws
    {
        let rig = try ShardRig(kind)
        let parent = try rig.submit(to: 0)
        let child = try rig.submit(to: 1, after: [Dependency(on: parent)])
        let unneeded = try rig.submit(to: 2, after: [Dependency(on: parent, .failure)])
        try rig.carry()
        try rig.end(parent, ShardRig.failure)
        try rig.carry()
        let cancelled = try #require(try rig.store.command(child))
        #expect(cancelled.status == .cancelled)
        #expect(cancelled.reason == "it waited for “\(parent)”, which was given up: HTTP 404")
        #expect(try rig.subject.status(unneeded) == .new)
        // It waits for the parent's success, not for a retry alone.
        let early = #expect(throws: StoreError.self) { try rig.store.retry(child, now: .base) }
        #expect(
            early?.code == .conflict && early?.message.contains("retry that one") == true,
            "\(String(describing: early))")
        _ = try rig.store.retry(parent, now: .base)
        try rig.carry()
        try rig.end(parent)
        try rig.carry()
        #expect(try rig.subject.status(child) == .cancelled)
        _ = try rig.store.retry(child, now: .base)
        #expect(try rig.subject.status(child) == .new)
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a retry revives no child that a parent of another shard has failed meanwhile`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let (near, far) = (try rig.submit(to: 1), try rig.submit(to: 0))
        let child = try rig.submit(to: 1, after: [Dependency(on: near), Dependency(on: far)])
        try rig.carry()
        try rig.end(near, ShardRig.failure)
        try rig.end(far, ShardRig.failure)
        try rig.carry()
        _ = try rig.store.retry(near, now: .base)
        #expect(try rig.subject.status(child) == .cancelled)
        try rig.check()
        try rig.end(near)
        _ = try rig.store.retry(far, now: .base)
        try rig.end(far)
        try rig.carry()
        #expect(try rig.store.retry(child, now: .base)?.ready.map(\.id) == [child])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a message that is carried twice changes nothing the second time`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let parent = try rig.submit(to: 0)
        let child = try rig.submit(to: 1, after: [Dependency(on: parent)])
        let awaits = try rig.messages()
        for _ in 0..<2 { _ = try rig.store.receive(awaits, shard: 0, now: .base) }
        try rig.store.remove(awaits, shard: 1)
        try rig.end(parent)
        let ends = try rig.messages()
        #expect(ends.map(\.sender) == [parent])
        #expect(try rig.store.receive(ends, shard: 1, now: .base).ready.map(\.id) == [child])
        #expect(try rig.store.receive(ends + ends, shard: 1, now: .base).isEmpty)
        try rig.store.remove(ends, shard: 0)
        #expect(try rig.messages().isEmpty)
        #expect(try rig.subject.statuses(child) == [.blocked, .new])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a parent that was removed cancels its dependant`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let parent = try rig.submit(to: 0)
        let child = try rig.submit(to: 1, after: [Dependency(on: parent)])
        try rig.end(parent)
        _ = try rig.store.prune(shard: 0, before: .base + .seconds(100), statuses: [.success], limit: 10)
        try rig.carry()
        let cancelled = try #require(try rig.store.command(child))
        #expect(cancelled.status == .cancelled)
        #expect(cancelled.reason == "it waited for “\(parent)”, which was removed")
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `the result comes along, for a payload that refers to it`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let parents = try [0, 2].map { try rig.submit(to: $0) }
        let payload = #"{"url": {"$result": "\#(parents[0])/url"}}"#
        func child() throws -> CommandID {
            try rig.subject.submit(
                rig.draft(in: 1) { draft in
                    draft.payload = Array(payload.utf8)
                    draft.dependencies = parents.map { Dependency(on: $0) }
                })
        }
        let early = try child()
        try rig.carry()
        for parent in parents { try rig.end(parent, .success(result: Array("{\"url\": 1}".utf8))) }
        let late = try child()
        try rig.carry()
        // The parents may go: the results stay.
        for shard in [0, 2] {
            let pruned = try rig.store.prune(
                shard: shard, before: .base + .seconds(100), statuses: [.success], limit: 10)
            #expect(pruned.count == 1)
        }
        for id in [early, late] {
            let results = try rig.store.parentResults(of: id, after: 0, limit: 1)
            #expect(results.count == 1 && results[0].result == Array("{\"url\": 1}".utf8))
            let rest = try rig.store.parentResults(of: id, after: results[0].position, limit: 10)
            #expect(Set((results + rest).map(\.id)) == Set(parents))
            #expect(try rig.store.parentResults(of: id, after: rest[0].position, limit: 10).isEmpty)
        }
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `a locked shard keeps its messages, and the others go on`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let parent = try rig.submit(to: 0)
        let children = try [1, 2].map { try rig.submit(to: $0, after: [Dependency(on: parent)]) }
        try rig.carry()
        try rig.end(parent)
        try rig.carry(except: [1])
        #expect(try children.map { try rig.subject.status($0) } == [.blocked, .new])
        try rig.carry()
        #expect(try children.map { try rig.subject.status($0) } == [.new, .new])
        try rig.check()
    }

    @Test(arguments: StoreKind.current)
    func `hundreds of dependants in other shards are told page by page`(_ kind: StoreKind) throws {
        let rig = try ShardRig(kind)
        let parent = try rig.submit(to: 0)
        let drafts = try (0..<700).map { _ in try rig.draft(in: 1) { $0.dependencies = [Dependency(on: parent)] } }
        let children = try rig.subject.submit(drafts)
        try rig.carry()
        try rig.end(parent)
        try rig.carry()
        for child in children { #expect(try rig.subject.status(child) == .new) }
        try rig.check()
    }
}
