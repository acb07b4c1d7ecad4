import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// The API of a door beside a coordinator and a worker.
    struct APITests {
        private func post(_ door: DoorRig, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
            let url = "\(door.origin)/api/v1\(path)"
            guard let body else { return try await door.curl("-X", "POST", url).json() }
            return try await door.curl("-H", "Content-Type: application/json", "-d", body.text, url).json()
        }

        private func get(_ door: DoorRig, _ path: String) async throws -> JSONValue {
            try await door.curl("\(door.origin)/api/v1\(path)").json()
        }

        @Test func `a command of the API runs at once, and its end answers the wait`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let door = try await DoorRig(installation)
                let made = try await post(door, "/commands", ["type": "noop", "payload": [:]])
                let id = try #require(made["id"]?.string, "\(made)")
                let ended = try await get(door, "/commands/\(id)?wait=30")
                #expect(ended["status"]?.string == "success", "\(ended)")
                #expect(try await installation.sluice("status", id, "--json").json() == ended)
                // A list of the command line has the file and the URL too.
                let listed = try await installation.sluice("list", "--json").json().members ?? []
                let members = listed.filter { $0.name != "file" && $0.name != "url" }
                #expect(try await get(door, "/commands")["commands"] == [.object(members)])
                #expect(listed.count == members.count + 2)
            }
        }

        @Test func `a cancellation over the API reaches the worker, with its actor`() async throws {
            try await Installation.with { installation in
                _ = try await installation.up()
                let door = try await DoorRig(installation)
                let made = try await post(door, "/commands", ["type": "noop", "payload": ["milliseconds": 60_000]])
                let id = try #require(made["id"]?.string, "\(made)")
                try await until("the execution") { try await get(door, "/commands/\(id)")["status"]?.string == "sent" }
                #expect(try await post(door, "/commands/\(id)/cancel")["cancelRequested"] == true)
                let ended = try await get(door, "/commands/\(id)?wait=30")
                #expect(ended["status"]?.string == "cancelled", "\(ended)")
                #expect(ended["reason"]?.string?.contains("token “local” at 127.0.0.1") == true, "\(ended)")
            }
        }

        @Test func `an origin of the configuration is open to submits, and no other`() async throws {
            try await Installation.with { installation in
                let yaml = "door:\n  submit: {types: [request], destinations: [\"https://api.example.com\"]}\n"
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try Data(yaml.utf8).write(to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                let door = try await DoorRig(installation)
                let made = try await post(
                    door, "/commands", ["type": "request", "payload": ["url": "https://api.example.com/a"]])
                #expect(made["destination"]?.string == "https://api.example.com:443", "\(made)")
                for url in ["https://other.example.com/", "http://127.0.0.1:\(door.port)/"] {
                    let refused = try await post(
                        door, "/commands", ["type": "request", "payload": ["url": .string(url)]])
                    #expect(refused["type"]?.string == "/problems/destination-forbidden", "\(refused)")
                }
                let noop = try await post(door, "/commands", ["type": "noop", "payload": [:]])
                #expect(noop["type"]?.string == "/problems/type-forbidden", "\(noop)")
            }
        }
    }
}
