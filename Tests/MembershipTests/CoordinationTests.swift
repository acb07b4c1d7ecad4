import Commands
import Host
import Store
import Synchronization
import TestSupport
import Testing

@testable import Membership

@Suite struct CoordinationTests {
    @Test func `a process that checks for a coordinator does not prevent one from starting`() async throws {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let presence = LocalPresence(RunDirectory(path: place.path))
        _ = try presence.takeCoordination(now: .now)
        let isOver = Mutex(false)
        async let looking: Void = BlockingPool.shared.run {
            while !isOver.withLock({ $0 }) { _ = presence.holder(of: .coordinator) }
        }
        do {
            defer { isOver.withLock { $0 = true } }
            for _ in 0..<100 { _ = try presence.takeCoordination(now: .now) }
        }
        await looking
    }

    @Test func `a second coordinator learns which process has the data directory`() throws {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let run = RunDirectory(path: place.path)
        let role = try LocalPresence(run).takeCoordination(now: .now)
        let error = #expect(throws: StoreError.self) { _ = try LocalPresence(run).takeCoordination(now: .now) }
        #expect(error?.code == .busy && error?.message.contains(run.lock(.coordinator)) == true)
        withExtendedLifetime(role) {}
    }

    @Test func `a start waits for a role that is being given up`() throws {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let presence = LocalPresence(RunDirectory(path: place.path))
        var role = Optional(try presence.takeCoordination(now: .now))
        #expect(role != nil)
        var pauses = 0
        let found = presence.remainingHolder(of: .coordinator) {
            pauses += 1
            if pauses == 3 { role = nil }
        }
        // Another test's child has the role until it has begun.
        #expect(found == nil && pauses >= 3)
    }

    @Test func `a coordinator gets the lock of checkpoints when the producer that had it at the start gives it up`()
        async throws
    {
        let place = try TemporaryDirectory("coordinator-lock")
        defer { place.remove() }
        let run = RunDirectory(path: place.path)
        var producer = try run.take(.checkpoint)
        #expect(producer != nil)
        let role = try LocalPresence(run).takeCoordination(now: .now)
        #expect(try !role.renew())
        producer = nil
        // Another test's child has the lock until it has begun.
        try await until("the lock of checkpoints") {
            _ = try role.renew()
            return run.probe(.checkpoint).isHeld
        }
        #expect(try run.take(.checkpoint) == nil)
    }
}
