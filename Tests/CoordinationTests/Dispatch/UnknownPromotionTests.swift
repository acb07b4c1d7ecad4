import Commands
import Host
import Logging
import Membership
import ServiceLifecycle
import Store
import Synchronization
import TestSupport
import Testing

@testable import Coordination

/// A coordinator that does not learn that commands have become due.
@Suite struct UnknownPromotionTests {
    /// Makes the first promotion, and says that its outcome is unknown.
    private final class Promotions: ForwardingStore {
        let target: any CommandStore & StoreHealth
        private let state = Mutex((isForgotten: false, readings: 0))

        init(_ target: any CommandStore & StoreHealth) { self.target = target }

        var isForgotten: Bool { state.withLock { $0.isForgotten } }
        /// Readings of all pairs of destination and quality since then.
        var readings: Int { state.withLock { $0.readings } }

        func promoteDue(_ shards: [Int], limit: Int, each: (Int, Result<PromotedCommands, StoreError>) -> Void) {
            target.promoteDue(shards, limit: limit) { shard, result in
                let isFirst = state.withLock { state in
                    guard !state.isForgotten, let made = try? result.get(), !made.ready.isEmpty else { return false }
                    state.isForgotten = true
                    return true
                }
                each(shard, isFirst ? .failure(.unknownOutcome("the store", "the answer was lost")) : result)
            }
        }

        func sweep(_ sweeps: [ShardSweep], each: (ShardSweep, Result<SweptShard, StoreError>) -> Void) {
            state.withLock { state in
                guard state.isForgotten else { return }
                state.readings += sweeps.count { if case .keys = $0.way { true } else { false } }
            }
            target.sweep(sweeps, each: each)
        }
    }

    private static func draft(_ destination: Destination) -> CommandDraft {
        CommandDraft(type: CommandType.noop, payload: [], destination: destination, idempotent: true)
    }

    @Test func `commands that became ready in a write of unknown outcome are looked for at once`() async throws {
        let directory = try TemporaryDirectory("promotions")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        let store = Promotions(try SQLiteStore(directory: data, shardCount: 1))
        let drafts = (0...ShardSweep.fewKeys).map { number in
            Self.draft(Destination(scheme: "http", host: "host-\(number)", port: 80))
        }
        var due = Self.draft(.none)
        due.notBefore = store.clock.now() + .seconds(2)
        for result in store.submit(drafts + [due], allowUnknownTypes: false) { _ = try result.get() }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(
            services: [CoordinatorService(OpenedStore(store, in: data), logger: logger)], logger: logger)
        let running = Task { try await group.run() }
        try await until("the promotion", within: .seconds(60)) { store.isForgotten }
        try await until("a reading of all pairs", within: .seconds(60)) { store.readings > 0 }
        await group.triggerGracefulShutdown()
        try await running.value
    }
}
