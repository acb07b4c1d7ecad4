import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// The upkeep of the tables whose rows come and go, on a server whose autovacuum leaves them alone.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLVacuumTests {
    /// Makes dead rows in `ready`, and has the server count them.
    private static func makeDeadRows(_ count: Int, in schema: PostgreSQLTestSchema) throws {
        var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
        try connection.run("SET search_path = \(schema.name)")
        for table in ["ready", "running"] { try connection.run("ALTER TABLE \(table) SET (autovacuum_enabled = off)") }
        try connection.run(
            """
            INSERT INTO ready(id, shard, turn, type, destination, created_at, qos, status, claim, cancel_requested, retries,
                crashes, suspect, not_before, key_is_free, "offset", total, last, updated_at, relations)
            SELECT gen_random_uuid(), 0, n, 'noop', 'none', 0, 2, 0, 0, false, 0, 0, 0, 0, false, 0, 0, n, 0, 0
            FROM generate_series(1, \(count)) n
            """)
        try connection.run("DELETE FROM ready")
        // Counts of a session are added up at the end of its transactions, or up to a second later.
        let deadline = MonotonicTime.soon
        while try deadRows(of: schema, &connection) < Int64(count) {
            guard MonotonicTime.now < deadline else { throw Missed("the server does not count the dead rows") }
            try connection.run("SELECT pg_sleep(0.1)")
        }
    }

    private static func deadRows(
        of schema: PostgreSQLTestSchema, _ connection: inout PostgreSQLConnection
    ) throws -> Int64 {
        let sql = """
            SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = '\(schema.name)' AND relname = 'ready'
            """
        return try connection.run(sql).first { row in row[0] as Int64 } ?? 0
    }

    private static func vacuums(of schema: PostgreSQLTestSchema) throws -> Int64 {
        var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
        let sql = """
            SELECT sum(vacuum_count)::int8 FROM pg_stat_user_tables
            WHERE schemaname = '\(schema.name)' AND relname IN ('ready', 'running')
            """
        return try connection.run(sql).first { row in row[0] as Int64 } ?? 0
    }

    private func schema<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLTestSchema) throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 4)
            defer { schema.remove() }
            return try body(schema)
        }
    }

    @Test func `many dead rows are removed, and few are left`() async throws {
        let (few, many, again) = try await schema { schema in
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            try Self.makeDeadRows(1000, in: schema)
            try store.reclaimDeletedRows()
            let few = try Self.vacuums(of: schema)
            try Self.makeDeadRows(PostgreSQLStore.maxDeadRows + 1, in: schema)
            try store.reclaimDeletedRows()
            let many = try Self.vacuums(of: schema)
            try store.reclaimDeletedRows()
            return (few, many, try Self.vacuums(of: schema))
        }
        #expect(few == 0 && many == 1 && again == 1)
    }

    @Test func `a role that may not vacuum leaves it, and the health check names the tables`() async throws {
        let (count, own, others) = try await schema { schema in
            let role = "vacuum_\(schema.name)"
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
            try connection.run("CREATE ROLE \(role) LOGIN")
            let grants = PostgreSQLSchema.grants(schema.name, to: role)
            for statement in grants.split(separator: ";") where statement.contains(where: { !$0.isWhitespace }) {
                try connection.run(String(statement))
            }
            let url = schema.url.replacing("postgres://postgres@", with: "postgres://\(role)@")
            let store = try PostgreSQLStore(url: url, schema: schema.name)
            try Self.makeDeadRows(PostgreSQLStore.maxDeadRows + 1, in: schema)
            try store.reclaimDeletedRows()
            let others = try store.serverFindings().filter { $0.check == "vacuum" }
            let owner = try PostgreSQLStore(url: schema.url, schema: schema.name)
            let own = try owner.serverFindings().filter { $0.check == "vacuum" }
            let count = try Self.vacuums(of: schema)
            try connection.run("DROP OWNED BY \(role)")
            try connection.run("DROP ROLE \(role)")
            return (count, own, others)
        }
        #expect(count == 0 && own.isEmpty)
        #expect(others.count == 1 && others.allSatisfy { $0.state == .note && $0.sentence.contains("ready, running") })
    }
}
