import Synchronization
import TestSupport
import Testing

@testable import DoorMetrics

struct CachedReadingTests {
    @Test func `readers at the same time share one reading, which is kept for a while`() async {
        let count = Shared(0)
        let reading = CachedReading(maxAge: .seconds(60)) {
            count.change { $0 += 1 }
            return count.value
        }
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { await reading.value(within: .seconds(60)) } }
            for await value in group { #expect(value == 1) }
        }
        #expect(await reading.value(within: .seconds(60)) == 1)
    }

    @Test func `an old reading is made again`() async {
        let count = Shared(0)
        let reading = CachedReading(maxAge: .zero) {
            count.change { $0 += 1 }
            return count.value
        }
        #expect(await reading.value(within: .seconds(60)) == 1)
        #expect(await reading.value(within: .seconds(60)) == 2)
    }

    @Test func `a reading that hangs delays nothing beyond its timeout, and serves a later call`() async {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let reading = CachedReading(maxAge: .seconds(60)) {
            for await _ in gate {}
            return 7
        }
        #expect(await reading.value(within: .milliseconds(20)) == nil)
        open.finish()
        #expect(await reading.value(within: .seconds(60)) == 7)
    }
}
