import Commands
import Host
import Store
import TestSupport
import Testing

@testable import Uploads

@Suite struct UploadCommitterTests {
    @Test func `uploads of several shards share a commit, and an error of a shard fails only its own`() async throws {
        let memory = MemoryStore(shardCount: 4)
        let store = GroupedStore(memory, shardsPerGroup: 4)
        store.fail(1, with: StoreError(.corrupt, "malformed"))
        let (hinted, waiting, gate) = (Shared<[CommandID]>([]), Shared(0), MonotonicSemaphore(value: 0))
        let committer = UploadCommitter(
            store, readers: StoreReaders(memory),
            hint: { ids in
                hinted.change { $0 += ids }
                // The first commit waits here until the other uploads wait for theirs.
                gate.wait()
                gate.signal()
            })
        let draft = CommandDraft(type: "noop", payload: Array("{}".utf8), destination: .none, idempotent: true)
        let ids = (0..<64).map { CommandID(shardByte: UInt8($0)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in ids {
                group.addTask {
                    let upload = Upload(id: id, length: nil, facts: UploadFacts(origin: .plain), createdAt: .now)
                    waiting.change { $0 += 1 }
                    do throws(StoreError) {
                        let change = try await committer.commit(.store(upload, body: [id.shardByte], .command(draft)))
                        #expect(change.isApplied && change.upload?.id == id && change.ready == [id])
                        #expect(id.shard(of: 4) != 1)
                    } catch {
                        #expect(error.code == .corrupt && id.shard(of: 4) == 1)
                    }
                }
            }
            try await until("the uploads") { waiting.value == ids.count }
            gate.signal()
            try await group.waitForAll()
        }
        for id in ids {
            let isStored = id.shard(of: 4) != 1
            #expect(try memory.uploadBody(id) == (isStored ? [id.shardByte] : nil))
            #expect(hinted.value.contains(id) == isStored)
        }
        #expect(store.maxShards > 1)
    }
}
