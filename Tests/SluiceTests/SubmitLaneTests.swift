import Commands
import Host
import Store
import TestSupport
import Testing

@testable import Queue

/// A shard that another process keeps locked, and a client whose tasks submit to all shards.
@Suite struct SubmitLaneTests {
    /// A draft whose unique key belongs to a shard.
    private func draft(_ rig: Rig, shard: Int?, _ number: Int) throws -> CommandDraft {
        var draft = try rig.client.draft("noop", payload: ["echo": .integer(Int64(number))])
        guard let shard else { return draft }
        for attempt in 0..<10_000 {
            draft.uniqueKey = "\(number)-\(attempt)"
            if rig.store.router.shard(of: draft) == shard { return draft }
        }
        throw Missed("no key belongs to shard \(shard)")
    }

    @Test func `a locked shard delays only the commands whose keys belong to it`() async throws {
        try await Rig.with { rig in
            _ = try await rig.client.submit("noop", payload: ["echo": 0])
            let probe = try SQLiteProbe(rig.directory.shard(3))
            try probe.run("BEGIN IMMEDIATE")
            let (client, acknowledged) = (rig.client, Shared<[Int: Int]>([:]))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<96 {
                    // Twelve of each shard, and a third without a key.
                    let draft = try draft(rig, shard: number % 3 == 0 ? nil : number % 8, number)
                    let shard = rig.store.router.shard(of: draft) ?? 8
                    group.addTask {
                        for result in await client.submit(bulk: [draft]) { _ = try result.get() }
                        acknowledged.change { $0[shard, default: 0] += 1 }
                    }
                }
                try await until("all others") { acknowledged.value.values.reduce(0, +) == 96 - 8 }
                #expect(acknowledged.value[3] == nil)
                try probe.run("COMMIT")
                try await group.waitForAll()
            }
            #expect(acknowledged.value[3] == 8)
        }
    }

    @Test func `a draft with an ordering key waits for its locked shard on a thread of its own`() async throws {
        try await Rig.with { rig in
            var keyed = try draft(rig, shard: nil, 1)
            keyed.orderingKey = "customer-7"
            let shard = try #require(rig.store.router.shard(of: keyed))
            let probe = try SQLiteProbe(rig.directory.shard(shard))
            try probe.run("BEGIN IMMEDIATE")
            async let waiting = rig.client.submit(keyed)
            for number in 2..<10 { _ = try await rig.client.submit(draft(rig, shard: nil, number)) }
            try probe.run("COMMIT")
            #expect(try await waiting.shard(of: 8) == shard)
        }
    }

    @Test func `the results of a bulk that several shards share are in its order`() async throws {
        try await Rig.with { rig in
            let drafts = try (0..<200).map { try draft(rig, shard: $0 % 5 == 0 ? nil : $0 % 8, $0) }
            let ids = await rig.client.submit(bulk: drafts).map { try? $0.get() }
            for (number, id) in ids.enumerated() {
                let id = try #require(id)
                #expect(try rig.store.payload(id) == Array("{\"echo\":\(number)}".utf8))
                if let shard = rig.store.router.shard(of: drafts[number]) { #expect(id.shard(of: 8) == shard) }
            }
            // The same bulk again finds the commands with keys.
            let again = await rig.client.submit(bulk: drafts).map { try? $0.get() }
            for number in drafts.indices {
                #expect((again[number] == ids[number]) == (drafts[number].uniqueKey != nil))
            }
        }
    }
}
