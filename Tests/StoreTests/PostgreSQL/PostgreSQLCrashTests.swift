import Commands
import Foundation
import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Servers that die under load. The ledger decides: nothing that was acknowledged is lost, and nothing is done twice.
///
/// `SLUICE_SERVER_KILLS` sets the number of deaths (default 3).
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .serialized)
struct PostgreSQLCrashTests {
    private static let kills = ProcessInfo.processInfo.environment["SLUICE_SERVER_KILLS"].flatMap(Int.init) ?? 3

    /// Runs `body` under load, then compares the store with the ledger.
    /// - Parameters:
    ///   - url: of the store for the programs.
    ///   - check: of the store for the comparison, after `body`.
    private func underLoad(
        _ url: String, checkedBy check: String, _ body: (LedgerLoad) async throws -> Void
    ) async throws {
        let load = try await BlockingPool.shared.run { () throws(any Error) in
            try LedgerLoad(programs: 4) { try PostgreSQLStore(url: url) }
        }
        do {
            try await body(load)
        } catch {
            await load.finish()
            print("ledger: \(load.summary)")
            throw error
        }
        await load.finish()
        print("ledger: \(load.summary)")
        let differences = try await BlockingPool.shared.run { () throws(any Error) in
            try load.differences(from: PostgreSQLStore(url: check))
        }
        #expect(differences.isEmpty, "\(differences.count): \(differences.prefix(10).joined(separator: "; "))")
        #expect(load.ended > 100)
    }

    private func create(_ url: String) async throws {
        try await BlockingPool.shared.run { () throws(any Error) in
            try PostgreSQLStore.create(url: url, shardCount: 8)
        }
    }

    /// Waits for a number of further ends.
    private func progress(_ count: Int, of load: LedgerLoad) async throws {
        let before = load.ended
        try await until("\(count) further ends", within: .seconds(60)) { load.ended >= before + count }
    }

    @Test func `a server that is killed under load loses nothing and does nothing twice`() async throws {
        let server = try await PostgreSQLServer()
        try await stopping(server) {
            try await create(server.socketURL())
            try await underLoad(server.socketURL(), checkedBy: server.socketURL()) { load in
                for _ in 0..<Self.kills {
                    try await progress(100, of: load)
                    try await server.crash()
                }
                try await progress(100, of: load)
            }
        }
    }

    @Test func `the promotion of a synchronous standby loses nothing, and work goes on within a second`() async throws {
        let primary = try await PostgreSQLServer()
        let standby = try await PostgreSQLServer(standbyOf: primary)
        try await stopping(standby) {
            let rig = PostgreSQLRig(server: primary)
            try await create(primary.socketURL())
            try await rig.connected { connection in
                try connection.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
                try connection.run("SELECT pg_reload_conf()")
            }
            try await until("a synchronous standby") {
                try await rig.connected { connection in
                    try connection.run("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").count == 1
                }
            }
            let url =
                "postgres://\(primary.user):\(primary.password)@127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)"
                + "/postgres?target_session_attrs=read-write"
            let back = Mutex<Duration?>(nil)
            try await underLoad(url, checkedBy: standby.socketURL()) { load in
                try await progress(200, of: load)
                try await primary.destroy()
                let promoted = try await PostgreSQLRig(server: standby).connected(standby.standbyURL) { connection in
                    try connection.run("SELECT pg_promote(false)")
                    let mode = PostgreSQLStatement("mode", "SELECT pg_is_in_recovery()")
                    while try connection.execute(mode, deadline: .soon).first({ row in row[0] as Bool }) == true {
                        usleep(1000)
                    }
                    return MonotonicTime.now
                }
                try await until("a commit on the new primary", within: .seconds(30)) {
                    load.lastCommit.map { $0 > promoted } ?? false
                }
                back.withLock { $0 = load.lastCommit.map { $0 - promoted } }
                try await progress(200, of: load)
            }
            let time = back.withLock { $0 } ?? .zero
            print("promotion: the first commit came \(time.milliseconds) ms after the standby took writes")
            #expect(time < .seconds(1))
        }
    }

    /// Cuts after random numbers of bytes, answers to COMMIT that never come, and connections that lose every packet.
    @Test func `random faults of connections lose nothing and do nothing twice`() async throws {
        var random = SeededRandom.announced("faults under load")
        let seed = random.next()
        let server = try await PostgreSQLServer.shared()
        let schema = "faults_\(UInt32.random(in: 0 ... .max))"
        let direct = "\(server.socketURL())&schema=\(schema)"
        try await create(direct)
        let isFaulty = Atomic(false)
        let proxy = try ServerProxy(to: .loopback(port: server.port)) { number in
            // A connection without a fault would stay, and end the faults.
            guard isFaulty.load(ordering: .relaxed) else { return nil }
            var random = SeededRandom(seed: seed &+ UInt64(number))
            return .randomWithoutHeldLocks(maxBytes: 30_000, using: &random)
        }
        try await stopping(proxy) {
            let url = server.url(port: proxy.port) + "?sslmode=disable&schema=\(schema)"
            try await underLoad(url, checkedBy: direct) { load in
                isFaulty.store(true, ordering: .relaxed)
                proxy.breakConnections(.reset)
                try await until("\(10 * Self.kills) faults", within: .seconds(120 + 10 * Self.kills)) {
                    proxy.faulty.count >= 10 * Self.kills
                }
                isFaulty.store(false, ordering: .relaxed)
                proxy.breakConnections(.reset)
            }
            print("faults under load: \(proxy.faulty.count) of \(proxy.accepted) connections")
        }
        try await BlockingPool.shared.run { () throws(any Error) in try PostgreSQLStore.remove(url: direct) }
    }

    @Test func `an error says since when a server is away, until it is back`() async throws {
        let server = try await PostgreSQLServer.shared()
        let schema = "away_\(UInt32.random(in: 0 ... .max))"
        let direct = "\(server.socketURL())&schema=\(schema)"
        try await create(direct)
        let directory = try TemporaryDirectory("away")
        defer { directory.remove() }
        let data = DataDirectory(path: directory.path)
        let error = StoreError(.unreachable, "The server is away.")
        func proxy(at address: ServerProxy.Address?) throws -> ServerProxy {
            try ServerProxy(to: .loopback(port: server.port), at: address)
        }
        let first = try proxy(at: nil)
        let url = server.url(port: first.port) + "?sslmode=disable&schema=\(schema)"
        let store = try await BlockingPool.shared.run { () throws(any Error) in
            try data.prepare()
            let store = try PostgreSQLStore(url: url)
            try store.bind(to: data, begins: true)
            return store
        }
        #expect(error.withAbsence(notedIn: data) == error)
        let before = Timestamp.now
        await first.stop()
        let code = await BlockingPool.shared.run {
            do throws(StoreError) {
                _ = try store.read(timeout: .milliseconds(300)) { transaction throws(StoreError) in
                    try transaction.setting("none")
                }
                return StoreError.Code?.none
            } catch {
                return error.code
            }
        }
        #expect(code == .unreachable)
        let said = error.withAbsence(notedIn: data).message
        #expect(said.contains("have not reached it since \("\(before)".prefix(13))"), "\(said)")
        let second = try proxy(at: first.address)
        try await stopping(second) {
            try await BlockingPool.shared.run { () throws(any Error) in _ = try store.counts() }
            #expect(error.withAbsence(notedIn: data) == error)
        }
        try await BlockingPool.shared.run { () throws(any Error) in try PostgreSQLStore.remove(url: direct) }
    }
}
