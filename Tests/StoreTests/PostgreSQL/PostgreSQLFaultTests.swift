import Host
import TestSupport
import Testing

@testable import Store

/// Connections that break, by way of a ``ServerProxy``.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
struct PostgreSQLFaultTests {
    private static let insert = PostgreSQLStatement("insert entry", "INSERT INTO entry VALUES ($1)")

    /// Runs `body` with a proxy to a database of its own, which has the table `entry`.
    private func database(
        _ fault: @escaping @Sendable (Int) -> ProxyFault? = { _ in nil },
        _ body: (PostgreSQLRig, ServerProxy, _ database: String) async throws -> Void
    ) async throws {
        let rig = try await PostgreSQLRig()
        let database = "fault_\(UInt32.random(in: 0 ... .max))"
        try await rig.connected { connection in _ = try connection.run("CREATE DATABASE \(database)") }
        try await rig.connected(rig.server.socketURL(database: database)) { connection in
            _ = try connection.run("CREATE TABLE entry (number int8 PRIMARY KEY)")
        }
        let proxy = try ServerProxy(to: .loopback(port: rig.server.port), fault: fault)
        try await stopping(proxy) { try await body(rig, proxy, database) }
        try await rig.connected { connection in _ = try connection.run("DROP DATABASE \(database) WITH (FORCE)") }
    }

    private func always(_ fault: ProxyFault) -> @Sendable (Int) -> ProxyFault? { { _ in fault } }

    private func url(_ rig: PostgreSQLRig, _ proxy: ServerProxy, _ database: String) -> String {
        rig.server.url(database: database, port: proxy.port) + "?sslmode=disable"
    }

    private func numbers(_ rig: PostgreSQLRig, _ database: String) async throws -> [Int64] {
        try await rig.connected(rig.server.socketURL(database: database)) { connection in
            try connection.numbers(of: "entry")
        }
    }

    @Test(arguments: [ProxyFault.Action.close, .reset])
    func `a connection cut between COMMIT and its answer has an unknown outcome`(
        _ action: ProxyFault.Action
    ) async throws {
        try await database(always(ProxyFault(action, .commitAnswer))) { rig, proxy, database in
            let (error, isOpen, next) = try await rig.connected(url(rig, proxy, database)) { connection in
                let error = try connection.error { connection throws(PostgreSQLError) in
                    try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                        _ = try connection.execute(Self.insert, Int64(1), deadline: .soon)
                    }
                }
                let isOpen = connection.isOpen
                let next = try connection.error { connection throws(PostgreSQLError) in
                    _ = try connection.execute(Self.insert, Int64(2), deadline: .soon)
                }
                return (error, isOpen, next)
            }
            #expect(error.isOutcomeUnknown && error.recovery == .reconnect && error.code == .unknown)
            #expect(!isOpen && !next.isOutcomeUnknown && next.recovery == .reconnect)
            #expect(proxy.faulty == [0])
            // The proxy has seen the answer, so the row is there.
            #expect(try await numbers(rig, database) == [1])
        }
    }

    @Test func `a connection cut before COMMIT was sent has a known outcome`() async throws {
        try await database { rig, proxy, database in
            let error = try await rig.connected(url(rig, proxy, database)) { connection in
                try connection.error { connection throws(PostgreSQLError) in
                    try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                        _ = try connection.execute(Self.insert, Int64(1), deadline: .soon)
                        proxy.breakConnections(.close)
                        _ = try connection.execute(PostgreSQLStatement(once: "SELECT pg_sleep(60)"), deadline: .soon)
                    }
                }
            }
            #expect(!error.isOutcomeUnknown && error.recovery == .reconnect)
            #expect(try await numbers(rig, database).isEmpty)
        }
    }

    @Test func `a statement outside of a transaction whose answer is cut has an unknown outcome`() async throws {
        try await database { rig, proxy, database in
            let error = try await rig.connected(url(rig, proxy, database)) { connection in
                let slow = PostgreSQLStatement("slow", "INSERT INTO entry SELECT $1 FROM pg_sleep(0.05)")
                _ = try connection.execute(slow, Int64(1), deadline: .soon)
                proxy.breakConnections(.reset)
                return try connection.error { connection throws(PostgreSQLError) in
                    _ = try connection.execute(slow, Int64(2), deadline: .soon)
                }
            }
            #expect(error.isOutcomeUnknown && error.recovery == .reconnect)
            #expect(try await numbers(rig, database).contains(1))
        }
    }

    @Test func `a half-open connection ends at the deadline with an unknown outcome`() async throws {
        try await database(always(ProxyFault(.halfOpen, .commitAnswer))) { rig, proxy, database in
            let (error, taken) = try await rig.connected(url(rig, proxy, database)) { connection in
                let start = MonotonicTime.now
                let error = try connection.error { connection throws(PostgreSQLError) in
                    try connection.transaction(deadline: .now + .milliseconds(500)) {
                        connection throws(PostgreSQLError) in
                        _ = try connection.execute(Self.insert, Int64(1), deadline: .soon)
                    }
                }
                return (error, MonotonicTime.now - start)
            }
            #expect(error.isOutcomeUnknown && error.storeError.message.contains("not answered in time"))
            #expect(taken >= .milliseconds(500))
            #expect(proxy.faulty == [0])
            #expect(try await numbers(rig, database) == [1])
        }
    }

    @Test func `a read whose deadline passes closes the connection`() async throws {
        let (error, isOpen) = try await PostgreSQLRig().connected { connection in
            let error = try connection.error { connection throws(PostgreSQLError) in
                let sleep = PostgreSQLStatement(once: "SELECT pg_sleep(60)")
                _ = try connection.execute(sleep, deadline: .now + .milliseconds(20))
            }
            return (error, connection.isOpen)
        }
        #expect(error.recovery == .reconnect && error.code == .unknown && !isOpen)
    }

    @Test func `a server that ends the connection is told from one that has failed a statement`() async throws {
        let rig = try await PostgreSQLRig()
        let (error, isOpen) = try await rig.connected { connection in
            let pid = connection.backendPID
            let error = try connection.error { connection throws(PostgreSQLError) in
                try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                    let end = PostgreSQLStatement(once: "SELECT pg_terminate_backend($1), pg_sleep(60)")
                    _ = try connection.execute(end, pid, deadline: .soon)
                }
            }
            return (error, connection.isOpen)
        }
        #expect(error.sqlState?.text == "57P01" && error.recovery == .reconnect && !error.isOutcomeUnknown)
        #expect(!isOpen)
    }

    @Test func `a call after its deadline sends nothing and leaves the connection open`() async throws {
        let (error, read) = try await PostgreSQLRig().connected { connection in
            let error = try connection.error { connection throws(PostgreSQLError) in
                _ = try connection.execute(PostgreSQLStatement(once: "SELECT 1"), deadline: .now)
            }
            return (error, try connection.run("SELECT 2::int8").first { row in row[0] as Int })
        }
        #expect(error.code == .busy && error.recovery == .repeatTransaction && !error.isOutcomeUnknown)
        #expect(read == 2)
    }

    /// The server commits, then waits for a standby that never comes, and ends the connection without an answer.
    @Test func `a commit that is ended while it waits for a standby has an unknown outcome`() async throws {
        let server = try await PostgreSQLServer(["synchronous_standby_names": "absent"])
        try await stopping(server) {
            let local = server.socketURL() + "&options=-c%20synchronous_commit%3Dlocal"
            let rig = PostgreSQLRig(server: server)
            try await rig.connected(local) { connection in
                _ = try connection.run("CREATE TABLE entry (number int8 PRIMARY KEY)")
            }
            async let waiting = rig.connected { connection in
                try connection.error { connection throws(PostgreSQLError) in
                    try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                        _ = try connection.commit(deadline: .soon) { $0.append(Self.insert, Int64(1)) }
                    }
                }
            }
            try await until("the commit to wait for a standby") {
                try await rig.connected(local) { connection in
                    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                    return try connection.run(sql).count == 1
                }
            }
            let error = try await waiting
            #expect(error.isOutcomeUnknown && error.recovery == .reconnect)
            #expect(try await rig.connected(local) { connection in try connection.numbers(of: "entry") } == [1])
        }
    }

    /// As a primary that was demoted and keeps its connections.
    @Test func `a server that has become read-only is left for another one`() async throws {
        let (error, isOpen) = try await PostgreSQLRig().connected { connection in
            try connection.run("SET default_transaction_read_only = on")
            let error = try connection.error { connection throws(PostgreSQLError) in
                try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                    let create = PostgreSQLStatement(once: "CREATE TABLE written (number int8)")
                    _ = try connection.commit(deadline: .soon) { $0.append(create) }
                }
            }
            return (error, connection.isOpen)
        }
        #expect(error.sqlState?.text == "25006" && error.recovery == .reconnect && error.code == .unreachable)
        #expect(!isOpen && !error.isOutcomeUnknown)
    }

    @Test func `added latency changes nothing but the time`() async throws {
        try await database(always(ProxyFault(.delay(.milliseconds(20)), .bytes(0, .toClient)))) {
            rig, proxy, database in
            let taken = try await rig.connected(url(rig, proxy, database)) { connection in
                let start = MonotonicTime.now
                try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                    _ = try connection.commit(deadline: .soon) { pipeline in
                        for number in 0..<100 { pipeline.append(Self.insert, Int64(number)) }
                    }
                }
                return MonotonicTime.now - start
            }
            #expect(taken >= .milliseconds(20))
            #expect(try await numbers(rig, database).count == 100)
        }
    }

    /// A committed row is there, a failed one is not, and an unknown one may be either.
    @Test func `random faults lose no committed row and commit no failed one`() async throws {
        let random = SeededRandom.announced("faults of a connection")
        let faults: @Sendable (Int) -> ProxyFault? = { number in
            var random = SeededRandom(seed: random.seed &+ UInt64(number))
            return .random(maxBytes: 3_000, using: &random)
        }
        try await database(faults) { rig, proxy, database in
            var (committed, failed, unknown): (Set<Int64>, Set<Int64>, Set<Int64>) = ([], [], [])
            var number: Int64 = 0
            for _ in RandomRounds("faults of a connection", 12...60, within: .seconds(2)) {
                let first = number
                let outcomes = try await rig.outcomes(url(rig, proxy, database), Self.insert, from: first, max: 20)
                number += Int64(outcomes.count)
                for (index, outcome) in outcomes.enumerated() {
                    switch outcome {
                    case nil: committed.insert(first + Int64(index))
                    case let error? where error.isOutcomeUnknown: unknown.insert(first + Int64(index))
                    default: failed.insert(first + Int64(index))
                    }
                }
            }
            let rows = Set(try await numbers(rig, database))
            print(
                "faults of a connection: \(committed.count) committed, \(failed.count) failed, \(unknown.count) unknown"
            )
            #expect(committed.isSubset(of: rows))
            #expect(rows.isDisjoint(with: failed))
            #expect(rows.subtracting(committed).isSubset(of: unknown))
        }
    }
}

extension PostgreSQLRig {
    /// Inserts numbers, each in a transaction, until the connection breaks.
    /// - Returns: the error of each number; empty where no connection could be opened.
    func outcomes(
        _ url: String, _ insert: PostgreSQLStatement, from first: Int64, max: Int
    ) async throws -> [PostgreSQLError?] {
        let location = try PostgreSQLLocation(url + "&connect_timeout=2")
        return await BlockingPool.shared.run {
            guard var connection = try? PostgreSQLConnection.open(location, deadline: .now + .milliseconds(300)) else {
                return []
            }
            var outcomes: [PostgreSQLError?] = []
            while connection.isOpen, outcomes.count < max {
                let number = first + Int64(outcomes.count)
                do throws(PostgreSQLError) {
                    let deadline = MonotonicTime.now + .milliseconds(300)
                    try connection.transaction(deadline: deadline) { connection throws(PostgreSQLError) in
                        // In one round trip, or in three.
                        if number % 2 == 0 {
                            _ = try connection.commit(deadline: deadline) { $0.append(insert, number) }
                        } else {
                            _ = try connection.execute(insert, number, deadline: deadline)
                            _ = try connection.execute(PostgreSQLStatement("read", "SELECT 1"), deadline: deadline)
                        }
                    }
                    outcomes.append(nil)
                } catch {
                    outcomes.append(error)
                }
            }
            return outcomes
        }
    }
}
