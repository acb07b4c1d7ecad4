import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// A store behind PgBouncer.
@Suite(
    .enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .enabled(if: isAvailable(Pooler.isInstalled)),
    .postgreSQLServer)
struct PostgreSQLPoolerTests {
    @Test func `a pooler that refuses the settings of a session is named, with what to set`() async throws {
        let error = try await refusal(behind: Pooler(mode: "session", settings: []))
        #expect(error.code == .unsuitable)
        #expect(error.message.contains("ignore_startup_parameters") && error.message.contains("store.direct"))
    }

    @Test func `a pooler without prepared statements is named, with the setting for the server itself`() async throws {
        let pooler = try await Pooler(
            mode: "transaction", settings: ["ignore_startup_parameters = options", "default_pool_size = 1"])
        guard Pooler.version < (1, 21) else {
            // It keeps prepared statements, unless it is told not to.
            return #expect(try await Self.work(behind: pooler) == .success)
        }
        let error = try await refusal(behind: pooler)
        #expect(error.code == .unsuitable && error.message.contains("store.direct"))
    }

    @Test func `a database that the pooler does not have is named`() async throws {
        let pooler = try await Pooler(mode: "session", settings: ["ignore_startup_parameters = options"])
        defer { pooler.stop() }
        let error = try await BlockingPool.shared.run { () throws(any Error) in
            do throws(StoreError) {
                _ = try PostgreSQLStore(url: pooler.url.replacing("@/postgres?", with: "@/nowhere?"), schema: "sluice")
            } catch {
                return error
            }
            throw Missed("the pooler has the database")
        }
        #expect(error.code == .missing && error.message.contains("no such database: nowhere"), "\(error)")
    }

    @Test func `a pooler by session keeps a store`() async throws {
        let pooler = try await Pooler(mode: "session", settings: ["ignore_startup_parameters = options"])
        #expect(try await Self.work(behind: pooler) == .success)
    }

    private func refusal(behind pooler: Pooler) async throws -> StoreError {
        switch try await Self.work(behind: pooler) {
        case .failed(let error): return error
        case .success: throw Missed("the pooler is accepted")
        }
    }

    private enum Ending: Equatable {
        case success
        case failed(StoreError)
    }

    /// Opens a store twice, as two processes do, and submits a command by each.
    private static func work(behind pooler: Pooler) async throws -> Ending {
        defer { pooler.stop() }
        return try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: 1)
            defer { schema.remove() }
            try pooler.makeRole(for: schema)
            defer { pooler.removeRole(schema) }
            do throws(StoreError) {
                for _ in 1...2 {
                    let store = try PostgreSQLStore(url: pooler.url, schema: schema.name)
                    for result in store.submit([.noop], allowUnknownTypes: false) { _ = try result.get() }
                }
            } catch {
                return .failed(error)
            }
            return .success
        }
    }
}

/// PgBouncer on a Unix socket, before the server of this process.
private struct Pooler {
    private static let program = "/usr/sbin/pgbouncer"
    static var isInstalled: Bool { access(program, X_OK) == 0 }
    let url: String
    private let process: ChildProcess
    private let role = "pooled_\(UInt64.random(in: 0 ... .max))"

    /// The version of the program.
    static let version: (Int, Int) = {
        let process = Process()
        let pipe = Pipe()
        (process.executableURL, process.standardOutput) = (URL(fileURLWithPath: program), pipe)
        process.arguments = ["--version"]
        try? process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let word = text.prefix { !$0.isNewline }.split(separator: " ").last ?? ""
        let numbers = word.split(separator: ".").compactMap { Int($0) }
        return (numbers.first ?? 0, numbers.dropFirst().first ?? 0)
    }()

    /// - Parameters:
    ///   - mode: of its pools: `session`, `transaction`.
    ///   - settings: other lines of its configuration.
    init(mode: String, settings: [String]) async throws {
        let server = try await PostgreSQLServer.shared()
        let directory = try TemporaryDirectory("pgbouncer").path
        let port = try freePort()
        let lines =
            [
                "[databases]", "postgres = host=\(server.directory) port=\(server.port) dbname=postgres", "[pgbouncer]",
                "listen_addr =", "unix_socket_dir = \(directory)", "listen_port = \(port)", "auth_type = trust",
                "auth_file = \(directory)/users", "pool_mode = \(mode)",
            ] + settings
        try Data("\"\(role)\" \"\"\n".utf8).write(to: URL(fileURLWithPath: "\(directory)/users"))
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: "\(directory)/ini"))
        // The program refuses to run as root, and its user makes a socket here.
        chmod(directory, 0o777)
        process = try ChildProcess(
            PostgreSQLServer.command([Self.program, "\(directory)/ini"]), directory: directory, log: "\(directory)/log")
        url = "postgres://\(role)@/postgres?host=\(directory)&port=\(port)"
        let child = process
        try await until("PgBouncer", within: .seconds(30)) {
            if let ending = child.ending { throw Missed("PgBouncer ended with \(ending): \(child.errors)") }
            return access("\(directory)/.s.PGSQL.\(port)", F_OK) == 0
        }
    }

    func stop() { _ = process.signal(SIGKILL) }

    /// Makes the role with the settings of a session, because the pooler drops those of a connection.
    func makeRole(for schema: PostgreSQLTestSchema) throws {
        var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
        try connection.run("CREATE ROLE \(role) LOGIN")
        for line in PostgreSQLSchema.grants(schema.name, to: role).split(separator: "\n") {
            try connection.run(String(line))
        }
    }

    func removeRole(_ schema: PostgreSQLTestSchema) {
        guard let location = try? PostgreSQLLocation(schema.url),
            var connection = try? PostgreSQLConnection.open(location, deadline: .soon)
        else { return }
        _ = try? connection.run("DROP OWNED BY \(role)")
        _ = try? connection.run("DROP ROLE \(role)")
    }
}
