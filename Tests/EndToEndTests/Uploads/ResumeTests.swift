import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// Uploads that were interrupted by the death of every process.
    struct ResumeTests {
        private static let size = 8_000_000

        /// Makes a file, and a tus server that takes half of it and then stops reading.
        private static func half(
            of installation: Installation
        ) async throws -> (MisbehavingReceiver, bytes: [UInt8], file: String) {
            let receiver = try await installation.receiver()
            receiver.on("/files", .answer(201, headers: ["Location": "/files/1"]))
            receiver.on("/files/1", .hang(.bytes(size / 2)))
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 251) }
            return (receiver, bytes, try installation.directory.file("a.bin", bytes))
        }

        /// From now on the server answers with its offset and takes the rest.
        private static func takeRest(_ receiver: MisbehavingReceiver) {
            receiver.on(
                "/files/1",
                .answer(200, headers: ["Upload-Offset": "\(size / 2)", "Upload-Length": "\(size)"]),
                .answer(204, headers: ["Upload-Offset": "\(size)"]))
        }

        @Test(.enabled(if: runsSlowTests, "slow")) func `a tus upload resumes after the death of every process`()
            async throws
        {
            try await Installation.with { installation in
                let (receiver, bytes, file) = try await Self.half(of: installation)
                let services = [try await installation.coordinator(), try await installation.worker()]
                let id = try await installation.sluice(
                    "put", file, "--to", "\(receiver.origin)/files", "--protocol", "tus"
                ).ids[0]
                try await until("half of the file") {
                    receiver.requests(to: "/files/1").last?.bytes == Self.size / 2
                }
                for service in services { service.signal(SIGKILL) }
                for service in services { _ = await service.end }

                Self.takeRest(receiver)
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let store = try installation.store()
                let command = try await installation.await(id, .success, in: store)
                #expect(command.claim == 2 && command.retries == 0)
                #expect(command.offset == Int64(Self.size))
                #expect(receiver.requests(to: "/files").count == 1)
                let requests = receiver.requests(to: "/files/1")
                #expect(requests.map(\.method) == ["PATCH", "HEAD", "PATCH"])
                #expect(requests.last?.sha256 == sha256(Array(bytes[(Self.size / 2)...])))
                #expect(requests.reduce(0) { $0 + $1.bytes } <= Self.size + 256 << 10)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a tus server that pauses for 5 s after each 4 MB is sent everything once, over one request`()
            async throws
        {
            try await Installation.with { installation in
                let receiver = try await installation.receiver()
                let bytes = [UInt8](repeating: 7, count: 16 << 20)
                receiver.on("/files", .answer(201, headers: ["Location": "/files/1"]))
                let answer = "answer 204 header \"Upload-Offset: \(bytes.count)\""
                receiver.on("/files/1", try Behaviour("read 4M; wait 5s; read 8M; wait 5s; read; \(answer)"))
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let file = try installation.directory.file("a.bin", bytes)
                let id = try await installation.sluice(
                    "put", file, "--to", "\(receiver.origin)/files", "--protocol", "tus"
                ).ids[0]
                try await until("the report that the receiver pauses") {
                    try await installation.sluice("network", "--json").lines
                        .map { try JSONValue(parsing: $0.utf8) }.contains {
                            $0["destination"]?.string == receiver.origin
                                && $0["reason"]?["rule"]?.string == "receiver"
                        }
                }
                let store = try installation.store()
                let command = try await installation.await(id, .success, in: store)
                #expect(command.claim == 1 && command.retries == 0)
                #expect(receiver.requests(to: "/files/1").map(\.method) == ["PATCH"])
                #expect(receiver.requests(to: "/files/1").map(\.bytes) == [bytes.count])
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `an interrupted upload resumes in another worker`() async throws {
            try await Installation.with { installation in
                let (receiver, _, file) = try await Self.half(of: installation)
                _ = try await installation.coordinator()
                let first = try await installation.worker()
                let put = try await installation.sluice(
                    "put", file, "--to", "\(receiver.origin)/files", "--protocol", "tus")
                let id = try #require(put.ids.first, "\(put.errors)")
                try await until("half of the file") {
                    receiver.requests(to: "/files/1").last?.bytes == Self.size / 2
                }
                func set(_ level: String) async throws {
                    let done = try await installation.sluice("network", "set", receiver.origin, "--level", level)
                    #expect(done.code == 0, "\(done.errors)")
                }
                try await set("offline")
                let store = try installation.store()
                try await installation.await(id, .new, in: store)
                let second = try await installation.worker()
                first.signal(SIGTERM)
                #expect(await first.end == .exited(0))
                Self.takeRest(receiver)
                try await set("auto")
                let command = try await installation.await(id, .success, in: store)
                #expect(command.claim == 2 && command.retries == 0 && command.crashes == 0)
                let seats = try store.timeline(id).filter { $0.status == .sent }.map(\.seat)
                #expect(seats.count == 2 && Set(seats).count == 2, "\(seats)")
                #expect(try await installation.workers() == [second.pid])
                let requests = receiver.requests(to: "/files/1")
                #expect(requests.map(\.method) == ["PATCH", "HEAD", "PATCH"])
                #expect(requests.reduce(0) { $0 + $1.bytes } <= Self.size + 256 << 10)
            }
        }

        @Test(.enabled(if: runsSlowTests, "slow"))
        func `a copy to a file URL resumes after the death of every process`() async throws {
            try await Installation.with { installation in
                let size = 1 << 30
                let file = try installation.directory.solidFile("a.bin", size)
                let target = try installation.directory.makeDirectory("target")
                let services = [try await installation.coordinator(), try await installation.worker()]
                let id = try await installation.sluice("put", file, "--to", "file://\(target)/").ids[0]
                func part() throws -> (path: String, size: Int)? {
                    let names = try FileManager.default.contentsOfDirectory(atPath: target)
                    guard let name = names.first(where: { $0.hasSuffix(".part") }) else { return nil }
                    var status = stat()
                    let path = "\(target)/\(name)"
                    return stat(path, &status) == 0 ? (path, Int(status.st_size)) : nil
                }
                try await until("the first 16 MB") { try part().map { $0.size > 16 << 20 } ?? false }
                for service in services { service.signal(SIGKILL) }
                for service in services { _ = await service.end }
                // Mark the copied part, so that the test can tell it from bytes that are copied again.
                let left = try #require(try part(), "the copy was faster than the test")
                let handle = try #require(FileHandle(forUpdatingAtPath: left.path))
                try handle.seek(toOffset: UInt64(left.size - 1))
                try handle.write(contentsOf: Data([7]))
                try handle.close()
                _ = try await installation.coordinator()
                _ = try await installation.worker()
                let command = try await installation.await(id, .success, in: try installation.store())
                #expect(command.claim == 2)
                #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["a.bin"])
                let copy = try #require(FileHandle(forReadingAtPath: "\(target)/a.bin"))
                #expect(try copy.seekToEnd() == UInt64(size))
                try copy.seek(toOffset: UInt64(left.size - 1))
                #expect(try copy.read(upToCount: 2) == Data([7, 0]))
                try copy.close()
            }
        }

        @Test func `an unknown protocol is refused, and the error lists the known ones`() async throws {
            try await Installation.with { installation in
                let file = try installation.directory.file("a", [1])
                let flag = try await installation.sluice(
                    "put", file, "--to", "http://127.0.0.1:1/x", "--protocol", "ftp")
                #expect(flag.code == 64)
                for name in ["put", "tus", "contentRange"] { #expect(flag.errors.contains(name)) }
                let payload = #"{"file":"\#(file)","to":"http://127.0.0.1:1/x","protocol":"ftp"}"#
                let submitted = try await installation.sluice("submit", "upload", "--payload", payload)
                #expect(submitted.code == 65)
                for name in ["put", "tus", "contentRange"] { #expect(submitted.errors.contains("“\(name)”")) }
            }
        }
    }
}
