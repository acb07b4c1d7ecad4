import Host
import TestSupport
import Testing

@testable import Store

@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
struct PostgreSQLPipelineTests {
    private static let select = PostgreSQLStatement("select", "SELECT $1::int8")
    private static let fail = PostgreSQLStatement("divide", "SELECT 1 / $1::int4")

    /// A connection with a table of its own, which it drops at its end.
    private func table<Value: Sendable>(
        _ body: @escaping @Sendable (inout PostgreSQLConnection, PostgreSQLStatement) throws -> Value
    ) async throws -> Value {
        try await PostgreSQLRig().connected { connection in
            try connection.run("CREATE TEMPORARY TABLE entry (number int8 PRIMARY KEY)")
            return try body(&connection, PostgreSQLStatement("insert", "INSERT INTO entry VALUES ($1)"))
        }
    }

    @Test func `results come in the order of their statements`() async throws {
        let read = try await PostgreSQLRig().connected { connection in
            var results = try connection.pipeline(deadline: .soon) { pipeline in
                for number in 0..<1_000 { pipeline.append(Self.select, Int64(number)) }
            }
            return (0..<1_000).map { results.take($0).first { row in row[0] as Int } }
        }
        #expect(read == Array(0..<1_000))
    }

    @Test func `a pipeline larger than all buffers does not stop`() async throws {
        let payload = sample(1 << 18)
        let sizes = try await PostgreSQLRig().connected { connection in
            let echo = PostgreSQLStatement("echo", "SELECT $1::bytea")
            var results = try connection.pipeline(deadline: .soon) { pipeline in
                for _ in 0..<40 { pipeline.append(echo, payload) }
            }
            return (0..<40).map { results.take($0).first { row in row.withBytes(0) { $0?.count } } }
        }
        #expect(sizes == Array(repeating: 1 << 18, count: 40))
    }

    @Test func `an error in the middle of a pipeline fails the rest, and the connection stays usable`() async throws {
        let (error, rows, again) = try await table { connection, insert in
            let error = try connection.error { connection throws(PostgreSQLError) in
                _ = try connection.pipeline(deadline: .soon) { pipeline in
                    pipeline.append(insert, Int64(1))
                    pipeline.append(Self.fail, Int32(0))
                    pipeline.append(insert, Int64(2))
                    pipeline.append(Self.select, Int64(3))
                }
            }
            let rows = try connection.numbers(of: "entry")
            // Prepared behind the error, so not prepared.
            let again = try connection.execute(Self.select, Int64(4), deadline: .soon).first { row in row[0] as Int }
            return (error, rows, again)
        }
        #expect(error.sqlState?.text == "22012" && error.statement == "divide" && error.recovery == .none)
        #expect(!error.isOutcomeUnknown)
        #expect(rows.isEmpty && again == 4)
    }

    @Test func `a statement that cannot be prepared is prepared at its next use`() async throws {
        let (error, read) = try await PostgreSQLRig().connected { connection in
            let statement = PostgreSQLStatement("late", "SELECT count(*) FROM late_table")
            let error = try connection.error { connection throws(PostgreSQLError) in
                _ = try connection.execute(statement, deadline: .soon)
            }
            try connection.run("CREATE TEMPORARY TABLE late_table ()")
            return (error, try connection.execute(statement, deadline: .soon).first { row in row[0] as Int })
        }
        #expect(error.code == .missing && error.sqlState?.text == "42P01")
        #expect(read == 0)
    }

    @Test func `a statement is prepared once on a connection`() async throws {
        let count = try await PostgreSQLRig().connected { connection in
            for number in 0..<5 {
                _ = try connection.pipeline(deadline: .soon) { pipeline in
                    pipeline.append(Self.select, Int64(number))
                    pipeline.append(Self.select, Int64(number))
                }
            }
            return try connection.run("SELECT count(*) FROM pg_prepared_statements WHERE name = 'select'")
                .first { row in row[0] as Int }
        }
        #expect(count == 1)
    }

    @Test func `an empty pipeline has no results`() async throws {
        let count = try await PostgreSQLRig().connected { connection in
            try connection.pipeline(deadline: .soon) { _ in }.count
        }
        #expect(count == 0)
    }

    // MARK: Transactions

    @Test func `a transaction in one round trip and one in several are committed`() async throws {
        let (rows, first) = try await table { connection, insert in
            let first = try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                var results = try connection.commit(deadline: .soon) { pipeline in
                    pipeline.append(insert, Int64(1))
                    pipeline.append(Self.select, Int64(9))
                }
                return results.take(1).first { row in row[0] as Int }
            }
            try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                _ = try connection.execute(insert, Int64(2), deadline: .soon)
                _ = try connection.execute(insert, Int64(3), deadline: .soon)
            }
            try connection.transaction(deadline: .soon) { _ throws(PostgreSQLError) in }
            return (try connection.numbers(of: "entry"), first)
        }
        #expect(rows == [1, 2, 3] && first == 9)
    }

    @Test func `a transaction that fails is rolled back, and another one runs`() async throws {
        let (errors, rows) = try await table { connection, insert in
            var errors: [PostgreSQLError] = []
            errors.append(
                try connection.error { connection throws(PostgreSQLError) in
                    try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                        _ = try connection.execute(insert, Int64(1), deadline: .soon)
                        _ = try connection.commit(deadline: .soon) { pipeline in
                            pipeline.append(Self.fail, Int32(0))
                        }
                    }
                })
            errors.append(
                try connection.error { connection throws(PostgreSQLError) in
                    try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                        _ = try connection.execute(insert, Int64(2), deadline: .soon)
                        throw PostgreSQLError(StoreError(.conflict, "The key is taken."))
                    }
                })
            try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                _ = try connection.execute(insert, Int64(3), deadline: .soon)
            }
            return (errors, try connection.numbers(of: "entry"))
        }
        #expect(errors.map(\.code) == [.failed, .conflict])
        #expect(errors[1].storeError.message == "The key is taken.")
        #expect(rows == [3])
    }

    @Test func `a failed transaction whose error was dropped is not taken for committed`() async throws {
        let (error, rows) = try await table { connection, insert in
            let error = try connection.error { connection throws(PostgreSQLError) in
                try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                    _ = try connection.execute(insert, Int64(1), deadline: .soon)
                    _ = try? connection.execute(Self.fail, Int32(0), deadline: .soon)
                }
            }
            return (error, try connection.numbers(of: "entry"))
        }
        #expect(error.code == .failed && rows.isEmpty)
    }

    /// A constraint that is checked at the end of the transaction.
    @Test func `a commit that the server refuses ends the transaction without a word`() async throws {
        let rig = try await PostgreSQLRig()
        let location = try PostgreSQLLocation(rig.server.socketURL())
        let notices = Shared(0)
        let (error, rows) = try await BlockingPool.shared.run { () throws(any Error) in
            var connection = try PostgreSQLConnection.open(location, deadline: .soon) { _ in notices.change { $0 += 1 }
            }
            try connection.run("CREATE TEMPORARY TABLE late (number int8 UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            let insert = PostgreSQLStatement("late", "INSERT INTO late VALUES ($1)")
            let error = try connection.error { connection throws(PostgreSQLError) in
                try connection.transaction(deadline: .soon) { connection throws(PostgreSQLError) in
                    _ = try connection.commit(deadline: .soon) { pipeline in
                        for _ in 0..<2 { pipeline.append(insert, Int64(1)) }
                    }
                }
            }
            return (error, try connection.numbers(of: "late"))
        }
        #expect(error.sqlState?.text == "23505" && error.constraint == "late_number_key" && error.statement == "commit")
        #expect(!error.isOutcomeUnknown && rows.isEmpty && notices.value == 0)
    }

    @Test func `a statement that the server ends after its timeout can be repeated`() async throws {
        let error = try await PostgreSQLRig().connected { connection in
            try connection.run("SET statement_timeout = 10")
            return try connection.error { connection throws(PostgreSQLError) in
                _ = try connection.execute(PostgreSQLStatement(once: "SELECT pg_sleep(60)"), deadline: .soon)
            }
        }
        #expect(error.sqlState?.text == "57014" && error.recovery == .repeatTransaction && error.code == .busy)
    }

    @Test func `the locks of a failed transaction are free at once`() async throws {
        let rig = try await PostgreSQLRig()
        let first = try await rig.connected { first in
            try first.run("CREATE TABLE lock_row AS SELECT 1 AS number")
            let error = try first.error { first throws(PostgreSQLError) in
                try first.transaction(deadline: .soon) { first throws(PostgreSQLError) in
                    _ = try first.execute(
                        PostgreSQLStatement("lock", "SELECT * FROM lock_row FOR UPDATE"), deadline: .soon)
                    _ = try first.execute(Self.fail, Int32(0), deadline: .soon)
                }
            }
            var second = try PostgreSQLConnection.open(PostgreSQLLocation(rig.server.socketURL()), deadline: .soon)
            let nowait = PostgreSQLStatement(once: "SELECT * FROM lock_row FOR UPDATE NOWAIT")
            let count = try second.execute(nowait, deadline: .soon).count
            try second.run("DROP TABLE lock_row")
            return (error.code, count, first.isOpen)
        }
        #expect(first == (.failed, 1, true))
    }

    @Test func `notices go to the receiver of a connection`() async throws {
        let rig = try await PostgreSQLRig()
        let location = try PostgreSQLLocation(rig.server.socketURL())
        let received = Shared<[ServerReport]>([])
        try await BlockingPool.shared.run { () throws(any Error) in
            var connection = try PostgreSQLConnection.open(location, deadline: .soon) { report in
                received.change { $0.append(report) }
            }
            try connection.run("DROP TABLE IF EXISTS missing_table")
            try connection.run("DO $$ BEGIN RAISE WARNING 'attention %', 7; END $$")
        }
        #expect(received.value.map(\.severity) == [.notice, .warning])
        #expect(received.value.last?.message == "attention 7")
    }
}
