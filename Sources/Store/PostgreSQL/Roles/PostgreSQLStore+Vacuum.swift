internal import Commands
internal import Host

/// The rows that come and go leave dead versions, which every scan steps over until a vacuum has removed them.
///
/// Autovacuum looks at a table once a minute (`autovacuum_naptime`), or later where its workers are busy with large tables
/// (River #59: for hours). So the coordinator looks too.
extension PostgreSQLStore {
    /// Dead rows of a table that are worth a vacuum.
    static let maxDeadRows = 10_000

    /// The condition of VACUUM: the owner of the table or of the database, or from PostgreSQL 17 on the right MAINTAIN. Without
    /// it, VACUUM changes nothing, and writes a warning to the log of the server.
    /// - Parameter table: the alias of a row of `pg_class`.
    private static func mayVacuum(_ table: String) -> String {
        """
        (pg_has_role(\(table).relowner, 'USAGE')
        OR EXISTS (SELECT 1 FROM pg_database b WHERE b.datname = current_database() AND pg_has_role(b.datdba, 'USAGE'))
        OR EXISTS (SELECT 1 FROM aclexplode(\(table).relacl) a
            WHERE a.privilege_type = 'MAINTAIN' AND (a.grantee = 0 OR pg_has_role(a.grantee, 'USAGE')))
        OR EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = 'pg_maintain' AND pg_has_role(r.oid, 'USAGE')))
        """
    }

    private static let busyTables =
        "c.relnamespace = current_schema()::regnamespace AND c.relname IN ('ready', 'running')"
    private static let overdue = PostgreSQLStatement(
        "overdue-vacuum",
        """
        SELECT c.relname::text FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
        WHERE \(busyTables) AND s.n_dead_tup > $1
        AND greatest(s.last_vacuum, s.last_autovacuum, '-infinity') < clock_timestamp() - interval '1 minute'
        AND \(mayVacuum("c")) ORDER BY 1
        """)
    /// The tables that this role may not vacuum.
    static let notVacuumed = PostgreSQLStatement(
        "not-vacuumed",
        "SELECT c.relname::text FROM pg_class c WHERE \(busyTables) AND NOT \(mayVacuum("c")) ORDER BY 1")

    /// A table that another session locks is left out, and a vacuum of millions of rows takes seconds.
    private static let vacuumTimeout: Duration = .seconds(60)

    package func reclaimDeletedRows() throws(StoreError) {
        let tables = try read { transaction throws(StoreError) in
            try transaction.read(Self.overdue, Self.maxDeadRows).rows { row in row[0] as String }
        }
        guard !tables.isEmpty else { return }
        try runAlone("VACUUM (SKIP_LOCKED) \(tables.joined(separator: ", "))", timeout: Self.vacuumTimeout)
    }

    /// Runs a statement outside of transactions, with a timeout of its own.
    private func runAlone(_ sql: String, timeout: Duration) throws(StoreError) {
        do throws(PostgreSQLError) {
            let deadline = MonotonicTime.now + timeout
            try pool.withConnection(deadline: deadline) { connection throws(PostgreSQLError) in
                let limit = PostgreSQLStatement(once: "SET statement_timeout = \(timeout.milliseconds)")
                _ = try connection.execute(limit, deadline: deadline)
                let result = Result { () throws(PostgreSQLError) in
                    _ = try connection.execute(PostgreSQLStatement(once: sql), deadline: deadline)
                }
                _ = try connection.execute(PostgreSQLStatement(once: "RESET statement_timeout"), deadline: deadline)
                try result.get()
            }
        } catch {
            throw error.storeError
        }
    }
}
