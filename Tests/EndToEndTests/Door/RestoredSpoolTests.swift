import Commands
import Foundation
import Host
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// A restore that makes the store older than the spool. The bytes that the door has acknowledged since are kept.
    ///
    /// Looked for other instances: a complete upload and its command are rows of one shard, so neither is missing alone; a
    /// restore of a store whose spool was not mounted ended all open uploads.
    @Suite(.filesOnly("a store on a server is restored with its server"))
    struct RestoredSpoolTests {
        /// Sends the first bytes of an upload of `length` bytes.
        /// - Returns: its id.
        private func create(
            _ door: DoorRig, _ bytes: [UInt8], length: Int
        ) async throws -> String {
            let file = try door.installation.directory.file("bytes", bytes)
            let created = try await door.curl(
                "-i", "-X", "POST", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Length: \(length)", "-H",
                "Content-Type: application/offset+octet-stream", "--data-binary", "@\(file)", door.endpoint)
            let line = created.output.split(whereSeparator: \.isNewline).first {
                $0.lowercased().hasPrefix("location: ")
            }
            return String(try #require(line?.split(separator: "/").last, "\(created.output)"))
        }

        private func append(_ door: DoorRig, _ bytes: [UInt8], to id: String, at offset: Int) async throws {
            let file = try door.installation.directory.file("bytes", bytes)
            let answer = try await door.curl(
                "-i", "-X", "PATCH", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Offset: \(offset)", "-H",
                "Content-Type: application/offset+octet-stream", "--data-binary", "@\(file)", "\(door.endpoint)/\(id)")
            #expect(answer.output.contains(" 204 "), "\(answer.output)")
        }

        @Test func `bytes that were acknowledged after the backup are kept`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let door = try await DoorRig(installation)
                let (first, second) = ([UInt8](repeating: 1, count: 3000), [UInt8](repeating: 2, count: 500_000))
                let open = try await create(door, first, length: 503_000)
                let empty = try await create(door, [], length: 500_000)
                let copy = "\(installation.directory.path)/copy"
                #expect(try await installation.sluice("backup", copy).code == 0)
                // Complete, and in the spool: no route delivers them.
                try await append(door, second, to: open, at: first.count)
                try await append(door, second, to: empty, at: 0)
                let large = try await create(door, second, length: second.count)
                let small = try await create(door, first, length: first.count)
                #expect(try await door.stop() == .exited(0))
                let restored = try await installation.sluice("restore", copy)
                #expect(restored.code == 0, "\(restored.errors)")

                try await door.start()
                let unclaimed = "\(DataDirectory(path: installation.data).uploads)/unclaimed"
                let kept = [open: first + second, empty: second, large: second, small: first]
                for (id, bytes) in kept { #expect(contents(of: "\(unclaimed)/\(id)") == bytes, "\(id)") }
                #expect(door.errors.contains("does not know all bytes in the spool"), "\(door.errors)")
                let doctor = try await installation.sluice("doctor")
                #expect(doctor.output.contains("\(unclaimed) has 4 files"), "\(doctor.output)")
                // A client that comes back goes on from what the store has.
                try await append(door, second, to: open, at: first.count)
                #expect(door.bytes(open) == first + second)

                // The spool was compared: what a crash leaves now was never acknowledged.
                let orphan = "\(DataDirectory(path: installation.data).uploads)/\(CommandID())"
                try Data(first).write(to: URL(fileURLWithPath: orphan))
                #expect(try await door.stop() == .exited(0))
                try await door.start()
                #expect(contents(of: orphan) == nil)
                #expect(try FileManager.default.contentsOfDirectory(atPath: unclaimed).count == 4)
            }
        }

        @Test func `a restore beside a spool that is not mounted ends no upload`() async throws {
            try await Installation.with(inProcess: false) { installation in
                let door = try await DoorRig(installation)
                let bytes = [UInt8](repeating: 1, count: 3000)
                let open = try await create(door, bytes, length: 4000)
                let copy = "\(installation.directory.path)/copy"
                #expect(try await installation.sluice("backup", copy).code == 0)
                let late = try await create(door, bytes, length: bytes.count)
                #expect(try await door.stop() == .exited(0))
                let spool = DataDirectory(path: installation.data).uploads
                let files = FileManager.default
                try files.moveItem(atPath: spool, toPath: spool + ".away")
                try files.createDirectory(atPath: spool, withIntermediateDirectories: false)
                let restored = try await installation.sluice("restore", copy)
                #expect(restored.code == 0, "\(restored.errors)")
                #expect(restored.output.contains("the door will not start yet: The spool \(spool) has no file"))
                try files.removeItem(atPath: spool)
                try files.moveItem(atPath: spool + ".away", toPath: spool)
                try await door.start()
                #expect(try await door.upload("\(door.endpoint)/\(open)")["offset"]?.integer == 3000)
                #expect(contents(of: "\(spool)/unclaimed/\(late)") == bytes)
            }
        }
    }
}
