import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// A spool without room: every place says the same.
    struct SpoolRoomTests {
        @Test func `doctor, status, the page and readyz show the figures by which uploads are refused`() async throws {
            try await Installation.with { installation in
                try FileManager.default.createDirectory(
                    atPath: installation.data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
                )
                try Data("door: {uploadQuota: 3000000, minFreeSpace: 0, tokenQuota: 3000000}\n".utf8).write(
                    to: URL(fileURLWithPath: "\(installation.data)/sluice.yaml"))
                let door = try await DoorRig(installation)
                let file = try installation.directory.file("full", [UInt8](repeating: 1, count: 3_000_000))
                #expect(try await door.curl("-i", "-T", file, door.endpoint).output.contains(" 201 "))
                let refused = try await door.curl("-i", "-T", file, door.endpoint).output
                #expect(refused.contains(" 507 ") && refused.contains("room for 0 more bytes"), "\(refused)")

                let sentence = "ploads are refused: the spool has 3.0 MB, and its quota is 3.0 MB"
                let ready = try await door.curl("-i", "\(door.origin)/readyz").output
                #expect(ready.contains(" 503 ") && ready.contains(sentence), "\(ready)")
                let page = try await door.curl("-H", "Accept: text/html", "\(door.origin)/").output
                #expect(page.contains(sentence), "\(page)")
                // Other processes read the figures that the door tells once a second.
                try await until("doctor and status") {
                    let doctor = try await installation.sluice("doctor")
                    let status = try await installation.sluice("status")
                    return doctor.code == 1 && doctor.output.contains(sentence) && status.output.contains(sentence)
                }
                let id = try #require(
                    try await installation.sluice("uploads", "list", "--json").json()["id"]?.string)
                #expect(try await installation.sluice("uploads", "remove", id).code == 0)
                try await until("room", within: .seconds(60)) {
                    try await door.curl("-i", "\(door.origin)/readyz").output.contains("ploads are refused") == false
                }
            }
        }
    }
}
