import Foundation
import Host
import Store
import TestSupport

/// The store of an installation in a schema of its own, on a PostgreSQL server that syncs its files.
///
/// Where `SLUICE_TEST_STORE` is `postgres`, every installation has one.
struct ServerStore: Sendable {
    /// By way of a Unix socket, without a password.
    let url: String
    let server: PostgreSQLServer
    let schema: String

    static var isAsked: Bool { ProcessInfo.processInfo.environment["SLUICE_TEST_STORE"] == "postgres" }

    private actor Servers {
        static let shared = Servers()
        private var starting: Task<PostgreSQLServer, any Error>?

        func server() async throws -> PostgreSQLServer {
            let task =
                starting
                ?? Task { try await PostgreSQLServer(["fsync": "on", "max_connections": "100", "autovacuum": "on"]) }
            starting = task
            return try await task.value
        }
    }

    /// - Parameter shards: of the store; 0: the schema has no store.
    init(shards: Int = 8) async throws {
        try await self.init(Servers.shared.server(), shards: shards)
    }

    init(_ server: PostgreSQLServer, shards: Int = 8) async throws {
        let schema = "store_\(UInt64.random(in: 0 ... .max))"
        let url = "\(server.socketURL())&schema=\(schema)"
        (self.server, self.schema, self.url) = (server, schema, url)
        guard shards > 0 else { return }
        try await BlockingPool.shared.run { () throws(any Error) in
            try PostgreSQLStore.create(url: url, shardCount: shards)
        }
    }

    private init(_ url: String, _ server: PostgreSQLServer, _ schema: String) {
        (self.url, self.server, self.schema) = (url, server, schema)
    }

    /// The same store by way of a proxy, with a password.
    /// - Parameter port: of the proxy, on 127.0.0.1.
    func through(port: Int) -> ServerStore {
        ServerStore("\(server.url(port: port))?sslmode=disable&schema=\(schema)", server, schema)
    }

    func remove() { try? PostgreSQLStore.remove(url: url) }
}
