import Commands
import Foundation
import Operations
import TestSupport
import Testing

/// Copies that continue the part of an earlier execution.
@Suite struct FileCopyResumeTests {
    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    private static let size = 20 << 20

    /// Prepares the part of an execution with claim 1: 18 MB of a byte that the source does not contain.
    private func withPart(
        boot: String? = nil, synced: Int = 5 << 20,
        _ body: (UploadHarness, String, RepeatedUpload, _ file: String, _ part: String) async throws -> Void
    ) async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.solidFile("solid", Self.size)
            let upload = try RepeatedUpload(harness, file: file, to: "file://\(target)/x", "put")
            let first = upload.next().execution
            let source = try #require(try JSONValue(parsing: first.payload)["source"])
            let here = String(decoding: contents(of: "/proc/sys/kernel/random/boot_id") ?? [], as: UTF8.self)
            let running = here.trimmingCharacters(in: .newlines)
            upload.setCheckpoint([
                "copy": .string(boot ?? running), "synced": .integer(Int64(synced)), "source": source,
            ])
            let part = try harness.directory.file(
                "target/.x.\(upload.id).1.part", [UInt8](repeating: 7, count: 18 << 20))
            try await body(harness, target, upload, file, part)
        }
    }

    /// The number of bytes of the earlier execution at the start of the file. All other bytes are zero.
    private func adopted(_ path: String) throws -> Int {
        let bytes = try #require(contents(of: path))
        let count = bytes.firstIndex { $0 != 7 } ?? bytes.count
        #expect(bytes.count == Self.size)
        #expect(bytes[count...].allSatisfy { $0 == 0 })
        return count
    }

    @Test func `a copy continues the part of an execution that died`() async throws {
        try await withPart { harness, target, upload, _, _ in
            let (execution, meter) = upload.next()
            _ = try await harness.run(execution)
            #expect(try names(target) == ["x"])
            #expect(try adopted("\(target)/x") == 18 << 20)
            #expect(meter.reading.bytes == Int64(2 << 20))
            #expect(meter.reading.offset == Int64(Self.size) && meter.reading.isResumable)
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"), arguments: [0, 5 << 20, 100 << 20])
    func `a copy continues from the synced bytes after a reboot`(_ synced: Int) async throws {
        try await withPart(boot: "another", synced: synced) { harness, target, upload, _, _ in
            let (execution, meter) = upload.next()
            _ = try await harness.run(execution)
            let expected = min(synced, 18 << 20)
            #expect(try adopted("\(target)/x") == expected)
            #expect(meter.reading.bytes == Int64(Self.size - expected))
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a copy starts over without a checkpoint, without a part or with another source`() async throws {
        try await withPart { harness, target, upload, _, _ in
            upload.setCheckpoint(nil)
            _ = try await upload.run()
            #expect(try names(target) == ["x"])
            #expect(try adopted("\(target)/x") == 0)
        }
        try await withPart { harness, target, upload, _, part in
            unlink(part)
            _ = try await upload.run()
            #expect(try adopted("\(target)/x") == 0)
        }
        try await withPart { harness, target, upload, file, part in
            #expect(truncate(file, off_t(Self.size) - 1) == 0)
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(try names(target).isEmpty, "no execution will continue it")
        }
    }

    @Test func `a final failure deletes the parts of earlier executions`() async throws {
        try await withPart { harness, target, upload, _, _ in
            #expect(mkdir("\(target)/x", 0o700) == 0)
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(try names(target) == ["x"])
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a copy never writes into a link or a hard-linked file`() async throws {
        try await withPart { harness, target, upload, _, part in
            let other = try harness.directory.file("other", [1, 2, 3])
            unlink(part)
            #expect(symlink(other, part) == 0)
            _ = try await upload.run()
            #expect(contents(of: other) == [1, 2, 3])
            #expect(try names(target) == ["x"])
            #expect(try adopted("\(target)/x") == 0)
        }
        try await withPart { harness, target, upload, _, part in
            let other = "\(harness.directory.path)/other"
            #expect(link(part, other) == 0)
            _ = try await upload.run()
            #expect(contents(of: other)?.count == 18 << 20)
            #expect(try adopted("\(target)/x") == 0)
        }
    }

    @Test(.enabled(if: runsSlowTests, "takes 5 s"))
    func `a part that is locked by a hung call is not continued`() async throws {
        try await withPart { harness, target, upload, _, part in
            // A hung call holds the lock in the same way.
            let late = open(part, O_WRONLY)
            defer { close(late) }
            #expect(flock(late, LOCK_EX | LOCK_NB) == 0)
            _ = try await upload.run()
            #expect(pwrite(late, [9, 9, 9], 3, 0) == 3)
            #expect(rename(part, "\(target)/x") != 0)
            #expect(try names(target) == ["x"])
            #expect(try adopted("\(target)/x") == 0)
        }
    }

    @Test func `a released copy keeps its part, and the next execution continues it`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.solidFile("solid", 256 << 20)
            let upload = try RepeatedUpload(harness, file: file, to: "file://\(target)/x", "put")
            let (first, meter) = upload.next()
            let task = Task { try await harness.run(first) }
            try await until("the first bytes") { meter.reading.bytes > 0 }
            meter.release()
            task.cancel()
            await #expect(throws: CommandFailure.self) { try await task.value }
            #expect(try names(target) == [".x.\(upload.id).1.part"])
            #expect(upload.checkpoint?["copy"] != nil)
            let (second, rest) = upload.next()
            _ = try await harness.run(second)
            #expect(meter.reading.bytes + rest.reading.bytes == Int64(256 << 20))
            #expect(try names(target) == ["x"])
        }
    }
}
