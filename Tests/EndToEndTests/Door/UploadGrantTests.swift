import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// Upload tokens that a token makes over HTTP.
    struct UploadGrantTests {
        private static func run(
            _ door: DoorRig, token: String, _ arguments: String...
        ) async throws -> (status: Int, text: String) {
            let finished = try await door.installation.run(
                program: "/usr/bin/curl",
                ["-sS", "-i", "-H", "Authorization: Bearer \(token)", "-H", "Content-Type: application/json"]
                    + arguments)
            // The last head: curl shows an interim response too.
            let heads = finished.output.split(separator: "\r\n").filter { $0.hasPrefix("HTTP/1.1 ") }
            let status = heads.last?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            return (status ?? 0, finished.output)
        }

        private static func json(_ text: String) throws -> JSONValue {
            let body = text.components(separatedBy: "\r\n\r\n").last ?? ""
            return try JSONValue(parsing: Array(body.utf8))
        }

        @Test func `a site gives a visitor a token for uploads, which ends with its own`() async throws {
            try await Installation.with { installation in
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try Data("routes: {archive: {}, inbox: {}}\n".utf8).write(
                    to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                let door = try await DoorRig(installation)
                let tokens = "\(door.origin)/api/v1/tokens"
                let site = try #require(
                    try await installation.sluice(
                        "token", "create", "site", "--scope", "upload,grant", "--route", "archive", "--expires", "2h"
                    ).lines.first)
                let made = try await Self.run(
                    door, token: site, "-d", #"{"name": "cam", "maxBytes": 200000, "expires": "30m"}"#, tokens)
                #expect(made.status == 201, "\(made.text)")
                #expect(made.text.lowercased().contains("cache-control: no-store"))
                #expect(made.text.contains("\(tokens)/cam"), "\(made.text)")
                let body = try Self.json(made.text)
                let cam = try #require(body["token"]?.string)
                #expect(body["scopes"] == ["upload"] && body["routes"] == ["archive"] && body["maker"] == "site")

                for (document, status, type) in [
                    (#"{"routes": ["inbox"]}"#, 400, "invalid-route"), (#"{"name": "cam"}"#, 409, "token-exists"),
                    (#"{"expires": "2d"}"#, 400, "invalid-body"),
                    (#"{"expires": "2020-01-01T00:00:00Z"}"#, 400, "invalid-body"),
                    (#"{"maxBytes": 0}"#, 400, "invalid-body"), (#"{"name": "local"}"#, 400, "invalid-body"),
                    (#"{"scopes": ["control"]}"#, 400, "invalid-body"),
                ] {
                    let refused = try await Self.run(door, token: site, "-d", document, tokens)
                    #expect(refused.status == status && refused.text.contains("/problems/\(type)"), "\(refused.text)")
                }
                // Neither the visitor's token nor that of the machine makes tokens.
                for token in [cam, try door.token] {
                    let refused = try await Self.run(door, token: token, "-d", "{}", tokens)
                    #expect(refused.status == 403 && refused.text.contains("scope-missing"), "\(refused.text)")
                }

                let small = try installation.directory.file("small", [UInt8](repeating: 1, count: 1000))
                let taken = try await Self.run(door, token: cam, "-T", small, "\(door.endpoint)?route=archive")
                #expect(taken.status == 201, "\(taken.text)")
                let other = try await Self.run(door, token: cam, "-T", small, "\(door.endpoint)?route=inbox")
                #expect(other.status == 400 && other.text.contains("invalid-route"), "\(other.text)")
                let large = try installation.directory.file("large", [UInt8](repeating: 1, count: 200_000))
                let beyond = try await Self.run(door, token: cam, "-T", large, "\(door.endpoint)?route=archive")
                #expect(beyond.status == 507 && beyond.text.contains("199000 more bytes"), "\(beyond.text)")
                // The maker sees the upload of its visitor.
                let id = try #require(try Self.json(taken.text)["id"]?.string)
                let seen = try await Self.run(door, token: site, "\(door.origin)/api/v1/uploads/\(id)")
                #expect(seen.status == 200, "\(seen.text)")

                let listed = try await Self.run(door, token: site, tokens)
                let list = try #require(try Self.json(listed.text)["tokens"]?.elements)
                #expect(list.map { $0["name"]?.string } == ["cam"] && list[0]["token"] == nil, "\(listed.text)")
                let table = try await installation.sluice("token", "list").output
                #expect(table.contains("MAKER") && table.contains("at most 200 kB"), "\(table)")
                let lines = try await installation.sluice("token", "list", "--json").lines
                let row = try lines.map { try JSONValue(parsing: Array($0.utf8)) }.first { $0["name"] == "cam" }
                #expect(row?["maker"] == "site" && row?["state"] == "usable" && row?["maxBytes"] == 200_000)

                // A rotation of the maker keeps it, a revocation does not.
                let next = try #require(try await installation.sluice("token", "rotate", "site").lines.first)
                #expect(
                    try await Self.run(door, token: cam, "-T", small, "\(door.endpoint)?route=archive").status == 201)
                let second = try await Self.run(door, token: next, "-d", "{}", tokens)
                let brief = try #require(try Self.json(second.text)["token"]?.string, "\(second.text)")
                let name = try #require(try Self.json(second.text)["name"]?.string)
                for _ in 0..<2 {
                    #expect(try await Self.run(door, token: next, "-X", "DELETE", "\(tokens)/\(name)").status == 204)
                }
                #expect(try await Self.run(door, token: next, "-X", "DELETE", "\(tokens)/nothing").status == 404)
                try await until("the revocation") {
                    try await Self.run(door, token: brief, "-T", small, door.endpoint).status == 401
                }
                #expect(try await installation.sluice("token", "revoke", "site").code == 0)
                try await until("the end of the visitor's token") {
                    try await Self.run(door, token: cam, "-T", small, "\(door.endpoint)?route=archive").status == 401
                }
                #expect(!door.errors.contains(String(cam.suffix(30))) && !door.errors.contains(String(site.suffix(30))))
            }
        }
    }
}
