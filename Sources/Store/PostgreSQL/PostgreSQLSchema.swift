internal import Commands
internal import Host

/// The schema of a store: its versions, its tables and the rights on them.
///
/// `meta` has two versions, as a shard of SQLite: `version` of the tables, and `min_reader`, the lowest version that a program
/// must know to use them.
enum PostgreSQLSchema {
    /// The version of the stores that this program makes, and the newest that it knows.
    static let version = 1
    static let minReader = 1

    /// The facts of a store that never change, and how often it was restored.
    struct Identity: Equatable, Sendable {
        var store: String
        var shardCount: Int
        /// Raised by a restore, and above that of its source by a copy, so that what workers claimed before is not taken for theirs.
        var generation: Int64
    }

    /// Whether a name needs no quotes in SQL.
    static func isName(_ name: String) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard let first = name.utf8.first, name.utf8.count < 64 else { return false }
        return (letters.contains(first) || first == UInt8(ascii: "_"))
            && name.utf8.allSatisfy { letters.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "_") }
    }

    static func noName(_ name: String) -> StoreError {
        StoreError(.invalid, "“\(name)” is not the name of a schema: a letter or _, then at most 62 of a-z, 0-9 and _.")
    }

    // MARK: Creation

    /// Makes the schema and its tables in one transaction.
    /// - Parameters:
    ///   - name: of the schema, which must not exist.
    ///   - shardCount: a power of two from 1 to 256.
    ///   - types: known types, which are accepted before any worker has registered.
    static func create(
        _ name: String, on connection: inout PostgreSQLConnection, shardCount: Int, types: Set<String>,
        deadline: MonotonicTime
    ) throws(PostgreSQLError) {
        guard isName(name) else { throw PostgreSQLError(noName(name)) }
        guard (1...256).contains(shardCount), shardCount & (shardCount - 1) == 0 else {
            throw PostgreSQLError(.invalid, "A store has 1, 2, 4, … 256 shards, not \(shardCount).")
        }
        var random = SystemRandomNumberGenerator()
        let id = CommandID(high: random.next(), low: random.next()).description
        let facts = [
            ("version", "\(version)"), ("min_reader", "\(minReader)"), ("store", id), ("shards", "\(shardCount)"),
            ("generation", "1"),
        ]
        try connection.transaction(deadline: deadline) { connection throws(PostgreSQLError) in
            _ = try connection.commit(deadline: deadline) { pipeline in
                pipeline.append(PostgreSQLStatement(once: "CREATE SCHEMA \(name)"))
                pipeline.append(PostgreSQLStatement(once: "SET LOCAL search_path = \(name)"))
                for sql in version1(in: name) { pipeline.append(PostgreSQLStatement(once: sql)) }
                pipeline.append(
                    PostgreSQLStatement(once: "INSERT INTO meta SELECT * FROM unnest($1::text[], $2::text[])"),
                    facts.map(\.0), facts.map(\.1))
                pipeline.append(
                    PostgreSQLStatement(
                        once: "INSERT INTO shard SELECT number FROM generate_series(0, $1::int8 - 1) number"),
                    shardCount)
                pipeline.append(
                    PostgreSQLStatement(once: "INSERT INTO type SELECT * FROM unnest($1::text[])"),
                    types.filter { CommandDraft.isType($0) }.sorted())
            }
        }
    }

    // MARK: Versions

    private static let facts = PostgreSQLStatement("meta", "SELECT key, value FROM meta")

    /// Reads the identity of the store in the search path.
    /// - Parameter allowsUnfinishedCopy: for the copy that fills it (``CopyMark``).
    /// - Throws: `.missing` where there is none; `.foreign` for one of a newer version; `.corrupt` for one that a copy has left
    ///   unfinished.
    static func check(
        on connection: inout PostgreSQLConnection, allowsUnfinishedCopy: Bool = false, deadline: MonotonicTime
    ) throws(PostgreSQLError) -> Identity {
        let rows = try connection.execute(facts, deadline: deadline).rows { row in (row[0] as String, row[1] as String)
        }
        let values = Dictionary(rows) { first, _ in first }
        guard let needed = values["min_reader"].flatMap({ Int($0) }), let store = values["store"],
            let shardCount = values["shards"].flatMap({ Int($0) })
        else {
            throw PostgreSQLError(
                .foreign, "\(connection.server): the table “meta” is not one of a store; name another schema.")
        }
        guard needed <= version else {
            throw PostgreSQLError(
                .foreign,
                "\(connection.server): the store needs a program that knows version \(needed) of its tables, and this one "
                    + "knows version \(version); install a newer release.")
        }
        if !allowsUnfinishedCopy, let copy = values[CopyMark.key] {
            throw PostgreSQLError(
                .corrupt, CopyMark.sentence(connection.server, arguments: CopyMark.arguments(inRow: copy)))
        }
        let generation = values["generation"].flatMap { Int64($0) } ?? 1
        return Identity(store: store, shardCount: shardCount, generation: generation)
    }

    // MARK: Rights

    /// The settings that every session of a store needs. The planner chooses a scan of a table that was empty when it was
    /// analysed, and planning a statement takes 50 times as long as running it.
    static let sessionSettings: [(name: String, value: String)] = [
        ("enable_seqscan", "off"), ("plan_cache_mode", "force_generic_plan"), ("jit", "off"),
        ("synchronous_commit", "on"), ("idle_in_transaction_session_timeout", "5s"), ("statement_timeout", "10s"),
        ("lock_timeout", "10s"),
    ]

    /// Settings of the server's side of a connection by TCP, by which it notices a peer that is gone. No timeout ends a
    /// transaction whose pipeline has arrived only in part, and it keeps the locks of its shards.
    static let connectionSettings: [(name: String, value: String)] = [
        ("client_connection_check_interval", "500ms"), ("tcp_keepalives_idle", "1"), ("tcp_keepalives_interval", "1"),
        ("tcp_keepalives_count", "2"), ("tcp_user_timeout", "2000"),
    ]

    /// SQL for the owner of the database: the rights that a role needs to work with the store, and the settings that its
    /// sessions have, also behind a pooler.
    static func grants(_ name: String, to role: String) -> String {
        let role = quoted(role)
        let rights = [
            "GRANT USAGE ON SCHEMA \(name) TO \(role);",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(name) TO \(role);",
            "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA \(name) TO \(role);",
            "ALTER ROLE \(role) SET search_path = \(name);",
        ]
        let settings = (sessionSettings + connectionSettings).map { setting in
            "ALTER ROLE \(role) SET \(setting.name) = '\(setting.value)';"
        }
        return (rights + settings).joined(separator: "\n")
    }

    /// SQL for the owner of the database: the rights that a role needs to submit commands by ``submitFunctions(in:)``, and none to
    /// read or change a table.
    static func producerGrants(_ name: String, to role: String) -> String {
        let role = quoted(role)
        let functions = submitFunctions(in: name).joined(separator: ", ")
        return """
            GRANT USAGE ON SCHEMA \(name) TO \(role);
            GRANT EXECUTE ON FUNCTION \(functions) TO \(role);
            """
    }

    private static func quoted(_ role: String) -> String {
        "\"\(role.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
    }
}
