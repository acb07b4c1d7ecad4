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
                    await onThread("writes") {
                        for _ in 0..<4 {
                            do throws(StoreError) {
                                // Forty-eight turns of 5 ms take longer.
                                try store.update("key", timeout: .milliseconds(120)) { value in
                                    usleep(5000)
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
        #expect(try first.setting("key") == "\(48 * 4)")
    }

    @Test func `writers take turns`() async throws {
        let fixture = try TemporaryStore()
        let stores = try (0..<8).map { _ in try fixture.store(shards: 1) }
        for store in stores { try store.openAll() }
        let counts = Shared(Array(repeating: 0, count: stores.count))
        await withTaskGroup { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    await onThread("writes") {
                        while counts.value.max() ?? 0 < 100 {
                            let value = "\(number) \(Timestamp.now)"
                            guard (try? store.set([("key", value)], timeout: .seconds(10))) != nil else { return }
                            counts.change { $0[number] += 1 }
                        }
                    }
                }
            }
        }
        // One that draws lots has 100 while another has 50.
        #expect(counts.value.min() ?? 0 >= 80, "\(counts.value)")
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
