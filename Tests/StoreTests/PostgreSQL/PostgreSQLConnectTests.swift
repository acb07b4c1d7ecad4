import Host
import TestSupport
import Testing

@testable import Store

@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)))
struct PostgreSQLConnectTests {
    @Test func `a wrong password is a missing permission, and no message has it`() async throws {
        let rig = try await PostgreSQLRig()
        let error = try await rig.refusal(rig.server.url(password: "wrong-secret9"))
        #expect(error.code == .permission && error.sqlState?.text == "28P01" && error.recovery == .none)
        #expect(!"\(error)\(String(reflecting: error))".contains("secret9"))
        #expect(error.storeError.message.contains("127.0.0.1:\(rig.server.port)"))
    }

    @Test func `a missing password is a missing permission`() async throws {
        let rig = try await PostgreSQLRig()
        let error = try await rig.refusal(
            "postgres://postgres@127.0.0.1:\(rig.server.port)/postgres?passfile=/nonexistent")
        #expect(error.code == .permission)
        #expect(error.storeError.message.contains("~/.pgpass"))
    }

    @Test func `a missing role is a missing permission`() async throws {
        let rig = try await PostgreSQLRig()
        let error = try await rig.refusal(rig.server.socketURL(user: "missing_role"))
        #expect(error.code == .permission && error.sqlState?.text == "28000")
    }

    @Test func `a missing database names the command that makes a store`() async throws {
        let rig = try await PostgreSQLRig()
        for url in [rig.server.socketURL(database: "missing"), rig.server.url(database: "missing")] {
            let error = try await rig.refusal(url)
            #expect(error.code == .missing && error.sqlState?.text == "3D000")
            #expect(error.storeError.message.contains("“sluice store create”"))
            #expect(error.storeError.message.contains("“missing”"))
        }
    }

    @Test(arguments: ["nonsense=1", "no-such=x", "No=1"])
    func `a parameter that libpq does not know is refused by its name`(_ parameter: String) async throws {
        let error = try await PostgreSQLRig().refusal("postgres://127.0.0.1/?\(parameter)")
        #expect(error.code == .invalid)
        #expect(error.storeError.message.contains("“\(parameter.prefix { $0 != "=" })”"))
    }

    @Test func `the second host is used while the first one is away`() async throws {
        let rig = try await PostgreSQLRig()
        let away = try freePort()
        let server = rig.server
        for hosts in ["127.0.0.1:\(away),127.0.0.1:\(server.port)", "host.invalid:1,127.0.0.1:\(server.port)"] {
            let name = try await rig.connected("postgres://postgres:\(server.password)@\(hosts)/postgres") {
                connection in
                connection.server
            }
            #expect(name == "PostgreSQL at 127.0.0.1:\(server.port), database “postgres”, user “postgres”")
        }
    }

    @Test func `a standby or a read-only server is passed over`() async throws {
        let rig = try await PostgreSQLRig()
        let error = try await rig.refusal(rig.server.socketURL() + "&options=-c%20default_transaction_read_only%3Don")
        #expect(error.code == .unreachable && error.recovery == .reconnect)
    }

    @Test func `without a server the reason of each host is named`() async throws {
        let rig = try await PostgreSQLRig()
        let (first, second) = (try freePort(), try freePort())
        let error = try await rig.refusal("postgres://u:secret9@127.0.0.1:\(first),localhost:\(second)/queue")
        #expect(error.code == .unreachable && error.recovery == .reconnect && !error.isOutcomeUnknown)
        let message = error.storeError.message
        #expect(message.contains("127.0.0.1:\(first)") && message.contains("localhost:\(second)"))
        #expect(message.contains("queue") && !message.contains("secret9"))
    }

    @Test func `a missing socket directory is an unreachable server`() async throws {
        let error = try await PostgreSQLRig().refusal("postgres:///postgres?host=/nonexistent")
        #expect(error.code == .unreachable)
    }

    // MARK: Hosts that do not answer

    @Test(.enabled(if: runsSlowTests))
    func `a host that drops all packets takes two seconds, not the deadline`() async throws {
        let rig = try await PostgreSQLRig()
        let full = try FullListener()
        let start = MonotonicTime.now
        let url =
            "postgres://postgres:\(rig.server.password)@127.0.0.1:\(full.port),127.0.0.1:\(rig.server.port)/postgres"
        let isOpen = try await rig.connected(url) { connection in connection.isOpen }
        #expect(isOpen)
        // The deadline of a minute would have ended the search.
        #expect(MonotonicTime.now - start >= .seconds(2))
    }

    @Test(.enabled(if: runsSlowTests))
    func `a server that accepts and says nothing takes two seconds`() async throws {
        let rig = try await PostgreSQLRig()
        let proxy = try ServerProxy(to: .loopback(port: rig.server.port)) { _ in
            ProxyFault(.halfOpen, .bytes(0, .toServer))
        }
        try await stopping(proxy) {
            let start = MonotonicTime.now
            let error = try await rig.refusal(rig.server.url(port: proxy.port))
            #expect(MonotonicTime.now - start >= .seconds(2))
            #expect(error.code == .unreachable && error.storeError.message.contains("no answer in time"))
        }
    }

    @Test func `a deadline ends the search before the time of a host`() async throws {
        let rig = try await PostgreSQLRig()
        let full = try FullListener()
        let url = "postgres://u@127.0.0.1:\(full.port),127.0.0.1:\(full.port)/d"
        let short = MonotonicTime.now
        let error = try await rig.refusal(url, deadline: .now + .milliseconds(50))
        let taken = MonotonicTime.now - short
        #expect(error.code == .unreachable && error.storeError.message.contains("the deadline has passed"))
        let past = try await rig.refusal(url, deadline: .now)
        #expect(past.code == .unreachable)
        #expect(taken >= .milliseconds(50))
    }
}
