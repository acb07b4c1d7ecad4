import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// The words of a door and of the programs beside it for routes that are gone, rights that end, and a busy store.
    @Suite struct UploadStatementTests {
        private static func configure(_ yaml: String, _ installation: Installation) throws {
            try FileManager.default.createDirectory(
                atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Data(yaml.utf8).write(to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
        }

        /// Creates an upload with its first bytes.
        /// - Returns: its URL.
        private static func upload(
            _ count: Int, of length: Int, query: String = "", to door: DoorRig
        ) async throws -> String {
            let part = try door.installation.directory.file("part", [UInt8](repeating: 7, count: count))
            let created = try await door.curl(
                "-i", "-X", "POST", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Length: \(length)", "-H",
                "Content-Type: application/offset+octet-stream", "--data-binary", "@\(part)", door.endpoint + query)
            let line = created.output.split(whereSeparator: \.isNewline).first {
                $0.lowercased().hasPrefix("location: ")
            }
            return String(try #require(line, "\(created.output)").dropFirst("location: ".count))
        }

        @Test func `a route that is gone while uploads to it are open is named, and their bytes stay`() async throws {
            try await Installation.with { installation in
                try Self.configure("routes: {media: {}, other: {}}\n", installation)
                let door = try await DoorRig(installation)
                let url = try await Self.upload(100, of: 200, query: "?route=media", to: door)
                #expect(try await door.stop() == .exited(0))
                try Self.configure("routes: {other: {}}\n", installation)
                try await door.start()
                let words = "1 open upload of the route “media”, which is not in sluice.yaml"
                try await until("the warning") { door.errors.contains(words) }
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.output.contains(words), "\(doctor.output)")
                #expect(try await door.upload(url)["offset"] == 100)
            }
        }

        @Test func `a token that is revoked while its body runs sends no more, and completes no upload`()
            async throws
        {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let made = try await installation.sluice("token", "create", "studio", "--scope", "upload")
                let token = try #require(made.lines.first, "\(made.errors)")
                let path = try installation.directory.file("body", [UInt8](repeating: 9, count: 4_000_000))
                let slow = try installation.start(
                    program: "/usr/bin/curl",
                    [
                        "-sS", "-i", "-H", "Authorization: Bearer \(token)", "-H", "Tus-Resumable: 1.0.0", "-H",
                        "Upload-Length: 4000000", "-H", "Content-Type: application/offset+octet-stream", "-H",
                        "Expect:", "--limit-rate", "300k", "--data-binary", "@\(path)", door.endpoint,
                    ])
                try await door.receiveFirstBytes(or: slow)
                #expect(try await installation.sluice("token", "revoke", "studio").code == 0)
                _ = try await slow.end(within: .seconds(60))
                #expect(slow.output.contains("401 Unauthorized"), "\(slow.output)\(slow.errors)")
                let uploads = try await installation.sluice("uploads", "list", "--json").lines
                let states = try uploads.map { try JSONValue(parsing: Array($0.utf8))["state"]?.string }
                #expect(states == ["open"], "\(uploads)")
            }
        }

        @Test func `a client is told only that the store is busy, and the log names the cause`()
            async throws
        {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let url = try await Self.upload(100, of: 200, to: door)
                let id = try #require(url.split(separator: "/").last.flatMap { CommandID(String($0)) })
                let lock = try await ShardLock(id.shard(of: 8), of: installation)
                let refused = try await door.curl(
                    "-i", "-X", "PATCH", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Offset: 100", "-H",
                    "Content-Type: application/offset+octet-stream", "--data-binary",
                    "@\(installation.directory.path)/part", url)
                try await lock.release()
                #expect(refused.output.contains(" 503 "), "\(refused.output)")
                #expect(refused.output.contains("The store is busy; try again."), "\(refused.output)")
                #expect(!refused.output.contains(installation.data) && !refused.output.contains("\(getpid())"))
                let cause = installation.serverStore == nil ? "process \(getpid()) (" : "lock timeout"
                #expect(door.errors.contains(cause), "\(door.errors)")
            }
        }
    }
}
