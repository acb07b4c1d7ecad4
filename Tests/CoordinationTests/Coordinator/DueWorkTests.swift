import Commands
import Host
import Logging
import Membership
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Coordination
@testable import Store

/// A coordinator on a store that answers which work is due.
@Suite struct DueWorkTests {
    /// A store that finds due commands, and counts the calls.
    private final class AnsweringStore: ForwardingStore {
        struct Calls {
            var looks = 0
            var promotions: [[Int]] = []
            var others = 0
        }

        let target: any CommandStore & StoreHealth
        let calls = Mutex(Calls())
        /// The next promotion that a look finds.
        let due = Mutex<(shard: Int, at: Timestamp)?>(nil)

        init(_ target: any CommandStore & StoreHealth) { self.target = target }

        func dueWork(_ shards: [Int]) throws(StoreError) -> DueWork? {
            calls.withLock { $0.looks += 1 }
            var work = DueWork()
            due.withLock { due in
                guard let found = due else { return }
                work.add(found.at, of: found.shard, to: \.promotions, now: clock.now())
                if work.next == nil { due = nil }
            }
            return work
        }

        func promoteDue(
            _ shards: [Int], limit: Int, each: (Int, Result<PromotedCommands, StoreError>) -> Void
        ) {
            calls.withLock { if !shards.isEmpty { $0.promotions.append(shards) } }
            target.promoteDue(shards, limit: limit, each: each)
        }

        func settle(_ shards: [Int], limit: Int, each: (Int, Result<Effects, StoreError>) -> Void) {
            calls.withLock { if !shards.isEmpty { $0.others += 1 } }
        }

        func passedDeadlines(_ shards: [Int], limit: Int, each: (Int, Result<Set<ReadyKey>, StoreError>) -> Void) {
            calls.withLock { if !shards.isEmpty { $0.others += 1 } }
        }

        func shardsWithMessages(_ shards: [Int]) -> [Int] {
            calls.withLock { $0.others += 1 }
            return []
        }
    }

    @Test func `a coordinator does only the work that a look has found, and looks again when the next is due`()
        async throws
    {
        let directory = try TemporaryDirectory("due-work")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        let store = AnsweringStore(try SQLiteStore(directory: data, shardCount: 4))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let service = CoordinatorService(
            OpenedStore(store, in: data), configuration: CoordinatorConfiguration(), logger: logger)
        let group = ServiceGroup(services: [service], logger: logger)
        let running = Task { try await group.run() }
        do {
            // Longer than the looks in a row after which every other heartbeat is left out.
            try await until("twelve looks", within: .seconds(60)) { store.calls.withLock { $0.looks >= 12 } }
            #expect(store.calls.withLock { $0.promotions.isEmpty && $0.others == 0 })
            // A command for the year 9999.
            store.due.withLock { $0 = (1, Timestamp(milliseconds: 253_402_300_799_000)) }
            let looks = store.calls.withLock { $0.looks }
            try await until("further looks", within: .seconds(60)) { store.calls.withLock { $0.looks >= looks + 3 } }
            #expect(store.calls.withLock { $0.promotions.isEmpty })
            let time = store.clock.now() + .milliseconds(900)
            store.due.withLock { $0 = (3, time) }
            try await until("the work of shard 3", within: .seconds(60)) {
                store.calls.withLock { !$0.promotions.isEmpty }
            }
            #expect(store.clock.now() >= time)
            #expect(store.calls.withLock { $0.promotions == [[3]] && $0.others == 0 })
        } catch {
            await group.triggerGracefulShutdown()
            _ = try? await running.value
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running.value
    }
}
