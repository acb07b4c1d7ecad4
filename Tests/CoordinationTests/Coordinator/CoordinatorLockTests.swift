import Host
import Store
import Synchronization
import TestSupport
import Testing

@testable import Coordination

@Suite struct CoordinatorLockTests {
    @Test func `a second coordinator learns which process has the data directory`() throws {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let run = RunDirectory(path: place.path)
        let lock = try CoordinatorLock.take(in: run)
        let error = #expect(throws: StoreError.self) { _ = try CoordinatorLock.take(in: run) }
        #expect(error?.code == .busy && error?.message.contains(run.lock(.coordinator)) == true)
        withExtendedLifetime(lock) {}
    }

    @Test func `a process that checks for a coordinator does not prevent one from starting`() async throws {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let run = RunDirectory(path: place.path)
        _ = try CoordinatorLock.take(in: run)
        let isOver = Mutex(false)
        async let looking: Void = BlockingPool.shared.run {
            while !isOver.withLock({ $0 }) { _ = run.probe(.coordinator) }
        }
        do {
            defer { isOver.withLock { $0 = true } }
            for _ in 0..<100 { _ = try CoordinatorLock.take(in: run) }
        }
        await looking
    }
}
