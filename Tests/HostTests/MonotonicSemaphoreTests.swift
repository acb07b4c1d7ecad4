import Testing

@testable import Host

@Suite struct MonotonicSemaphoreTests {
    @Test func `each signal ends one wait`() {
        let semaphore = MonotonicSemaphore(value: 1)
        semaphore.signal()
        #expect(semaphore.wait(timeout: .zero) && semaphore.wait(timeout: .seconds(60)))
        #expect(!semaphore.wait(timeout: .zero) && !semaphore.wait(timeout: .seconds(-1)))
        #expect(!semaphore.wait(timeout: .milliseconds(1)))
    }

    @Test func `a signal of another thread ends a wait before its timeout`() {
        let semaphore = MonotonicSemaphore(value: 0)
        startThread(named: "signal") { semaphore.signal() }
        #expect(semaphore.wait(timeout: .seconds(3600)))
        startThread(named: "signal") { semaphore.signal() }
        semaphore.wait()
    }
}
