import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// A schema with the tables of a store, on the server of this process.
final class PostgreSQLTestSchema: Sendable {
    let name: String
    let url: String

    /// - Throws: where no suite with the trait ``Testing/Trait/postgreSQLServer`` is running.
    init(shardCount: Int) throws {
        guard let server = PostgreSQLServerTrait.running.withLock({ $0 }) else {
            throw Missed("the suite lacks the trait .postgreSQLServer, which starts the server")
        }
        name = "store_\(UInt64.random(in: 0 ... .max))"
        url = server.socketURL()
        try PostgreSQLStore.create(url: url, schema: name, shardCount: shardCount)
    }

    func remove() {
        guard let location = try? PostgreSQLLocation(url),
            var connection = try? PostgreSQLConnection.open(location, deadline: .soon)
        else { return }
        _ = try? connection.run("DROP SCHEMA \(name) CASCADE")
    }
}

/// Starts the server of this process before the tests of a suite, where PostgreSQL is installed.
struct PostgreSQLServerTrait: SuiteTrait, TestTrait, TestScoping {
    static let running = Mutex<PostgreSQLServer?>(nil)

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if PostgreSQLServer.isInstalled {
            let server = try await PostgreSQLServer.shared()
            Self.running.withLock { $0 = server }
        }
        try await function()
    }
}

extension Trait where Self == PostgreSQLServerTrait {
    /// Tests of the suite may use ``PostgreSQLTestSchema``.
    static var postgreSQLServer: Self { PostgreSQLServerTrait() }
}
