import Commands
import Host
import TestSupport
import Testing

@testable import Store

extension EndToEndTests {
    @Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
    struct IdleServerTests {
        /// Of the whole server, with this one.
        private static func transactions(_ store: ServerStore) async throws -> Int {
            try await BlockingPool.shared.run { () throws(any Error) in
                let location = try PostgreSQLLocation(store.server.socketURL())
                var connection = try PostgreSQLConnection.open(location, deadline: .now + .seconds(60))
                let sum = PostgreSQLStatement(once: "SELECT sum(xact_commit)::int8 FROM pg_stat_database")
                return try connection.execute(sum, deadline: .now + .seconds(60)).first { row in row[0] as Int } ?? 0
            }
        }

        /// Each reading of all shards is one statement, so that the number of shards does not count.
        @Test func `an idle installation with a door asks its server a few times a second`() async throws {
            let store = try await ServerStore(shards: 64)
            try await Installation.with(store: store) { installation in
                _ = try await installation.up(workers: 2, "--listen", "127.0.0.1:\(freePort())")
                var counts = [try await Self.transactions(store)]
                for _ in 1...4 {
                    try await Task.sleep(for: .seconds(8))
                    counts.append(try await Self.transactions(store))
                }
                let intervals = zip(counts.dropFirst(), counts).map { $0 - $1 }
                print("transactions of an idle installation in intervals of 8 s: \(intervals)")
                // The first ones have the start of the processes. A busy machine asks less in the others.
                let count = try #require(intervals.min())
                #expect(count > 0 && count <= 8 * 12)
            }
        }
    }
}
