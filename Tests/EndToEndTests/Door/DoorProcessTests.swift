import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The process of a door: its certificate, and the socket that systemd keeps for it.
    struct DoorProcessTests {
        @Test func `SIGHUP lets new connections have the new certificate`() async throws {
            try await Installation.with { installation in
                let chain = "\(installation.directory.path)/chain.pem"
                let key = "\(installation.directory.path)/key.pem"
                func write(_ identity: TestIdentity) throws {
                    try identity.certificate.write(toFile: chain, atomically: true, encoding: .utf8)
                    try identity.key.write(toFile: key, atomically: true, encoding: .utf8)
                }
                try write(.selfSigned)
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try "door:\n  certificate: \(chain)\n  key: \(key)\n".write(
                    toFile: "\(installation.data)/sluice.yaml", atomically: true, encoding: .utf8)
                let door = try await DoorRig(installation)
                func answers() async throws -> Bool {
                    try await installation.run(
                        program: "/usr/bin/curl",
                        ["-sS", "--cacert", chain, "-o", "/dev/null", "https://localhost:\(door.port)/uploads"]
                    ).code == 0
                }
                #expect(try await answers())
                let status = try #require(await installation.status()?["door"])
                #expect(status["url"]?.string == "https://127.0.0.1:\(door.port)" && status["pid"] != .null)
                try write(TestAuthority("Another", hosts: ["localhost"]).identity)
                // The client trusts only the new one.
                #expect(try await !answers())
                try door.signal(SIGHUP)
                try await until("the new certificate") { try await answers() }
                try "none".write(toFile: key, atomically: true, encoding: .utf8)
                try door.signal(SIGHUP)
                try await until("the error") { door.errors.contains("The old certificate stays in use") }
                #expect(try await answers())
                #expect(try await door.stop() == .exited(0))
                #expect(try await installation.status()?["door"] == .null)
                let refused = try await installation.sluice("door", "--listen", "127.0.0.1:0")
                #expect(
                    refused.code == 78 && refused.errors.contains("no private key in PEM form"), "\(refused.errors)")
            }
        }

        @Test func `SIGHUP does not end a door without a certificate`() async throws {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                try door.signal(SIGHUP)
                try await until("the notice") { door.errors.contains("the door has none; restart it") }
                #expect(try await door.curl("\(door.origin)/healthz").output == "ok\n")
                #expect(try await door.stop() == .exited(0))
            }
        }

        @Test(.enabled(if: isAvailable(program("systemd-socket-activate") != nil), "needs systemd"))
        func `a socket of systemd is in place of an address`() async throws {
            try await Installation.with { installation in
                let port = try freePort()
                let door = try installation.start(
                    program: #require(program("systemd-socket-activate")),
                    [
                        "--listen", "127.0.0.1:\(port)", "--setenv", "SLUICE_DATA", "--setenv", "PATH",
                        "\(Installation.bin)/sluice", "door", "--log-format", "json",
                    ])
                try await until("the socket") { door.errors.contains("Listening on") }
                let response = try await installation.run(
                    program: "/usr/bin/curl", ["-sS", "-i", "http://127.0.0.1:\(port)/"])
                #expect(response.output.contains("HTTP/1.1 303 See Other"), "\(response.errors) \(door.errors)")
                // The connection waits in the socket: the response may come before the line of the log.
                try await until("the address in the log") {
                    door.errors.contains("\"url\":\"http://127.0.0.1:\(port)\"")
                }
                door.signal(SIGTERM)
                #expect(try await door.end(within: .seconds(20)) == .exited(0))
            }
        }
    }
}
