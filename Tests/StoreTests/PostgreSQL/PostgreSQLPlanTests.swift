import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// The plans of the statements that a worker and a coordinator use all the time.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLPlanTests {
    /// Tables that grow with the history of a store, or with its backlog.
    private static let large = [
        "command", "ended", "transition", "ready", "parked", "kept", "result", "related", "node", "inbox",
    ]

    private struct Plan: Sendable {
        var name: String
        var lines: [String]

        /// The tables that are read from end to end.
        var scans: Set<String> { Set(words(behind: "Seq Scan on ")) }
        var indexes: Set<String> { Set(words(behind: " using ") + words(behind: "Bitmap Index Scan on ")) }

        private func words(behind text: String) -> [String] {
            lines.compactMap { line in
                guard let range = line.firstRange(of: text) else { return nil }
                return String(line[range.upperBound...].prefix { $0.isLetter || $0 == "_" })
            }
        }
    }

    /// Submits, claims, ends, retries and reads with every kind of relation, and explains the statements that were prepared.
    private func plans() async throws -> [Plan] {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 4)
            defer { schema.remove() }
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "boot"), shard: 0)
            let keyed = CommandDraft.noop.with { $0.orderingKey = "key" }
            let parent = try store.submit([.noop, keyed, keyed], allowUnknownTypes: false)[0].get().id
            let child = CommandDraft.noop.with { $0.dependencies = [Dependency(on: parent)] }
            _ = store.submit([child, .noop.with { $0.uniqueKey = "key" }], allowUnknownTypes: false)
            let flow = FlowDraft("flow", nodes: [FlowNode("a", .noop)])
            _ = try store.submit(FlowPlan(flow), allowUnknownTypes: false)
            for shard in 0..<4 {
                for key in try store.readyKeys(shard: shard) {
                    let ready = try store.ready(shard: shard, key: key, afterTurn: 0, limit: 10)
                    let group = store.commitGroup(of: shard)
                    func apply(_ writes: [ExecutionWrite]) throws {
                        _ = try store.apply(
                            { writes }, group: group, seat: 1, epoch: 1, CommitAttempt(timeout: .seconds(10)))
                    }
                    try apply(ready.map { .claim($0.id, sent: true) })
                    try apply(ready.map { .end($0.id, claim: 1, .success(result: [123, 125])) })
                }
            }
            _ = try store.retry(parent)
            store.sweep((0..<4).map { ShardSweep(shard: $0, way: .changes(after: 0), readsClaims: true) }) { _, _ in }
            store.promoteDue([0, 1], limit: 10) { _, _ in }
            _ = try store.relationOverview()
            _ = try store.dueWork([0, 1, 2, 3])
            _ = try store.shardsToPrune(before: store.clock.now(), statuses: [.success])
            let inbox = InboxRig(schema: schema, store: store)
            _ = try inbox.submit("'noop', unique_key => 'other key'")
            try inbox.move()
            return try store.read { transaction throws(StoreError) in
                let prepared = try transaction.read(
                    PostgreSQLStatement(once: "SELECT name, parameter_types::text[] FROM pg_prepared_statements")
                ).rows { row in (name: row[0] as String, types: row[1] as [String]) }
                return try prepared.map { statement throws(StoreError) in
                    let values = statement.types.map { "NULL::\($0)" }.joined(separator: ", ")
                    let sql = "EXPLAIN EXECUTE \"\(statement.name)\"" + (values.isEmpty ? "" : "(\(values))")
                    let lines = try transaction.read(PostgreSQLStatement(once: sql)).rows { row in row[0] as String }
                    return Plan(name: statement.name, lines: lines)
                }
            }
        }
    }

    @Test func `every statement finds the rows of large tables by an index`() async throws {
        let plans = try await plans()
        #expect(plans.count > 30)
        for plan in plans {
            #expect(plan.scans.isDisjoint(with: Self.large), "\(plan.name): \(plan.lines.joined(separator: "\n"))")
        }
    }

    @Test func `claims and ends use no index but primary keys`() async throws {
        let hot = [
            "command-by-id", "bodies", "newest", "lock-shards", "delete-ready", "delete-running", "update-running",
            "inbox-page", "inbox-take", "closure-nodes", "closure-commands", "closure-flows", "closure-lanes",
            "closure-waiters", "save-result",
        ]
        let plans = try await plans().filter { hot.contains($0.name) }
        #expect(plans.count > 8)
        for plan in plans {
            let others = plan.indexes.filter { !$0.hasSuffix("_pkey") }
            #expect(others.isEmpty, "\(plan.name): \(plan.lines.joined(separator: "\n"))")
        }
    }
}
