import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A store on a PostgreSQL server, by the command line.
    @Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
    struct ServerStoreTests {
        @Test func `a store is made, works, and belongs to one data directory`() async throws {
            let empty = try await ServerStore(shards: 0)
            try await Installation.with(store: empty) { installation in
                let missing = try await installation.sluice("up")
                #expect(missing.code == 66 && missing.errors.contains("sluice store create"), "\(missing)")
                let created = try await installation.sluice(
                    "store", "create", empty.url, "--shards", "4", "--role", "app")
                #expect(
                    created.code == 0 && created.output.contains("GRANT USAGE ON SCHEMA \(empty.schema) TO \"app\";"))
                let again = try await installation.sluice("store", "create", empty.url)
                #expect(again.code == 65 && again.errors.contains("already exists"), "\(again)")

                let up = try await installation.up(workers: 2)
                let ids = try await installation.sluice(
                    "submit", "noop", "-", input: .init(repeating: "{\"payload\":{}}\n", count: 500)
                ).ids
                let store = try installation.store()
                #expect(ids.count == 500)
                try await installation.drained(store)
                #expect(try store.counts()[.success] == 500)
                let status = try await installation.sluice("status")
                #expect(status.lines.first?.hasPrefix("store        postgres://") == true, "\(status.output)")
                let health = try await installation.sluice("doctor")
                #expect(health.code == 0, "\(health)")
                for check in ["server", "connections", "transactions", "durability", "server clock", "host", "shards"] {
                    #expect(
                        health.lines.count { $0.hasPrefix("ok") && $0.dropFirst(8).hasPrefix(check) } >= 1, "\(check)")
                }
                let backup = try await installation.sluice("backup", "\(installation.directory.path)/backup")
                #expect(backup.code == 65 && backup.errors.contains("pg_dump"), "\(backup)")
                let restore = try await installation.sluice("restore", installation.directory.path)
                #expect(restore.code == 64 && restore.errors.contains("with its server"), "\(restore)")
                #expect(try await installation.sluice("prune", "--compact").code == 64)
                kill(up.pid, SIGTERM)
                #expect(try await up.end(within: .seconds(60)) == .exited(0))

                // A command that a program has submitted while no coordinator runs.
                let submitted = try await installation.run(
                    program: "/usr/bin/psql",
                    [empty.server.socketURL(), "-Atc", "SELECT \(empty.schema).submit('noop')"])
                let waiting = try #require(submitted.lines.first, "\(submitted)")
                for verb in ["status", "explain", "cancel"] {
                    let answer = try await installation.sluice(verb, waiting)
                    #expect(answer.code == 75 && answer.errors.contains("in the inbox"), "\(verb): \(answer)")
                }

                // Another data directory.
                let other = "\(installation.data)-2"
                for command in [["status"], ["submit", "noop"], ["up"]] {
                    let refused = try await installation.run(
                        program: "\(Installation.bin)/sluice", command + ["--data", other])
                    #expect(refused.code == 77 && refused.errors.contains(installation.data), "\(refused)")
                }
                let alive = try await installation.sluice("store", "move-host", "--data", other)
                #expect(alive.code == 75 && alive.errors.contains("s ago"), "\(alive)")
                let moved = try await installation.sluice("store", "move-host", "--force", "--data", other)
                #expect(moved.code == 0 && moved.output.contains("no longer to \(installation.data)"), "\(moved)")
                #expect(try await installation.sluice("status").code == 77)
                #expect(try await installation.sluice("list", "--data", other).lines.count > 100)

                // A store that is moved under processes that work on it: they end.
                let back = try await installation.sluice("store", "move-host", "--force")
                #expect(back.code == 0, "\(back)")
                let left = try await installation.up(workers: 1)
                _ = try await installation.sluice("store", "move-host", "--force", "--data", other)
                #expect(try await left.end(within: .seconds(120)) == .exited(77))
                #expect(try await installation.sluice("list", "--data", other).code == 0)
            }
        }

        /// The server is away, has no such database, no such schema, another password, or does not sync its files.
        @Test func `each server that cannot be used has a sentence and an exit code`() async throws {
            let server = try await PostgreSQLServer.shared()
            try await Installation.with(store: ServerStore(shards: 0)) { installation in
                let port = try freePort()
                let password = "geheim-\(UInt64.random(in: 0 ... .max))"
                let cases: [(url: String, code: Int32, text: String)] = [
                    ("postgres://app:\(password)@127.0.0.1:\(port)/queue", 75, "127.0.0.1"),
                    (server.socketURL(database: "nowhere"), 66, "nowhere"),
                    (server.socketURL(), 66, "sluice store create"),
                    (server.url(password: password), 77, "password"),
                ]
                for (url, code, text) in cases {
                    let finished = try await installation.sluice("status", environment: ["SLUICE_STORE": url])
                    #expect(finished.code == code && finished.errors.contains(text), "\(finished)")
                    #expect(!finished.errors.contains(password) && finished.output.isEmpty)
                }
                // The server of the unit tests does not sync.
                let unsafe = try await ServerStore(server)
                let refused = try await installation.sluice("up", environment: ["SLUICE_STORE": unsafe.url])
                #expect(refused.code == 78 && refused.errors.contains("fsync=off"), "\(refused)")
                unsafe.remove()
            }
        }

        @Test func `the configuration names the store, and keeps a password from other users`() async throws {
            let store = try await ServerStore()
            try await Installation.with(store: store) { installation in
                let file = "\(installation.directory.path)/sluice.yaml"
                func status(_ text: String, mode: mode_t = 0o600) async throws -> Installation.Finished {
                    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
                    chmod(file, mode)
                    return try await installation.sluice(
                        "status", "--config", file, environment: ["SLUICE_STORE": ""])
                }
                let url = store.url
                let used = try await status("store: \(url)\n", mode: 0o644)
                #expect(used.code == 0 && used.output.contains(store.schema), "\(used)")
                #expect(try await status("store:\n  url: \(url)\n  direct: \(url)\n").code == 0)
                let secret = store.server.url() + "?schema=\(store.schema)"
                #expect(try await status("store: \(secret)\n").code == 0)
                let open = try await status("store: \(secret)\n", mode: 0o640)
                #expect(open.code == 78 && open.errors.contains("chmod 600"), "\(open)")
                #expect(!open.errors.contains(store.server.password))
                for wrong in ["store: 7\n", "store: [a]\n", "store:\n  uri: \(url)\n", "store: {direct: \"\(url)\"}\n"]
                {
                    let refused = try await status(wrong)
                    #expect(refused.code == 78 && refused.errors.contains("store"), "\(wrong): \(refused)")
                }
            }
        }

        /// The times of a store on a server are those of the server.
        @Test(.enabled(if: SteppedClock.isAvailable, "libfaketime is not installed"))
        func `a jump of the clock of this machine starts, cancels and deletes nothing`() async throws {
            try await Installation.with(store: ServerStore()) { installation in
                let clock = try await SteppedClock(in: installation)
                let coordinator = try await installation.coordinator(environment: clock.environment)
                _ = try await installation.worker(environment: clock.environment)
                let store = try installation.store()
                let first = try #require(try await installation.sluice("submit", "noop", "--wait").ids.first)
                let due = try await installation.sluice("submit", "noop", "--not-before", "2d").ids
                let late = try await installation.sluice("submit", "noop", "--not-before", "3d", "--deadline", "5d").ids
                try clock.set(.seconds(8 * 86_400))
                let last = try await installation.sluice("submit", "noop", "--wait")
                #expect(last.code == 0, "\(last.errors)")
                #expect(try (due + late).map { try store.command($0)?.status } == [.new, .new])
                #expect(try await installation.sluice("prune").code == 0)
                #expect(try store.command(first)?.status == .success)
                let id = try #require(last.ids.first)
                let end = try #require(store.timeline(id).last).at
                #expect(abs((end - .now).seconds) < 60, "\(end)")
                let status = try await installation.sluice("status").output
                #expect(!status.contains("jumped"), "\(status)")
                #expect(SteppedClock.reports(of: coordinator) == 0)
            }
        }

        /// Processes wait for a server that is away, and nothing that was acknowledged is lost.
        @Test func `a server that is killed under load comes back, and every command ends once`() async throws {
            let server = try await PostgreSQLServer(["fsync": "on"])
            let store = try await ServerStore(server)
            try await Installation.with(store: store) { installation in
                _ = try await installation.up(workers: 2)
                let ids = try await installation.sluice(
                    "submit", "noop", "-",
                    input: .init(repeating: "{\"payload\":{\"milliseconds\":5}}\n", count: 2000)
                ).ids
                #expect(ids.count == 2000)
                let reading = try installation.store()
                for round in 1...3 {
                    try await until("\(round * 300) ends") { try reading.counts()[.success] >= round * 300 }
                    try await server.crash()
                }
                try await installation.drained(reading)
                #expect(try reading.counts()[.success] == 2000)
                for id in ids.prefix(200) {
                    let ends = try reading.timeline(id).filter { $0.status == .success }
                    #expect(ends.count == 1)
                }
                #expect(!installation.logs.contains(server.password))
            }
            await server.stop()
        }
    }
}
