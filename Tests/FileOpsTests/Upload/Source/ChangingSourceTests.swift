import Commands
import FileOps
import Foundation
import Operations
import Store
import TestSupport
import Testing

/// Sources without a stated size, sources that grow, and sources without stable inode numbers.
@Suite struct ChangingSourceTests {
    private func withHarness(_ body: (UploadHarness, Spool) async throws -> Void) async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        try await body(harness, Spool(directory: try harness.directory.makeDirectory("spool")))
    }

    private func append(_ bytes: [UInt8], to file: String, at offset: Int? = nil) {
        let descriptor = open(file, O_WRONLY)
        defer { close(descriptor) }
        var status = stat()
        fstat(descriptor, &status)
        #expect(pwrite(descriptor, bytes, bytes.count, offset.map { off_t($0) } ?? status.st_size) == bytes.count)
    }

    @Test(arguments: ["/proc/cpuinfo", "/proc/self/status", "/sys/kernel/uevent_seqnum"])
    func `a file without a stated size is refused at submit and spooled to its end`(_ file: String) async throws {
        try await withHarness { harness, spool in
            guard let content = contents(of: file) else { return }
            let target = harness.directory.path
            let payload: JSONValue = ["file": .string(file), "to": .string("file://\(target)/x")]
            let error = #expect(throws: PayloadError.self) { try harness.operation.inspect(payload) }
            #expect(error?.problem == .source)
            #expect(error?.message == "\(file) does not state its size; use --spool")
            _ = try UploadOperation(submission: .init(isSpooled: true)).inspect(payload)
            let spooled = try spool.take(payload)
            let attributes = try harness.operation.inspect(spooled)
            #expect(attributes.total > 0)
            _ = try await harness.run(UploadHarness.execution(attributes).execution)
            let copied = try #require(contents(of: "\(target)/x"))
            // Some of these files change between two reads.
            #expect(copied.prefix(5) == content.prefix(5))
            #expect(Int64(copied.count) == attributes.total)
        }
    }

    @Test func `an empty file is a file like any other`() async throws {
        try await withHarness { harness, _ in
            let file = try harness.directory.file("a", [])
            _ = try await harness.upload(file: file, to: "file://\(harness.directory.path)/x")
            #expect(contents(of: "\(harness.directory.path)/x") == [])
        }
    }

    @Test func `a source that only grows is spooled up to the size that it had`() async throws {
        try await withHarness { harness, spool in
            let bytes = sample(9_000_000)
            let file = try harness.directory.file("log", bytes)
            var reports = 0
            let payload = try spool.take(
                ["file": .string(file), "to": "http://h/in/"],
                copied: { _ in
                    reports += 1
                    append([1, 2, 3], to: file)
                })
            #expect(reports > 0)
            #expect(contents(of: try #require(payload["file"]?.string)) == bytes)
        }
    }

    @Test func `a source that changes in place is spooled again`() async throws {
        try await withHarness { harness, spool in
            let file = try harness.directory.file("a", sample(9_000_000))
            var total: Int64 = 0
            var isChanged = false
            let payload = try spool.take(
                ["file": .string(file), "to": "http://h/in/"],
                copied: { bytes in
                    total += bytes
                    guard !isChanged else { return }
                    isChanged = true
                    append([1, 2, 3], to: file, at: 0)
                })
            #expect(total == 9_000_000, "bytes that were copied twice count once")
            #expect(contents(of: try #require(payload["file"]?.string)) == contents(of: file))
        }
    }

    @Test func `a source that changes all the time is refused without the advice to spool it`() async throws {
        try await withHarness { harness, spool in
            let file = try harness.directory.file("a", sample(9_000_000))
            var value: UInt8 = 0
            let error = #expect(throws: PayloadError.self) {
                try spool.take(
                    ["file": .string(file), "to": "http://h/in/"],
                    copied: { _ in
                        value &+= 1
                        append([value], to: file, at: 0)
                    })
            }
            #expect(error?.problem == .source)
            #expect(error?.message.contains("changed while it was copied") == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("--spool") == false)
            #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).isEmpty)
        }
    }

    @Test(.enabled(if: isAvailable(FuseMount.isAvailable), "only root can mount, and bindfs makes a FUSE file system"))
    func `a source keeps its identity on a file system that assigns new inode numbers at each mount`() async throws {
        try await withHarness { harness, _ in
            let source = try harness.directory.makeDirectory("source")
            let mounted = try harness.directory.makeDirectory("mounted")
            let file = try harness.directory.file("source/a", [1, 2, 3])
            let first = try await FuseMount(of: source, at: mounted)
            let attributes = try harness.operation.inspect([
                "file": .string("\(mounted)/a"), "to": .string("file://\(harness.directory.path)/x"),
            ])
            await first.end()
            // A file with the same size and time, but another inode number.
            var before = stat()
            #expect(stat(file, &before) == 0)
            let other = try harness.directory.file("source/b", [1, 2, 3])
            var times = [before.st_atim, before.st_mtim]
            #expect(utimensat(AT_FDCWD, other, &times, 0) == 0)
            #expect(rename(other, file) == 0)
            let second = try await FuseMount(of: source, at: mounted)
            var after = stat()
            #expect(stat("\(mounted)/a", &after) == 0)
            #expect(before.st_ino != after.st_ino)
            let outcome = try await harness.run(UploadHarness.execution(attributes).execution)
            await second.end()
            #expect(outcome["bytes"] == 3)
        }
    }
}
