import Host
import Store
import Synchronization
import TestSupport
import Testing

@testable import Coordination

@Suite struct CoordinatorLockTests {
    @Test func `a second coordinator is told who has the data directory`() throws {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let path = RunDirectory(path: place.path).coordinatorLock
        let lock = try CoordinatorLock.take(path)
        let error = #expect(throws: StoreError.self) { _ = try CoordinatorLock.take(path) }
        #expect(error?.code == .busy && error?.message.contains(path) == true)
        withExtendedLifetime(lock) {}
    }

    @Test func `those who look whether there is a coordinator keep none from starting`() async throws {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let path = RunDirectory(path: place.path).coordinatorLock
        _ = try CoordinatorLock.take(path)
        let isOver = Mutex(false)
        async let looking: Void = onThread("looks") {
            while !isOver.withLock({ $0 }) { _ = LockProbe(path: path) }
        }
        do {
            defer { isOver.withLock { $0 = true } }
            for _ in 0..<100 { _ = try CoordinatorLock.take(path) }
        }
        await looking
    }
}
