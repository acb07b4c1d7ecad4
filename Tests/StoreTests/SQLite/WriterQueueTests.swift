import Commands
import Glibc
import Host
import TestSupport
import Testing

@testable import Store

/// Many processes that write to one shard. Each store has connections and a place in the queue of its own.
@Suite struct WriterQueueTests {
    @Test func `a shard is not taken for locked while others write to it`() async throws {
        let fixture = try TemporaryStore()
        let first = try fixture.store(shards: 1)
        let stores = try (0..<48).map { _ in try fixture.store(shards: 1) }
        for store in stores { try store.openAll() }
        let errors = await withTaskGroup(of: StoreError?.self) { group in
            for store in stores {
                group.addTask {
                    await BlockingPool.shared.run {
                        for _ in 0..<3 {
                            do throws(StoreError) {
                                // Forty-eight turns of 10 ms take longer.
                                try store.update("key", timeout: .milliseconds(300)) { value in
                                    usleep(10_000)
                                    return "\((value.flatMap { Int($0) } ?? 0) + 1)"
                                }
                            } catch {
                                return error
                            }
                        }
                        return nil
                    }
                }
            }
            return await group.reduce(into: [StoreError]()) { if let error = $1 { $0.append(error) } }
        }
        #expect(errors.isEmpty, "\(errors)")
        #expect(try first.setting("key") == "\(48 * 3)")
    }

    @Test func `a shard in which no other process commits is locked after the timeout`() throws {
        let fixture = try TemporaryStore()
        let (store, other) = (try fixture.store(shards: 1), try fixture.store(shards: 1))
        let probe = try SQLiteProbe(fixture.data.shard(0))
        try probe.run("BEGIN IMMEDIATE")
        for store in [store, other] {
            let start = MonotonicTime.now
            let error = #expect(throws: StoreError.self) {
                try store.set([("key", "value")], timeout: .milliseconds(50))
            }
            #expect(error?.code == .busy)
            #expect(MonotonicTime.now - start > .milliseconds(40))
        }
        try probe.run("COMMIT")
        try other.set([("key", "value")], timeout: .zero)
    }
}
