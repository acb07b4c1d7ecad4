import Commands
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `sluice token` on a store, without a door.
    struct TokenTests {
        @Test func `a token is printed once, and the store has only its digest`() async throws {
            try await Installation.with { installation in
                let made = try await installation.sluice(
                    "token", "create", "studio", "--scope", "upload,read", "--route", "archive", "--route", "publish",
                    "--expires", "30d")
                #expect(made.code == 0, "\(made.errors)")
                let token = try #require(made.lines.first)
                #expect(made.lines.count == 1 && token.hasPrefix("slu_") && token.utf8.count == 64)
                #expect(
                    made.errors.contains("may upload to the routes “archive”, “publish”; and read. It expires at 20"),
                    "\(made.errors)")
                #expect(!made.errors.contains(token))
                #expect(made.errors.contains("the configuration has no route “archive”"), "\(made.errors)")
                let settings = try installation.store().settings(prefix: SettingKey.accessTokenPrefix)
                #expect(settings.count == 1 && !settings.description.contains(token.suffix(20)))
                let listed = try await installation.sluice("token", "list", "--json")
                let json = try listed.json()
                #expect(json["name"]?.string == "studio" && json["state"]?.string == "usable", "\(json)")
                #expect(json["id"]?.string.map { token.hasPrefix("slu_\($0)_") } == true)
                #expect(json["routes"] == ["archive", "publish"] && json["types"] == .null)
                #expect(json["lastUsed"] == .null && json["digest"] == nil)
                let table = try await installation.sluice("token", "list").output
                #expect(table.contains("upload (archive, publish), read") && table.contains("in 29d"), "\(table)")
            }
        }

        @Test func `a submit token names types and destinations, as JSON`() async throws {
            try await Installation.with { installation in
                let made = try await installation.sluice(
                    "token", "create", "feed", "--scope", "submit", "--type", "webhook", "--to",
                    "https://hooks.example.com/x", "--json")
                let json = try made.json()
                #expect(json["token"]?.string?.hasPrefix("slu_") == true)
                #expect(json["types"] == ["webhook"] && json["destinations"] == ["https://hooks.example.com:443"])
                #expect(
                    made.errors.contains(
                        "submit commands of the types “webhook” to https://hooks.example.com:443. It does not expire."),
                    "\(made.errors)")
            }
        }

        @Test func `a token is revoked by name or id, once, and its name is free again`() async throws {
            try await Installation.with { installation in
                func create() async throws -> String {
                    let made = try await installation.sluice("token", "create", "ci", "--scope", "read", "--json")
                    return try #require(try made.json()["id"]?.string, "\(made.errors)")
                }
                let first = try await create()
                let again = try await installation.sluice("token", "create", "ci", "--scope", "read")
                #expect(again.code == 65 && again.errors.contains("token “ci” already (\(first))"), "\(again.errors)")
                let revoked = try await installation.sluice("token", "revoke", "ci")
                #expect(revoked.code == 0 && revoked.output == "ci (\(first)): revoked\n", "\(revoked.errors)")
                let second = try await create()
                #expect(try await installation.sluice("token", "revoke", second, "--json").json()["revoked"] != .null)
                let twice = try await installation.sluice("token", "revoke", first)
                #expect(twice.code == 0 && twice.output.contains("revoked already, at 20"), "\(twice.output)")
                let unknown = try await installation.sluice("token", "revoke", "co")
                #expect(unknown.code == 66 && unknown.errors.contains("is it “ci”?"), "\(unknown.errors)")
            }
        }

        @Test func `a rotated token keeps its rights, and the earlier one ends`() async throws {
            try await Installation.with { installation in
                let made = try await installation.sluice(
                    "token", "create", "studio", "--scope", "upload", "--route", "archive", "--expires", "30d", "--json"
                )
                let first = try #require(try made.json()["id"]?.string)
                let rotated = try await installation.sluice("token", "rotate", "studio")
                let token = try #require(rotated.lines.first)
                #expect(rotated.code == 0 && rotated.lines.count == 1 && token.hasPrefix("slu_"), "\(rotated.errors)")
                #expect(rotated.errors.contains("The earlier one (\(first)) is revoked."), "\(rotated.errors)")
                let again = try await installation.sluice("token", "rotate", "studio", "--overlap", "1h", "--json")
                let json = try again.json()
                #expect(json["routes"] == ["archive"] && json["scopes"] == ["upload"] && json["expires"] != .null)
                #expect(again.errors.contains("is usable until 20"), "\(again.errors)")
                let states = try await installation.sluice("token", "list", "--json").lines
                    .map { try JSONValue(parsing: Array($0.utf8))["state"]?.string }
                #expect(states == ["revoked", "usable", "usable"])
                #expect(try await installation.sluice("token", "rotate", first).code == 65)
                let ambiguous = try await installation.sluice("token", "rotate", "studio")
                #expect(ambiguous.code == 64 && ambiguous.errors.contains("give an id"), "\(ambiguous.errors)")
                let revoked = try await installation.sluice("token", "revoke", "studio")
                #expect(revoked.code == 0 && revoked.lines.count == 2, "\(revoked.errors)")
            }
        }

        @Test(arguments: [
            (["a b", "--scope", "read"], "is not the name of a token"), (["ci"], "--scope"),
            (["ci", "--scope", "reed"], "reed"), (["ci", "--scope", "read,"], "--scope"),
            (["local", "--scope", "read"], "token of this machine"),
            (["ci", "--scope", "read", "--route", "a"], "--route limits uploads"),
            (["ci", "--scope", "read", "--type", "noop"], "--type and --to limit submits"),
            (["ci", "--scope", "read", "--expires", "2020-01-01T00:00:00Z"], "in the past"),
            (["ci", "--scope", "submit", "--to", "nowhere"], "--to"),
        ])
        func `a wrong option of token create is a usage error that makes nothing`(
            arguments: [String], problem: String
        ) async throws {
            try await Installation.with { installation in
                let finished = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["token", "create"] + arguments)
                #expect(finished.code == 64 && finished.output.isEmpty, "\(finished)")
                #expect(finished.errors.contains(problem), "\(finished.errors)")
                // Not even a store, where it would be in the data directory.
                let listed = try await installation.sluice("token", "list", "--json")
                #expect(listed.code == (installation.serverStore == nil ? 66 : 0) && listed.output.isEmpty, "\(listed)")
            }
        }
    }
}
