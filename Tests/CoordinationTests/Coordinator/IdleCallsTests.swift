import Host
import Logging
import Membership
import ServiceLifecycle
import Store
import TestSupport
import Testing

@testable import Coordination

/// A coordinator without work, on a store of 8 shards.
@Suite struct IdleCallsTests {
    /// Runs a coordinator until its second sweep of the claims from now on.
    /// - Returns: the calls from the first of these sweeps to the second.
    private func calls(isForServer: Bool) async throws -> Int {
        let directory = try TemporaryDirectory("idle")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        let store = CountingStore(try SQLiteStore(directory: data, shardCount: 8), isForServer: isForServer)
        let service = CoordinatorService(
            OpenedStore(store, in: data), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let group = ServiceGroup(
            services: [service], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await group.run() }
        let first = store.sweeps
        try await until("a sweep", within: .seconds(60)) { store.sweeps > first }
        let (before, sweeps) = (store.calls, store.sweeps)
        try await until("the next sweep", within: .seconds(60)) { store.sweeps > sweeps }
        let calls = store.calls - before
        await group.triggerGracefulShutdown()
        try await running.value
        return calls
    }

    @Test func `a call for several shards takes the place of one for each shard`() async throws {
        async let one = calls(isForServer: true)
        async let each = calls(isForServer: false)
        let (calls, before) = try await (one, each)
        print("an idle coordinator of 8 shards makes \(calls) calls from sweep to sweep, in place of \(before)")
        #expect(calls * 3 <= before, "\(calls) calls in place of \(before)")
    }
}
