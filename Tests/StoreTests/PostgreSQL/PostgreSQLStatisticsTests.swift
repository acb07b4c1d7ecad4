import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// The counts of the work of a store on its server.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLStatisticsTests {
    private static let epoch: Int64 = 1

    /// Runs `body` with a store that a worker has a session in.
    private func store<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLStore, _ url: String) throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 4)
            defer { schema.remove() }
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            try store.open(Session(seat: 1, epoch: Self.epoch, pid: 1, startTime: 1, bootID: "boot"), shard: 0)
            return try body(store, schema.url)
        }
    }

    /// Claims and ends all that is ready, in two commits a shard, until nothing is left.
    private static func drain(_ store: PostgreSQLStore) throws -> Int {
        var count = 0
        while true {
            var ready: [ReadyCommand] = []
            for shard in 0..<store.shardCount {
                for key in try store.readyKeys(shard: shard) {
                    ready += try store.ready(shard: shard, key: key, afterTurn: 0, limit: 256)
                }
            }
            if ready.isEmpty { return count }
            count += ready.count
            func apply(_ writes: [ExecutionWrite]) throws {
                _ = try store.apply(
                    { writes }, group: store.commitGroup(of: 0), seat: 1, epoch: Self.epoch,
                    CommitAttempt(timeout: .seconds(10)))
            }
            try apply(ready.map { .claim($0.id, sent: true) })
            try apply(ready.map { .end($0.id, claim: 1, .success(result: nil)) })
        }
    }

    private static func fan(_ width: Int) -> FlowDraft {
        var nodes = [FlowNode("root", .noop)]
        nodes += (0..<width).map { FlowNode("page-\($0)", .noop, after: ["root": .success]) }
        let pages = (0..<width).map { ("page-\($0)", DependencyCondition.success) }
        nodes.append(FlowNode("join", .noop, after: Dictionary(uniqueKeysWithValues: pages)))
        return FlowDraft("fan", nodes: nodes)
    }

    private static func chain(_ count: Int) -> FlowDraft {
        FlowDraft(
            "chain",
            nodes: (0..<count).map {
                FlowNode("step-\($0)", .noop, after: $0 == 0 ? [:] : ["step-\($0 - 1)": .success])
            })
    }

    /// Each node waits for all of the level before it.
    private static func levels(_ count: Int, width: Int) -> FlowDraft {
        let nodes = (0...count).flatMap { level in
            (0..<(level == 0 ? 1 : width)).map { number in
                let parents = (0..<(level == 0 ? 0 : level == 1 ? 1 : width)).map {
                    ("node-\(level - 1)-\($0)", DependencyCondition.success)
                }
                return FlowNode("node-\(level)-\(number)", .noop, after: Dictionary(uniqueKeysWithValues: parents))
            }
        }
        return FlowDraft("levels", nodes: nodes)
    }

    /// Each node has `width` others that wait for it.
    private static func tree(depth: Int, width: Int) -> FlowDraft {
        var nodes: [FlowNode] = []
        func add(_ name: String, parent: String?, depth: Int) {
            nodes.append(FlowNode(name, .noop, after: parent.map { [$0: .success] } ?? [:]))
            guard depth > 0 else { return }
            for number in 0..<width { add("\(name)-\(number)", parent: name, depth: depth - 1) }
        }
        add("node", parent: nil, depth: depth)
        return FlowDraft("tree", nodes: nodes)
    }

    enum Shape: String, CaseIterable {
        case chain, levels, tree, wideTree, star
    }

    @Test(arguments: Shape.allCases)
    func `the commands that a cancelled one takes with it are read many levels at a time`(_ shape: Shape) async throws {
        var draft =
            switch shape {
            case .chain: Self.chain(1500)
            case .levels: Self.levels(60, width: 8)
            case .tree: Self.tree(depth: 8, width: 2)
            case .wideTree: Self.tree(depth: 2, width: 20)
            case .star: Self.fan(700)
            }
        draft.stopsOnFailure = false
        let flow = draft
        let (left, roundTrips) = try await store { store, _ in
            let id = try store.submit(FlowPlan(flow), allowUnknownTypes: false).submission.id
            let root = try #require(store.flowNodes(id, after: 0, limit: 1).first).command.id
            let before = try #require(store.statistics?.roundTrips)
            _ = try store.cancel(root, reason: "no")
            while try store.settle(shard: id.shard(of: store.shardCount), limit: 1000).hasMore {}
            let roundTrips = try #require(store.statistics?.roundTrips) - before
            return (try store.counts()[.blocked], roundTrips)
        }
        #expect(left == 0)
        // A command of more than 16 others takes one of its own.
        #expect(roundTrips < 60, "\(roundTrips) for \(flow.nodes.count) commands")
    }

    @Test func `commits, their time and their round trips are counted`() async throws {
        let (before, after) = try await store { store, _ in
            let before = try #require(store.statistics)
            for result in store.submit([.noop, .noop], allowUnknownTypes: false) { _ = try result.get() }
            _ = try Self.drain(store)
            return (before, try #require(store.statistics))
        }
        // A submit, a claim and an end of all.
        #expect(after.commits - before.commits == 3 && after.commitTime > before.commitTime)
        #expect(after.roundTrips - before.roundTrips >= 3 * 2)
        #expect(after.repeats == 0 && after.lostConnections == 0 && after.relationLoads == 0)
    }

    @Test func `commits of flows read at most 1 of 100 times more than in advance`() async throws {
        let (nodes, statistics) = try await store { store, _ in
            for draft in Array(repeating: Self.fan(8), count: 20) + [Self.fan(300), Self.chain(100)] {
                _ = try store.submit(FlowPlan(draft), allowUnknownTypes: false)
            }
            return (try Self.drain(store), try #require(store.statistics))
        }
        #expect(nodes == 20 * 10 + 302 + 100)
        #expect(statistics.relationLoads >= 100)
        #expect(
            statistics.relationMisses * 100 <= statistics.relationLoads,
            "\(statistics.relationMisses) of \(statistics.relationLoads)")
    }

    @Test func `commits of ordering keys read nothing beyond what they read in advance`() async throws {
        let (before, submitted, after) = try await store { store, _ in
            let before = try #require(store.statistics)
            // The second half comes behind commands of the first that wait.
            for _ in 1...2 {
                let drafts = (0..<100).map { index in CommandDraft.noop.with { $0.orderingKey = "key \(index % 20)" } }
                for result in store.submit(drafts, allowUnknownTypes: false) { _ = try result.get() }
            }
            let submitted = try #require(store.statistics)
            _ = try Self.drain(store)
            return (before, submitted, try #require(store.statistics))
        }
        // Locks, keys, relations and the end of each commit; the limits and the types.
        #expect(submitted.roundTrips - before.roundTrips <= 2 * 6)
        #expect(after.relationLoads - submitted.relationLoads >= 10)
        #expect(after.relationMisses == before.relationMisses)
    }

    @Test func `an urgent command raises those that have its key and wait for it, also in the commit of a submit`()
        async throws
    {
        let urgent = CommandDraft.noop.with { ($0.orderingKey, $0.qos) = ("key", .userInitiated) }
        let qualities = try await store { store, _ in
            var ids: [CommandID] = []
            for draft in [1, 1, 3].map({ Array(repeating: urgent.with { $0.qos = .background }, count: $0) }) {
                ids += try store.submit(draft, allowUnknownTypes: false).map { try $0.get().id }
            }
            let last = [urgent.with { $0.qos = .background }, urgent, urgent.with { $0.qos = .utility }]
            ids += try store.submit(last, allowUnknownTypes: false).map { try $0.get().id }
            return try ids.map { try store.command($0)?.qos }
        }
        #expect(qualities == Array(repeating: .userInitiated, count: 7) + [.utility])
    }

    @Test func `the age of the oldest transaction is that of another session`() async throws {
        let (none, age) = try await store { store, url in
            let none = try store.oldestTransaction()
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(url), deadline: .soon)
            try connection.run("BEGIN")
            try connection.run("SELECT 1")
            let age = try store.oldestTransaction()
            try connection.run("ROLLBACK")
            return (none, age)
        }
        // Other tests may have transactions for a moment.
        #expect(none.map { $0 < .seconds(60) } ?? true)
        #expect(age != nil)
    }
}
