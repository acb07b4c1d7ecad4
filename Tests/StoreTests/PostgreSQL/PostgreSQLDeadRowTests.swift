import Commands
import Host
import TestSupport
import Testing

@testable import Store

/// The buffers that the looks of a coordinator read after many rows have gone, beside a transaction that might see them.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLDeadRowTests {
    private static let count = 20_000
    /// Buffers that a look may read more beside an open transaction: the pages of the indexes between two marks.
    private static let tolerance: Int64 = 40

    /// Columns of `ready` and `parked` that have no default, with their values.
    private static let state = (
        names: """
        id, shard, type, destination, created_at, qos, claim, cancel_requested, retries, crashes, suspect, key_is_free,
        "offset", total, last, updated_at, relations, turn, status, not_before
        """,
        values: "gen_random_uuid(), 0, 'noop', '', 0, 2, 0, false, 0, 0, 0, false, 0, 0, n, 0, 0, n"
    )

    /// Fills the tables, and empties them again.
    /// - Parameter isHeld: while a transaction is open that sees the rows.
    /// - Returns: the buffers that each look reads, by its name.
    private func buffers(isHeld: Bool) async throws -> [String: Int64] {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 1)
            defer { schema.remove() }
            let store = try PostgreSQLStore(url: schema.url, schema: schema.name)
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
            try connection.run("SET search_path = \(schema.name)")
            try Self.fill(&connection)
            var holder = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
            if isHeld {
                try holder.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
                try holder.run("SELECT count(*) FROM \(schema.name).ready")
            }
            for table in ["ready", "parked", "alarm", "waiter"] { try connection.run("DELETE FROM \(table)") }
            // Two commands that wait, behind those that have gone.
            for draft in [CommandDraft.noop, .noop.with { $0.orderingKey = "key" }] {
                _ = try store.submit([draft], allowUnknownTypes: false)[0].get()
            }
            var found: [String: Int64] = [:]
            for (name, look) in Self.looks {
                // The first look moves the mark.
                try look(store)
                let before = try Self.hits(store, schema)
                try look(store)
                found[name] = try Self.hits(store, schema) - before
            }
            if isHeld { try holder.run("ROLLBACK") }
            return found
        }
    }

    private static func fill(_ connection: inout PostgreSQLConnection) throws {
        let series = "FROM generate_series(1, \(count)) n"
        let past = "(extract(epoch FROM clock_timestamp()) * 1000)::int8 - 3600000 + n"
        try connection.run("INSERT INTO ready(\(state.names)) SELECT \(state.values), 0, 0 \(series)")
        try connection.run("INSERT INTO parked(\(state.names)) SELECT \(state.values), 3, \(past) \(series)")
        try connection.run("INSERT INTO alarm(shard, at, id) SELECT 0, \(past), gen_random_uuid() \(series)")
        try connection.run("INSERT INTO waiter(shard, key, turn) SELECT 0, 'key', n \(series)")
        try connection.run("INSERT INTO lane(shard, key, max, open, is_ordered) VALUES (0, 'key', 1, 1, true)")
        try connection.run("INSERT INTO lane_holder(shard, key, turn) VALUES (0, 'key', \(count))")
        try connection.run(
            """
            INSERT INTO transition(shard, seq, id, status, at, claim, previous)
            VALUES (0, \(count), gen_random_uuid(), 0, 0, 0, 0)
            """)
    }

    private static let looks: [(String, @Sendable (PostgreSQLStore) throws -> Void)] = [
        ("sweep", { store in store.sweep([ShardSweep(shard: 0, way: .keys)]) { _, _ in } }),
        (
            "ready",
            { store in
                let key = ReadyKey(destination: .none, qos: .default)
                let ready = try store.ready(shard: 0, key: key, afterTurn: 0, limit: 10)
                #expect(ready.count == 1)
            }
        ),
        ("due", { store in store.promoteDue([0], limit: 10) { _, _ in } }),
        ("deadlines", { store in store.passedDeadlines([0], limit: 10) { _, _ in } }),
        (
            "key",
            { store in
                let draft = CommandDraft.noop.with { $0.orderingKey = "key" }
                _ = try store.submit([draft], allowUnknownTypes: false)[0].get()
            }
        ),
    ]

    /// The buffers of the tables and their indexes that were read so far.
    private static func hits(_ store: PostgreSQLStore, _ schema: PostgreSQLTestSchema) throws -> Int64 {
        // A session adds its counts to those of the server at the end of a statement, at most once a second.
        try store.read { transaction throws(StoreError) in
            _ = try transaction.read(PostgreSQLStatement(once: "SELECT pg_stat_force_next_flush()"))
        }
        var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
        let sql = """
            SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int8 FROM pg_statio_user_tables
            WHERE schemaname = '\(schema.name)' AND relname IN ('ready', 'parked', 'alarm', 'waiter')
            """
        return try connection.run(sql).first { row in row[0] as Int64 } ?? 0
    }

    @Test func `looks read no more beside an open transaction`() async throws {
        let (free, held) = (try await buffers(isHeld: false), try await buffers(isHeld: true))
        for (name, buffers) in held.sorted(by: { $0.key < $1.key }) {
            let before = try #require(free[name])
            #expect(
                buffers <= before + Self.tolerance, "\(name): \(buffers) buffers, \(before) without the transaction")
        }
    }
}
