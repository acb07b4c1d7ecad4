import Commands
import FileOps
import Foundation
import Operations
import Store
import TestSupport
import Testing

/// Files with holes.
@Suite struct SparseFileTests {
    private func status(_ path: String) throws -> stat {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status
    }

    private func holes(_ file: String, _ size: Int, data: [Int]) throws {
        let descriptor = open(file, O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let block = sample(64 << 10)
        for offset in data { #expect(pwrite(descriptor, block, block.count, off_t(offset)) == block.count) }
        #expect(ftruncate(descriptor, off_t(size)) == 0)
    }

    /// The blocks of a copy that cp makes of the file.
    private func blocksOfCopy(_ file: String, _ harness: UploadHarness) async throws -> Int {
        let copy = "\(harness.directory.path)/by-cp"
        let child = try ChildProcess(
            [try #require(program("cp")), "--sparse=auto", "--reflink=never", file, copy],
            log: "\(harness.directory.path)/cp")
        #expect(try await child.end(within: .seconds(30)) == .exited(0))
        sync()
        return Int(try status(copy).st_blocks)
    }

    @Test(arguments: [[0, 8 << 20, 40 << 20], [1 << 20], [], [48 << 20 - 64 << 10]])
    func `a copy has the blocks that cp gives it, and all its bytes`(_ data: [Int]) async throws {
        try await withTarget { harness, target in
            let size = 48 << 20
            let file = "\(harness.directory.path)/a"
            try holes(file, size, data: data)
            let (execution, meter) = try harness.execution(file: file, to: "file://\(target)/x")
            _ = try await harness.run(execution)
            sync()
            #expect(try await Int(status("\(target)/x").st_blocks) == blocksOfCopy(file, harness))
            #expect(
                try Data(contentsOf: URL(fileURLWithPath: "\(target)/x"))
                    == Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(meter.reading.offset == Int64(size) && meter.reading.total == Int64(size))
            #expect(meter.reading.bytes == Int64(data.count * 64 << 10), "what moves is data")
        }
    }

    @Test func `a hole of four gigabytes costs neither disk space nor time`() async throws {
        try await withTarget { harness, target in
            let file = try harness.hollowFile(4 << 30)
            let (execution, meter) = try harness.execution(file: file, to: "file://\(target)/x")
            let began = ContinuousClock.now
            _ = try await harness.run(execution)
            #expect(ContinuousClock.now - began < .seconds(2))
            let made = try status("\(target)/x")
            #expect(made.st_size == 4 << 30)
            #expect(made.st_blocks * 512 < 1 << 20)
            #expect(meter.reading.offset == 4 << 30)
        }
    }

    @Test func `a spooled copy has the holes of its source`() async throws {
        try await withTarget { harness, _ in
            let file = "\(harness.directory.path)/a"
            try holes(file, 48 << 20, data: [0, 8 << 20])
            var copied: Int64 = 0
            let spool = Spool(directory: try harness.directory.makeDirectory("spool"))
            let payload = try spool.take(["file": .string(file), "to": "http://h/in/"], copied: { copied += $0 })
            let copy = try #require(payload["file"]?.string)
            sync()
            #expect(copied == 48 << 20)
            #expect(try await Int(status(copy).st_blocks) <= blocksOfCopy(file, harness))
            #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == Data(contentsOf: URL(fileURLWithPath: file)))
        }
    }

    @Test func `a resumed copy keeps the holes of the rest`() async throws {
        try await withTarget { harness, target in
            let file = "\(harness.directory.path)/a"
            try holes(file, 48 << 20, data: [0, 4 << 20, 40 << 20])
            let upload = try RepeatedUpload(harness, file: file, to: "file://\(target)/x", "put")
            let (first, meter) = upload.next()
            first.pace.set(80 << 10)
            let task = Task { try await harness.run(first) }
            try await until("the first bytes") { meter.reading.bytes > 0 }
            meter.release()
            task.cancel()
            await #expect(throws: CommandFailure.self) { try await task.value }
            let (second, rest) = upload.next()
            _ = try await harness.run(second)
            sync()
            #expect(meter.reading.bytes + rest.reading.bytes == Int64(192 << 10))
            #expect(try await Int(status("\(target)/x").st_blocks) == blocksOfCopy(file, harness))
            #expect(
                try Data(contentsOf: URL(fileURLWithPath: "\(target)/x"))
                    == Data(contentsOf: URL(fileURLWithPath: file)))
        }
    }
}
