import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A spool that is not mounted when the door starts.
    @Suite struct MissingSpoolTests {
        @Test func `the door does not start without its spool, and an open upload goes on when it is back`()
            async throws
        {
            try await Installation.with { installation in
                let door = try await DoorRig(installation)
                let part = try installation.directory.file("part", [UInt8](repeating: 7, count: 400_000))
                let created = try await door.curl(
                    "-i", "-X", "POST", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Length: 1000000", "-H",
                    "Content-Type: application/offset+octet-stream", "--data-binary", "@\(part)", door.endpoint)
                let line = created.output.split(whereSeparator: \.isNewline).first {
                    $0.lowercased().hasPrefix("location: ")
                }
                let url = String(try #require(line, "\(created.output)").dropFirst("location: ".count))
                func head() async throws -> String {
                    try await door.curl("-I", "-H", "Tus-Resumable: 1.0.0", url).output.lowercased()
                }
                #expect(try await head().contains("upload-offset: 400000"))
                #expect(try await door.stop() == .exited(0))

                let uploads = DataDirectory(path: installation.data).uploads
                try FileManager.default.moveItem(atPath: uploads, toPath: uploads + ".away")
                let refused = try await installation.sluice("door", "--listen", "127.0.0.1:\(door.port)")
                #expect(refused.code == 75, "\(refused.errors)")
                #expect(refused.errors.contains("\(uploads) has no file of the 1 open upload"), "\(refused.errors)")
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.output.contains("“sluice door --accept-lost-uploads”"), "\(doctor.output)")
                try FileManager.default.removeItem(atPath: uploads)
                try FileManager.default.moveItem(atPath: uploads + ".away", toPath: uploads)
                try await door.start()
                #expect(try await head().contains("upload-offset: 400000"))
                #expect(try await door.stop() == .exited(0))

                // One file alone: its upload waits, and is not gone.
                let name = try #require(url.split(separator: "/").last)
                let away = "\(installation.directory.path)/away"
                try FileManager.default.moveItem(atPath: "\(uploads)/\(name)", toPath: away)
                try await door.start()
                #expect(try await head().contains(" 423 "))
                try FileManager.default.moveItem(atPath: away, toPath: "\(uploads)/\(name)")
                #expect(try await head().contains("upload-offset: 400000"))
                #expect(try await door.stop() == .exited(0))

                // A restore is the word of a person: what is not in the spool is lost. A server is restored by its own means.
                guard installation.serverStore == nil else { return }
                let copy = "\(installation.directory.path)/copy"
                #expect(try await installation.sluice("backup", copy).code == 0)
                try FileManager.default.removeItem(atPath: "\(uploads)/\(name)")
                let restored = try await installation.sluice("restore", copy)
                #expect(
                    restored.code == 0 && restored.output.contains("1 open upload ended"),
                    "\(restored.output)\(restored.errors)")
                try await door.start()
                #expect(try await head().contains(" 410 "))
            }
        }
    }
}
