import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// The plans of the statements of a store, on tables of every size and with every kind of statistics.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLPlanTests {
    /// Tables that grow with the history of a store, or with its backlog.
    private static let large = [
        "command", "ended", "transition", "ready", "parked", "kept", "result", "related", "node", "dependency", "inbox",
        "taken", "alarm",
    ]

    enum Tables: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case empty, manyReady, manyEnded
        /// The statistics are those of empty tables.
        case stale

        static let count = 100_000
        var testDescription: String { rawValue }
        var ready: Int { self == .manyReady || self == .stale ? Self.count : 0 }
        var ended: Int { self == .manyEnded || self == .stale ? Self.count : 0 }
    }

    private struct Plan: Sendable {
        var name: String
        var lines: [String]
        var text: String { "\(name): \(lines.joined(separator: "\n"))" }

        /// The tables that are read from end to end.
        var scans: Set<String> {
            // Without a condition, a scan of an index reads all of it, unless it ends with the first row.
            let whole = lines.indices.filter { index in
                lines[index].contains(" using ") && !lines[index].contains("rows=1 ")
                    && !(index + 1 < lines.count && lines[index + 1].contains("Index Cond"))
            }
            return Set(words(behind: "Seq Scan on ", in: lines) + words(behind: " on ", in: whole.map { lines[$0] }))
        }
        var indexes: Set<String> {
            Set(words(behind: " using ", in: lines) + words(behind: "Bitmap Index Scan on ", in: lines))
        }

        private func words(behind text: String, in lines: [String]) -> [String] {
            lines.compactMap { line in
                guard let range = line.firstRange(of: text) else { return nil }
                return String(line[range.upperBound...].prefix { $0.isLetter || $0 == "_" })
            }
        }
    }

    /// Submits, claims, ends, retries and reads with every kind of relation.
    private static func work(in schema: PostgreSQLTestSchema, _ store: PostgreSQLStore) throws {
        try store.open(Session(seat: 1, epoch: 1, pid: 1, startTime: 1, bootID: "boot"), shard: 0)
        let keyed = CommandDraft.noop.with { $0.orderingKey = "key" }
        let limited = CommandDraft.noop.with { $0.limit = "limit" }
        let parent = try store.submit([.noop, keyed, keyed, limited], allowUnknownTypes: false)[0].get().id
        let child = CommandDraft.noop.with { $0.dependencies = [Dependency(on: parent)] }
        let late = CommandDraft.noop.with { $0.deadline = Timestamp(milliseconds: 4_000_000_000_000) }
        _ = store.submit([child, late, .noop.with { $0.uniqueKey = "key" }], allowUnknownTypes: false)
        let draft = FlowDraft("flow", nodes: [FlowNode("a", .noop), FlowNode("b", .noop, after: ["a": .success])])
        let flow = try store.submit(FlowPlan(draft), allowUnknownTypes: false).submission.id
        // Beyond what a transaction changes.
        let nodes = ["a"] + (0..<1100).map { "b\($0)" }
        let wide = FlowDraft("wide", nodes: nodes.map { FlowNode($0, .noop, after: $0 == "a" ? [:] : ["a": .success]) })
        let id = try store.submit(FlowPlan(wide), allowUnknownTypes: false).submission.id
        let root = try #require(store.flowNodes(id, after: 0, limit: 1).first)
        _ = try store.cancel(root.command.id, reason: "not wanted")
        while try store.settle(shard: id.shard(of: 4), limit: 1000).hasMore {}
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
        let sweeps = (0..<4).map { ShardSweep(shard: $0, way: .keys, readsClaims: true) }
        for _ in 1...2 { store.sweep(sweeps) { _, _ in } }
        store.sweep((0..<4).map { ShardSweep(shard: $0, way: .changes(after: 0), readsClaims: true) }) { _, _ in }
        for shard in 0..<4 { _ = try store.takeReadyAgain(shard: shard, limit: 10) }
        store.promoteDue([0, 1], limit: 10) { _, _ in }
        store.passedDeadlines([0, 1], limit: 10) { _, _ in }
        store.settle([0, 1], limit: 10) { _, _ in }
        let inbox = InboxRig(schema: schema, store: store)
        _ = try inbox.submit("'noop', unique_key => 'other key'")
        try inbox.move()
        try read(parent, flow, in: store)
    }

    private static func read(_ parent: CommandID, _ flow: CommandID, in store: PostgreSQLStore) throws {
        _ = try store.command(parent)
        _ = try store.payload(parent)
        _ = try store.result(parent)
        _ = try store.timeline(parent)
        _ = try store.events(shard: 0, after: 0, limit: 10)
        _ = try store.lastTransition(shard: 0)
        _ = try store.counts()
        _ = try store.flow(flow)
        _ = try store.flowNodes(flow, after: 0, limit: 10)
        _ = try store.dependencies(of: parent, limit: 10)
        _ = try store.orderingKey(of: parent)
        _ = try store.parentResults(of: parent, after: 0, limit: 10)
        _ = try store.claimed(shard: 0)
        _ = try store.cancellationRequests(shard: 0)
        _ = try store.outbox(shard: 0, after: 0, limit: 10)
        _ = store.shardsWithMessages([0, 1])
        _ = try store.relationOverview()
        _ = try store.dueWork([0, 1, 2, 3])
        _ = try store.shardsToPrune(before: store.clock.now(), statuses: [.success])
        _ = try store.requalify(parent, qos: .utility)
        _ = try store.cancel(parent, reason: "not wanted")
    }

    /// Fills the tables with commands that wait, and with others that have ended.
    private static func fill(_ tables: Tables, _ connection: inout PostgreSQLConnection) throws {
        let state = """
            2, 0, 0, false, 0, 0, 0, 0, NULL::int8, NULL::int8, false, 0, 0, NULL::int4, NULL::int8, n, NULL::text, n,
            NULL::int8, 0
            """
        let kinds = [(table: "ready", count: tables.ready), (table: "ended", count: tables.ended)]
        for kind in kinds where kind.count > 0 {
            let rows = "rows_of_\(kind.table)"
            try connection.run(
                """
                CREATE TEMP TABLE \(rows) AS SELECT gen_random_uuid() AS id, (n % 4)::int2 AS shard, n::int8 AS n
                FROM generate_series(10000, \(9999 + kind.count)) n
                """)
            try connection.run(
                """
                INSERT INTO command(id, shard, turn, type, destination, created_at, idempotent, retry_limit, payload)
                SELECT id, shard, n, 'noop', '', n, true, 5, '\\x7b7d' FROM \(rows)
                """)
            let queue = kind.table == "ready" ? "id, shard, n, 'noop', '', NULL, n" : "id, shard, n"
            try connection.run("INSERT INTO \(kind.table) SELECT \(queue), \(state) FROM \(rows)")
            try connection.run(
                """
                INSERT INTO transition(shard, seq, id, status, at, claim, previous)
                SELECT shard, \(kind.table == "ready" ? 0 : 10_000_000) + n, id, 0, n, 0, 0 FROM \(rows)
                """)
        }
    }

    /// Explains the statements that a store has prepared, after its tables were filled.
    private func plans(_ tables: Tables) async throws -> [Plan] {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 4)
            defer { schema.remove() }
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
            try connection.run("SET search_path = \(schema.name)")
            let analyse = "ANALYZE \(Self.large.joined(separator: ", "))"
            if tables == .stale {
                for table in Self.large { try connection.run("ALTER TABLE \(table) SET (autovacuum_enabled = off)") }
                try connection.run(analyse)
            }
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            try Self.work(in: schema, store)
            try Self.fill(tables, &connection)
            if tables != .stale { try connection.run(analyse) }
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

    @Test(arguments: Tables.allCases)
    func `every statement finds the rows of large tables by an index`(tables: Tables) async throws {
        let plans = try await plans(tables)
        #expect(plans.count > 60)
        for plan in plans {
            #expect(plan.scans.isDisjoint(with: Self.large), "\(plan.text)")
        }
    }

    /// Indexes beside primary keys, and the statements that are for them.
    private static let others: [String: Set<String>] = [
        "ready_order": ["ready", "ready-probes", "ready-keys"],
        "ready_limited": ["ready-limited", "limited-probes", "limited-destinations", "limited-keys", "ready-counts"],
        "parked_due": ["next-due", "due", "due-work"],
        "schedule_next": ["due-work"],
        // A table that was analysed while it was empty: the server takes either of its two indexes.
        "dependency_child": ["closure-nodes", "closure-commands", "closure-dependants"],
    ]

    @Test(arguments: Tables.allCases)
    func `claims, ends and sweeps use no index but primary keys and those of ready commands`(
        tables: Tables
    ) async throws {
        let hot: Set = [
            "command-by-id", "claimed-by-id", "bodies", "newest", "lock-shards", "delete-ready", "delete-running",
            "update-running",
            "insert-ready", "insert-running", "insert-ended", "insert-commands", "insert-equal-ready",
            "insert-equal-running", "insert-equal-ended", "insert-equal-commands", "add-transitions", "add-counts",
            "inbox-page", "inbox-take", "closure-nodes", "closure-commands", "closure-flows", "closure-lanes",
            "closure-waiters", "closure-dependants", "save-result", "sweep-newest", "first-waiter", "lane",
        ]
        let plans = try await plans(tables).filter { plan in
            hot.contains(plan.name) || Self.others.values.contains { $0.contains(plan.name) }
        }
        #expect(plans.count > 25)
        for plan in plans {
            let wrong = plan.indexes.filter { index in
                !index.hasSuffix("_pkey") && Self.others[index]?.contains(plan.name) != true
            }
            #expect(wrong.isEmpty, "\(plan.text)")
        }
    }
}
