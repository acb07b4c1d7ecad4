import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Store

/// The programs of `deploy/POSTGRESQL.md` that submit by SQL.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLRecipeTests {
    private static let jar = "/usr/share/java/postgresql.jar"
    private static let hasJDBC = program("java") != nil && contents(of: jar) != nil

    /// The block of a language.
    private static func recipe(_ language: String) throws -> String {
        var path = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<4 { path.deleteLastPathComponent() }
        let text = try String(contentsOf: path.appendingPathComponent("deploy/POSTGRESQL.md"), encoding: .utf8)
        let start = try #require(text.range(of: "```\(language)\n"))
        let end = try #require(text.range(of: "\n```", range: start.upperBound..<text.endIndex))
        return String(text[start.upperBound..<end.lowerBound])
    }

    /// Runs a program beside a table of orders.
    /// - Parameters:
    ///   - url: of the recipe, and the one that replaces it.
    ///   - command: of a file with the recipe.
    private func run(
        _ language: String, file: String, url: (recipe: String, test: String), _ command: (String) -> [String]
    ) async throws {
        let directory = try TemporaryDirectory("recipe")
        defer { directory.remove() }
        let schema = try await InboxRig.made()
        defer { schema.remove() }
        let text = try Self.recipe(language).replacing(url.recipe, with: url.test)
            .replacing("sluice.submit", with: "\(schema.name).submit").replacing(
                "orders", with: "\(schema.name).orders")
        let path = "\(directory.path)/\(file)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let child = try ChildProcess(command(path), log: "\(directory.path)/recipe")
        let end = try await child.end(within: .seconds(120))
        #expect(end == .exited(0), "\(child.errors)")
        let (entries, orders) = try await InboxRig.run(in: schema) { rig in
            var connection = try rig.connect()
            let orders = try connection.run("SELECT total FROM \(schema.name).orders").rows { row in row[0] as Int }
            return (try rig.entries(), orders)
        }
        #expect(orders == [99])
        let entry = try #require(entries.first)
        #expect(entries.count == 1 && entry.type == "webhook")
        #expect(child.output.contains(entry.id.description))
        let payload = try JSONValue(parsing: entry.payload)
        #expect(payload["url"] == "https://shop.test/hook" && payload["body"]?["order"] == 1)
        let options = try JSONValue(parsing: entry.options)
        #expect(options["uniqueKey"] == "order-1")
    }

    @Test(.enabled(if: isAvailable(PythonScript.has("psycopg")), "python3-psycopg is not installed"))
    func `the recipe for psycopg submits in its transaction`() async throws {
        let server = try await PostgreSQLServer.shared()
        let python = try #require(PythonScript.interpreter(with: "psycopg"))
        try await run("python", file: "recipe.py", url: ("postgres://app@db/shop", server.socketURL())) {
            [python, $0]
        }
    }

    @Test(.enabled(if: hasJDBC, "java and libpostgresql-jdbc-java are not installed"))
    func `the recipe for JDBC submits in its transaction`() async throws {
        let server = try await PostgreSQLServer.shared()
        let java = try #require(program("java"))
        let url =
            "jdbc:postgresql://127.0.0.1:\(server.port)/postgres?sslmode=disable&user=\(server.user)&password=\(server.password)"
        try await run("java", file: "Submit.java", url: ("jdbc:postgresql://db/shop?user=app", url)) {
            [java, "-cp", Self.jar, $0]
        }
    }

    /// Postgrex prepares a statement without types of parameters, as `PREPARE` does.
    @Test func `the statement of the recipe for Ecto has the types that Postgrex encodes`() async throws {
        let recipe = try Self.recipe("elixir")
        let start = try #require(recipe.range(of: "\"SELECT "))
        let end = try #require(recipe.range(of: "\"", range: start.upperBound..<recipe.endIndex))
        let statement = "SELECT " + recipe[start.upperBound..<end.lowerBound]
        let types = try await InboxRig.run { rig in
            var connection = try rig.connect()
            try connection.run(
                "PREPARE recipe AS " + statement.replacing("sluice.submit", with: "\(rig.schema.name).submit"))
            try connection.run("EXECUTE recipe('webhook', '{\"url\": 1}', 'order-7')")
            #expect(try rig.inboxCount() == 1)
            return try connection.run("SELECT parameter_types::text[] FROM pg_prepared_statements").first { row in
                row[0] as [String]
            }
        }
        #expect(types == ["text", "jsonb", "text"])
    }
}

extension InboxRig {
    /// A schema with a table of orders.
    fileprivate static func made() async throws -> PostgreSQLTestSchema {
        try await BlockingPool.shared.run { () throws(any Error) in
            let schema = try PostgreSQLTestSchema(shardCount: shardCount)
            var connection = try PostgreSQLConnection.open(PostgreSQLLocation(schema.url), deadline: .soon)
            try connection.run(
                "CREATE TABLE \(schema.name).orders(id int8 GENERATED ALWAYS AS IDENTITY, total int8 NOT NULL)")
            return schema
        }
    }

    /// Runs `body` with a schema that is there.
    fileprivate static func run<Value: Sendable>(
        in schema: PostgreSQLTestSchema, _ body: @escaping @Sendable (InboxRig) throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { () throws(any Error) in
            try body(InboxRig(schema: schema, store: try PostgreSQLStore(url: schema.url, schema: schema.name)))
        }
    }
}
