import Commands
import Foundation
import Glibc
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice up` on a PostgreSQL server behind a proxy that cuts its connections at random bytes, drops answers to COMMIT, and
    /// leaves connections half open, while workers and the server are killed.
    ///
    /// `SLUICE_SERVER_KILLS` sets the number of deaths of the server (default 3), and `SLUICE_SEED` repeats the faults of the
    /// connections.
    @Suite(
        .enabled(if: runsSlowTests, "slow"), .enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
    struct ServerTortureTests {
        private static let kills = ProcessInfo.processInfo.environment["SLUICE_SERVER_KILLS"].flatMap(Int.init) ?? 3

        /// Every connection breaks: one without a fault would stay, and end the faults.
        private static func proxy(to server: PostgreSQLServer, seed: UInt64) throws -> ServerProxy {
            try ServerProxy(to: .loopback(port: server.port)) { number in
                var random = SeededRandom(seed: seed &+ UInt64(number))
                return .randomWithoutHeldLocks(maxBytes: 500_000, using: &random)
            }
        }

        @Test func `faults of server, connections and workers lose no command and run none twice`() async throws {
            var random = SeededRandom.announced("faults of a server")
            let rounds = TortureRounds()
            let server = try await PostgreSQLServer(["fsync": "on"])
            let proxy = try Self.proxy(to: server, seed: random.next())
            try await stopping(proxy, server) {
                let serverStore = try await ServerStore(server)
                try await Installation.with(store: serverStore) { installation in
                    let receiver = try await installation.receiver()
                    let url = server.url(port: proxy.port) + "?sslmode=disable&schema=\(serverStore.schema)"
                    let up = try await installation.up(workers: 3, environment: ["SLUICE_STORE": url])
                    var deaths = 0
                    for number in 0..<Self.kills * 3 {
                        try await rounds.submit(number, of: installation, to: receiver.origin, &random)
                        if number % 3 == 2 {
                            try await server.crash()
                        } else if let worker = try await installation.workers().randomElement(using: &random) {
                            kill(worker, SIGKILL)
                            deaths += 1
                        }
                    }
                    let store = try installation.store()
                    try await installation.drained(store, within: .seconds(300))
                    kill(up.pid, SIGTERM)
                    #expect(try await up.end(within: .seconds(60)) == .exited(0))
                    var checker = TortureChecker(
                        store: store, ledger: rounds.ledger, requests: receiver.requests, runs: [],
                        clock: [.init(since: Timestamp(milliseconds: 0), offset: .zero)], restores: [])
                    try checker.run()
                    print(
                        "faults of a server: \(Self.kills) deaths of the server, \(deaths) of workers, \(proxy.faulty.count) "
                            + "connections, \(rounds.ledger.entries.count) acknowledged, endings \(checker.endings)")
                    for violation in checker.violations.prefix(20) { print("violation: \(violation)") }
                    #expect(checker.violations.isEmpty, "printed above")
                    #expect(deaths > 0 && !proxy.faulty.isEmpty)
                    #expect(!installation.logs.contains(server.password))
                }
            }
        }
    }
}
