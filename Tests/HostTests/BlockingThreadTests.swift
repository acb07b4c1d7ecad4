import Dispatch
import Host
import Synchronization
import Testing

@Suite struct BlockingThreadTests {
    @Test func `an urgent body runs before those that wait, and after the one that runs`() async {
        let thread = BlockingThread(named: "test")
        let order = Mutex<[String]>([])
        let (started, startedContinuation) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        thread.perform {
            startedContinuation.yield()
            gate.wait()
            order.withLock { $0.append("running") }
        }
        for await _ in started { break }
        thread.perform { order.withLock { $0.append("waiting") } }
        for name in ["urgent", "second urgent"] {
            thread.perform(isUrgent: true) { order.withLock { $0.append(name) } }
        }
        gate.signal()
        await withCheckedContinuation { continuation in
            thread.perform { continuation.resume() }
        }
        #expect(order.withLock { $0 } == ["running", "urgent", "second urgent", "waiting"])
        thread.close()
    }
}
