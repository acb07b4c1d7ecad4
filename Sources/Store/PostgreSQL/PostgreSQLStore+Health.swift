package import Commands
internal import Host
internal import Synchronization

/// A server has no condition of single shards: a store that cannot be used throws at its opening.
extension PostgreSQLStore: StoreHealth {
    package var problems: [StoreError] { [] }
    package var overloads: [StoreError] { [] }
    package var backupTime: Timestamp? { nil }
    package func copyWarning() -> String? { nil }

    /// - Throws: `.unsuitable` where a power cut of the server could take back what was acknowledged.
    package func requireOriginal() throws(StoreError) {
        let (fsync, pages, commit, _) = try durabilitySettings()
        let off = [("fsync", fsync), ("full_page_writes", pages), ("synchronous_commit", commit)].filter {
            $0.1 == "off"
        }
        guard let (setting, _) = off.first else { return }
        throw StoreError(
            .unsuitable,
            "The store \(pool.name): its server has \(setting)=off, so that a power cut may take back what was acknowledged; "
                + "set \(setting)=on in postgresql.conf.")
    }

    private static let durability = PostgreSQLStatement(
        "durability",
        """
        SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
            current_setting('synchronous_standby_names')
        """)

    private func durabilitySettings() throws(StoreError) -> (
        fsync: String, pages: String, commit: String, standbys: String
    ) {
        let settings = try read { transaction throws(StoreError) in
            try transaction.read(Self.durability).first { row in
                (row[0] as String, row[1] as String, row[2] as String, row[3] as String)
            }
        }
        return settings ?? ("unknown", "unknown", "unknown", "")
    }

    private func isDurable() throws(StoreError) -> Bool {
        let (fsync, pages, commit, _) = try durabilitySettings()
        return fsync == "on" && pages == "on" && commit != "off"
    }

    package func durability() throws(StoreError) -> String {
        let (fsync, pages, commit, standbys) = try durabilitySettings()
        let isSafe = try isDurable()
        let place = standbys.isEmpty ? "on the disk of the server" : "on the disks of the server and of a standby"
        return isSafe
            ? "\(place) (synchronous_commit=\(commit))"
            : "not durable (fsync=\(fsync), full_page_writes=\(pages), synchronous_commit=\(commit))"
    }

    // MARK: The server

    private static let server = PostgreSQLStatement(
        "server",
        """
        SELECT current_setting('server_version'), current_setting('enable_seqscan') = 'off'
            AND current_setting('plan_cache_mode') = 'force_generic_plan', current_setting('max_connections')::int8,
            (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
        """)
    /// The text of a query is not shown: it may have secrets.
    private static let oldestTransaction = PostgreSQLStatement(
        "oldest-transaction",
        """
        SELECT pid::int8, coalesce(usename, ''), coalesce(application_name, ''),
            extract(epoch FROM clock_timestamp() - xact_start)::int8
        FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
        ORDER BY xact_start LIMIT 1
        """)
    package var statistics: StoreStatistics? { pool.statistics.withLock { $0 } }

    package func oldestTransaction() throws(StoreError) -> Duration? {
        try read { transaction throws(StoreError) in
            try transaction.read(Self.oldestTransaction).first { row in
                Duration.seconds(max(row[3] as Int64, 0))
            }
        }
    }

    private static let longestWait = PostgreSQLStatement(
        "longest-lock-wait",
        """
        SELECT pid::int8, array_to_string(pg_blocking_pids(pid), ', '),
            extract(epoch FROM clock_timestamp() - query_start)::int8
        FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() ORDER BY query_start LIMIT 1
        """)
    private static let unusedSlots = PostgreSQLStatement(
        "unused-slots", "SELECT slot_name::text FROM pg_replication_slots WHERE NOT active ORDER BY slot_name LIMIT 5")
    private static let deadRows = PostgreSQLStatement(
        "dead-rows",
        """
        SELECT relname::text, n_dead_tup FROM pg_stat_user_tables WHERE schemaname = current_schema()
            AND n_dead_tup > 100000 AND n_dead_tup > n_live_tup ORDER BY n_dead_tup DESC LIMIT 5
        """)

    /// Counts up to ``maxInbox``.
    private static let inbox = PostgreSQLStatement(
        "inbox-size",
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM inbox LIMIT 10001) i), (SELECT id FROM inbox ORDER BY number LIMIT 1)
        """)
    private static let maxInbox: Int64 = 10_000

    package func serverFindings() throws(StoreError) -> [ServerFinding] {
        let distance = clock.now() - MachineClock().now()
        let host = try readHost()
        let (isSafe, durability, now) = (try isDurable(), try durability(), clock.now())
        return try read { transaction throws(StoreError) in
            try transaction.pipeline {
                $0.append(Self.server)
                $0.append(Self.oldestTransaction)
                $0.append(Self.longestWait)
                $0.append(Self.unusedSlots)
                $0.append(Self.deadRows)
                $0.append(Self.notVacuumed)
                $0.append(Self.inbox)
            } read: { (results, first) throws(StoreError) in
                var findings: [ServerFinding] = []
                let settings = results.take(first).rows { row in
                    (version: row[0] as String, isSet: row[1] as Bool, max: row[2] as Int64, open: row[3] as Int64)
                }
                for found in settings {
                    findings.append(ServerFinding("server", .ok, "PostgreSQL \(found.version)"))
                    if !found.isSet {
                        findings.append(
                            ServerFinding(
                                "role", .warning,
                                "the sessions lack settings of the store, and statements may be slow: run what “sluice store "
                                    + "grants” prints"))
                    }
                    findings.append(
                        ServerFinding(
                            "connections", found.open * 5 > found.max * 4 ? .warning : .ok,
                            "\(found.open) of \(found.max) are in use"))
                }
                let oldest = results.take(first + 1).rows { row in
                    Self.finding(transactionOf: row[0], user: row[1], application: row[2], seconds: row[3])
                }
                findings += oldest.isEmpty ? [ServerFinding("transactions", .ok, "none is open")] : oldest
                let waits = results.take(first + 2).rows { row in
                    (pid: row[0] as Int64, blockers: row[1] as String, seconds: row[2] as Int64)
                }
                findings += waits.filter { $0.seconds >= 5 }.map {
                    ServerFinding(
                        "locks", .warning,
                        "backend \($0.pid) has waited for \($0.seconds) s for a lock of backend \($0.blockers)")
                }
                findings += results.take(first + 3).rows { row in
                    ServerFinding(
                        "slots", .warning,
                        "the replication slot \(row[0] as String) is not used, and keeps WAL and dead rows: drop it, or start its "
                            + "standby")
                }
                findings += results.take(first + 4).rows { row in
                    ServerFinding(
                        "dead rows", .warning,
                        "the table \(row[0] as String) has \(row[1] as Int64) dead rows: a transaction that is open for long, "
                            + "or autovacuum that is off, keeps them")
                }
                let tables = results.take(first + 5).rows { row in row[0] as String }
                if !tables.isEmpty {
                    findings.append(
                        ServerFinding(
                            "vacuum", .note,
                            "only autovacuum removes dead rows of \(tables.joined(separator: ", ")): make the role of the store "
                                + "the owner of these tables, or from PostgreSQL 17 on grant it MAINTAIN on them"))
                }
                findings.append(
                    ServerFinding(
                        "durability", isSafe ? .ok : .broken,
                        isSafe
                            ? "what is acknowledged is on disk"
                            : "what is acknowledged is \(durability): set these on in postgresql.conf"))
                findings += results.take(first + 6).rows { row in
                    Self.finding(inbox: row[0], oldest: row[1] as CommandID?, now: now)
                }
                let ahead = abs(distance.milliseconds)
                findings.append(
                    ServerFinding(
                        "server clock", ahead > 1000 ? .note : .ok,
                        "\(ahead) ms \(distance < .zero ? "behind" : "ahead of") that of this machine; the server's counts"
                    ))
                if let (host, seen) = host {
                    findings.append(
                        ServerFinding("host", .ok, "\(host.directory) on \(host.name), last seen at \(seen)"))
                }
                return findings
            }
        }
    }

    /// A coordinator takes commands out of the inbox within a second.
    private static func finding(inbox count: Int64, oldest: CommandID?, now: Timestamp) -> ServerFinding {
        guard let oldest, count > 0 else { return ServerFinding("inbox", .ok, "no command waits in it") }
        let number = count > maxInbox ? "more than \(maxInbox)" : "\(count)"
        let waits =
            "\(number) \(count == 1 ? "command of programs waits" : "commands of programs wait") in it since \(oldest.madeAt)"
        guard now - oldest.madeAt > .seconds(10) else { return ServerFinding("inbox", .ok, waits) }
        return ServerFinding("inbox", .warning, "\(waits): start the coordinator, which takes them in (“sluice up”)")
    }

    /// Dead rows stay for as long as a transaction could see them.
    private static func finding(
        transactionOf pid: Int64, user: String, application: String, seconds: Int64
    ) -> ServerFinding {
        let name = application.isEmpty ? user : "\(user), \(application)"
        guard seconds >= 300 else {
            return ServerFinding("transactions", .ok, "the oldest is \(max(seconds, 0)) s old")
        }
        return ServerFinding(
            "transactions", seconds >= 3600 ? .broken : .warning,
            "backend \(pid) (\(name)) has had a transaction open for \(seconds / 60) min, which keeps dead rows: end it, for "
                + "example by pg_terminate_backend(\(pid))")
    }
}
