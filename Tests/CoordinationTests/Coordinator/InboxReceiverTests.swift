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

/// A coordinator on a store with an inbox.
@Suite struct InboxReceiverTests {
    /// A store whose inbox has entries that a test puts there.
    private final class InboxTestStore: ForwardingStore {
        struct State {
            var looks: [InboxLook] = []
            var entries: [InboxEntry] = []
            var limits: [Int] = []
        }

        let target: any CommandStore & StoreHealth
        let state = Mutex(State())

        init(_ target: any CommandStore & StoreHealth) { self.target = target }

        var hasInbox: Bool { true }

        func moveInbox(
            _ look: InboxLook, limit: Int, _ check: ([InboxEntry]) throws(StoreError) -> [InboxVerdict]
        ) throws(StoreError) -> InboxRound {
            let page = state.withLock { state in
                state.looks.append(look)
                defer { state.entries = Array(state.entries.dropFirst(2)) }
                return Array(state.entries.prefix(2))
            }
            var round = InboxRound()
            round.hasMore = page.count == 2
            for verdict in try check(page) {
                guard case .draft(let draft) = verdict else { continue }
                for result in target.submit([draft], allowUnknownTypes: true) { round.ids.append(try result.get().id) }
            }
            return round
        }
    }

    /// Runs a coordinator on a store for as long as `body` runs.
    private func coordinating(
        _ store: any CommandStore & StoreHealth, in data: DataDirectory, inbox: CoordinatorConfiguration.InboxCheck?,
        _ body: () async throws -> Void
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = CoordinatorConfiguration()
        configuration.inbox = inbox
        let service = CoordinatorService(OpenedStore(store, in: data), configuration: configuration, logger: logger)
        let group = ServiceGroup(services: [service], logger: logger)
        let running = Task { try await group.run() }
        var failure: (any Error)?
        do { try await body() } catch { failure = error }
        await group.triggerGracefulShutdown()
        try await running.value
        if let failure { throw failure }
    }

    private static let check: CoordinatorConfiguration.InboxCheck = { entries throws(StoreError) in
        entries.map {
            .draft(CommandDraft(type: $0.type, payload: $0.payload, destination: .none, idempotent: true))
        }
    }

    private func withStore(
        _ body: (InboxTestStore, DataDirectory) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory("inbox")
        defer { directory.remove() }
        let data = DataDirectory(path: "\(directory.path)/data")
        try await body(InboxTestStore(try SQLiteStore(directory: data, shardCount: 2)), data)
    }

    @Test func `recent entries are looked for all the time, the whole inbox at each sweep, and a backlog at once`()
        async throws
    {
        try await withStore { store, data in
            try await coordinating(store, in: data, inbox: Self.check) {
                try await until("a look at the whole inbox", within: .seconds(60)) {
                    store.state.withLock { $0.looks.contains(.whole) }
                }
                store.state.withLock { state in
                    state.looks = []
                    state.entries = (0..<9).map { _ in
                        InboxEntry(id: CommandID(), type: "noop", payload: Array("{}".utf8), options: [])
                    }
                }
                try await until("the entries", within: .seconds(60)) {
                    store.state.withLock { $0.entries.isEmpty && $0.looks.count >= 5 }
                }
                try await until("the next sweep", within: .seconds(60)) {
                    store.state.withLock { $0.looks.contains(.whole) }
                }
                let looks = store.state.withLock { $0.looks }
                #expect(looks.count { $0 == .recent } > 5)
                #expect(try store.counts()[.new] == 9)
            }
        }
    }

    @Test func `a coordinator without checks leaves the inbox alone`() async throws {
        try await withStore { store, data in
            try await coordinating(store, in: data, inbox: nil) { try await Task.sleep(for: .milliseconds(600)) }
            #expect(store.state.withLock { $0.looks.isEmpty })
        }
    }

    @Test(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
    func `a command that a transaction submits by SQL is ready within a second of its commit`() async throws {
        let server = try await PostgreSQLServer.shared()
        let (url, schema) = (server.socketURL(), "inbox_\(UInt32.random(in: 0 ... .max))")
        let directory = try TemporaryDirectory("inbox")
        defer { directory.remove() }
        let store = try await BlockingPool.shared.run { () throws(any Error) in
            try PostgreSQLStore.create(url: url, schema: schema, shardCount: 8)
            return try PostgreSQLStore(url: url, schema: schema)
        }
        let data = DataDirectory(path: "\(directory.path)/data")
        _ = try SQLiteStore(directory: data, shardCount: 1)
        try await coordinating(store, in: data, inbox: Self.check) {
            var waits: [Duration] = []
            for _ in 0..<20 {
                let id = try await BlockingPool.shared.run { () throws(any Error) in
                    var connection = try PostgreSQLConnection.open(
                        PostgreSQLLocation(url), deadline: .now + .seconds(60))
                    let sql = PostgreSQLStatement(once: "SELECT \(schema).submit('noop')")
                    return try connection.execute(sql, deadline: .now + .seconds(60)).first { row in row[0] as CommandID
                    }
                }
                let committed = MonotonicTime.now
                try await until("the command", within: .seconds(60)) {
                    try await BlockingPool.shared.run { () throws(any Error) in
                        try store.command(#require(id))?.status == .new
                    }
                }
                waits.append(MonotonicTime.now - committed)
            }
            waits.sort()
            print("from the commit of a transaction to the command: median \(waits[10]), longest \(waits[19])")
            #expect(waits[10] < .seconds(1))
        }
    }
}
