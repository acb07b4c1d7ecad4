import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// Commands of the API whose destinations turn out to be this machine.
    struct ConfinedCommandTests {
        /// A web server, a coordinator with a worker, and a door.
        /// - Parameter submit: further members of `door.submit`, for a server at a port.
        private static func with(
            _ submit: (Int) -> String, _ body: (DoorRig, ScriptedServer) async throws -> Void
        ) async throws {
            let server = try await ScriptedServer()
            try await stopping(server) {
                try server.run("* * : read; answer 200")
                try await Installation.with { installation in
                    let yaml = "door:\n  submit: {types: [request, upload], \(submit(server.port))}\n"
                    try FileManager.default.createDirectory(
                        atPath: installation.data, withIntermediateDirectories: true,
                        attributes: [.posixPermissions: 0o700])
                    try Data(yaml.utf8).write(to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                    _ = try await installation.up()
                    try await body(try await DoorRig(installation), server)
                }
            }
        }

        private static func submit(_ door: DoorRig, _ body: JSONValue) async throws -> JSONValue {
            let made = try await door.curl(
                "-H", "Content-Type: application/json", "-d", body.text, "\(door.origin)/api/v1/commands"
            ).json()
            let id = try #require(made["id"]?.string, "\(made)")
            return try await door.curl("\(door.origin)/api/v1/commands/\(id)?wait=30").json()
        }

        /// `127.1` stands for any name: getaddrinfo(3) makes 127.0.0.1 of it, as a name server could.
        @Test(arguments: [
            ("127.1", "", false), ("127.1", ", networks: [127.0.0.0/8]", true), ("127.0.0.1", "", true),
        ])
        func `a listed name leads to this machine only where the configuration has its network or the address`(
            _ host: String, _ networks: String, _ isPermitted: Bool
        ) async throws {
            let list = { (port: Int) in "destinations: [\"http://\(host):\(port)\"]\(networks)" }
            try await Self.with(list) { door, server in
                let ended = try await Self.submit(
                    door, ["type": "request", "payload": ["url": .string("http://\(host):\(server.port)/a")]])
                #expect(ended["status"]?.string == (isPermitted ? "success" : "tooManyTimes"), "\(ended)")
                #expect(ended["payload"]?["confined"] == true, "\(ended)")
                #expect(server.requests.count == (isPermitted ? 1 : 0))
                guard !isPermitted else { return }
                for word in ["127.1", "127.0.0.1", "door.submit.networks"] {
                    #expect(ended["reason"]?.string?.contains(word) == true, "\(ended)")
                }
                #expect(server.connections == 0)
                // On the machine itself it is another matter.
                let own = try await door.installation.sluice(
                    "request", "http://\(host):\(server.port)/a", "--wait")
                #expect(own.code == 0, "\(own.errors)")
            }
        }
    }
}
