import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A store on a PostgreSQL server that is away for a while, and one whose server was put back to an earlier moment.
    @Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
    struct ServerOutageTests {
        @Test func `while the server is away the door asks to come back, status says since when, and work waits`()
            async throws
        {
            let store = try await ServerStore()
            let server = ServerProxy.Address.loopback(port: store.server.port)
            let first = try ServerProxy(to: server)
            try await Installation.with(store: store.through(port: first.port)) { installation in
                _ = try await installation.up(workers: 1)
                let door = try await DoorRig(installation)
                let slow = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":1500}"#).ids
                let direct = try PostgreSQLStore(url: store.url)
                try await installation.await(slow[0], .sent, in: direct)
                await first.stop()

                let submit = ["-i", "-H", "Content-Type: application/json", "-d", #"{"type":"noop","payload":{}}"#]
                let refused = try await door.curl(submit + ["\(door.origin)/api/v1/commands"])
                #expect(refused.lines.first?.contains("503") == true, "\(refused)")
                #expect(refused.output.lowercased().contains("retry-after: "), "\(refused)")
                let status = try await installation.sluice("status")
                #expect(status.code == 75 && status.errors.contains("127.0.0.1"), "\(status)")
                #expect(status.errors.contains("have not reached it since 20"), "\(status)")
                #expect(!status.errors.contains(store.server.password))

                let second = try ServerProxy(to: server, at: first.address)
                try await stopping(second) {
                    try await installation.await(slow[0], .success, in: direct)
                    try await until("an answer of the door", within: .seconds(30)) {
                        try await door.curl(submit + ["\(door.origin)/api/v1/commands"]).output.contains(" 201 ")
                    }
                    try await installation.drained(direct)
                    #expect(try await installation.sluice("status").code == 0)
                    #expect(!installation.logs.contains(store.server.password))
                    #expect(try await door.stop() == .exited(0))
                }
            }
            store.remove()
        }

        @Test func `a store whose server was restored is settled while nothing runs`() async throws {
            try await Installation.with(store: ServerStore()) { installation in
                let up = try await installation.up(workers: 1)
                let id = try await installation.sluice("submit", "noop", "--payload", #"{"milliseconds":60000}"#).ids[0]
                let store = try installation.store()
                try await installation.await(id, .sent, in: store)
                let refused = try await installation.sluice("store", "restored")
                #expect(refused.code == 75, "\(refused)")
                // As the moment has it to which the server was put back.
                kill(up.pid, SIGKILL)
                _ = try await up.end(within: .seconds(30))
                var settled: Installation.Finished?
                try await until("the end of the children", within: .seconds(30)) {
                    settled = try await installation.sluice("store", "restored")
                    return settled?.code != 75
                }
                #expect(settled?.code == 0, "\(String(describing: settled))")
                // The coordinator may have released it before it ended too.
                #expect(try store.command(id)?.status == .new)
                #expect(try store.sessions().isEmpty)
            }
            try await Installation.with { installation in
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["store", "restored"], environment: ["SLUICE_STORE": ""])
                #expect(refused.code == 65 && refused.errors.contains("sluice restore"), "\(refused)")
            }
        }
    }
}
