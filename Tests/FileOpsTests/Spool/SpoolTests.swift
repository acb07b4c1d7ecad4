import Commands
import FileOps
import Foundation
import Operations
import Store
import TestSupport
import Testing

@Suite struct SpoolTests {
    private func withSpool(_ body: (Spool, UploadHarness) async throws -> Void) async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        try await body(Spool(directory: try harness.directory.makeDirectory("spool")), harness)
    }

    @Test(arguments: [0, 5_000_000])
    func `a spooled copy is private and keeps the original's name`(_ size: Int) async throws {
        try await withSpool { spool, harness in
            let bytes = sample(size)
            let file = try harness.directory.file("a b.jpg", bytes)
            let payload = try spool.take(["file": .string(file), "to": "http://h/in/"])
            let copy = try #require(payload["file"]?.string)
            #expect(copy.hasPrefix(spool.directory + "/"))
            #expect(contents(of: copy) == bytes)
            // For a large file it is unknown whether the URL is a directory or an endpoint.
            #expect(payload["to"]?.string == (size == 0 ? "http://h/in/a%20b.jpg" : "http://h/in/"))
            #expect(payload["name"]?.string == "a b.jpg")
            #expect(payload["removeSource"]?.bool == true)
            #expect(payload["headers"]?["Content-Type"]?.string == "image/jpeg")
            let attributes = try FileManager.default.attributesOfItem(atPath: copy)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            #expect(try harness.operation.inspect(payload).total == Int64(size))
        }
    }

    @Test(arguments: ["in/", "", "in/other.bin"])
    func `a spooled copy for S3 keeps the key and the media type of the original`(_ key: String) async throws {
        try await withSpool { spool, harness in
            let file = try harness.directory.file("a b.jpg", sample(1000))
            let payload: JSONValue = [
                "file": .string(file), "endpoint": "http://h", "bucket": "media", "key": .string(key),
            ]
            let staged = try spool.take(payload, of: CommandType.s3)
            let copy = try #require(staged["file"]?.string)
            #expect(copy.hasPrefix(spool.directory + "/") && contents(of: copy) == sample(1000))
            #expect(staged["key"]?.string == ["in/": "in/a b.jpg", "": "a b.jpg"][key, default: key])
            #expect(staged["contentType"]?.string == "image/jpeg" && staged["removeSource"]?.bool == true)
            let target = Spool(directory: try harness.directory.makeDirectory("target"))
            let adopted = try target.adopt(staged)
            #expect(adopted["file"]?.string?.hasPrefix(target.directory + "/") == true)
            #expect(adopted["key"] == staged["key"] && adopted["bucket"]?.string == "media")
            let removing = JSONValue.object((payload.members ?? []) + [.init("removeSource", true)])
            #expect(throws: PayloadError.self) { try spool.take(removing, of: CommandType.s3) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).isEmpty)
        }
    }

    @Test func `a spooled copy is delivered without its original and then deleted`() async throws {
        try await withReceiver { receiver, harness in
            let spool = Spool(directory: try harness.directory.makeDirectory("spool"))
            let file = try harness.directory.file("a", sample(1000))
            let payload = try spool.take(["file": .string(file), "to": .string("\(receiver.origin)/in/")])
            unlink(file)
            let attributes = try harness.operation.inspect(payload)
            _ = try await harness.run(UploadHarness.execution(attributes).execution)
            #expect(receiver.requests.first?.target == "/in/a")
            #expect(receiver.requests.first?.isWhole == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).isEmpty)
        }
    }

    @Test(
        .enabled(
            if: geteuid() == 0 && isAvailable(program("mkfs.xfs") != nil),
            "only root can mount a file system, and mkfs.xfs makes one"))
    func `a copy shares the blocks of the original where the file system can`() async throws {
        try await withSpool { spool, harness in
            let directory = harness.directory.path
            func run(_ name: String, _ arguments: String...) async throws -> Bool {
                let child = try ChildProcess(
                    [try #require(program(name), "\(name) is not installed")] + arguments, log: "\(directory)/\(name)")
                return try await child.end(within: .seconds(30)) == .exited(0)
            }
            let image = try harness.hollowFile(400 << 20, name: "image")
            let mounted = try harness.directory.makeDirectory("mounted")
            try #require(try await run("mkfs.xfs", "-q", image))
            // A container may not be permitted to mount; then there is nothing to test.
            guard try await run("mount", "-o", "loop", image, mounted) else { return }
            defer { umount2(mounted, CInt(MNT_DETACH)) }
            let size = 32 << 20
            let bytes = sample(size)
            let file = "\(mounted)/a"
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            sync()
            func free() -> Int {
                var status = statvfs()
                return statvfs(mounted, &status) == 0 ? Int(status.f_bfree * status.f_bsize) : 0
            }
            let before = free()
            let payload = try Spool(directory: mounted).take(["file": .string(file), "to": "http://h/in/"])
            sync()
            #expect(before - free() < size / 8, "\(before) bytes were free, and \(free()) are")
            #expect(contents(of: try #require(payload["file"]?.string)) == bytes)
        }
    }

    @Test func `an invalid upload is not spooled`() async throws {
        try await withSpool { spool, harness in
            let file = try harness.directory.file("a", [1])
            let bad: [JSONValue] = [
                ["file": "/nonexistent", "to": "http://h/x"], ["file": .string(file), "to": "ftp://h/x"],
                ["file": .string(file), "to": "http://h/x", "removeSource": true], ["to": "http://h/x"],
            ]
            for payload in bad { #expect(throws: PayloadError.self) { try spool.take(payload) } }
            #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).isEmpty)
        }
    }

    @Test func `a copy moves to another spool, and its payload with it`() async throws {
        try await withSpool { spool, harness in
            let file = try harness.directory.file("a", [1, 2, 3])
            let stage = Spool(directory: try harness.directory.makeDirectory("spool/stage"))
            let staged = try stage.take(["file": .string(file), "to": "http://h/in/"])
            let payload = try spool.adopt(staged)
            try spool.sync()
            let copy = try #require(payload["file"]?.string)
            #expect(copy.hasPrefix(spool.directory + "/") && !copy.hasPrefix(stage.directory))
            #expect(contents(of: copy) == [1, 2, 3])
            #expect(payload["name"]?.string == "a")
            #expect(try FileManager.default.contentsOfDirectory(atPath: stage.directory).isEmpty)
            // The copy has left the other spool.
            #expect(throws: SpoolError.self) { try spool.adopt(staged) }
        }
    }

    @Test func `an unusable spool is an error that names it`() async throws {
        try await withSpool { _, harness in
            let spool = Spool(directory: try harness.directory.file("other", []))
            let file = try harness.directory.file("a", [1])
            let error = #expect(throws: SpoolError.self) {
                try spool.take(["file": .string(file), "to": "http://h/x"])
            }
            #expect(error?.isCreation == true)
            #expect(error?.description.contains(spool.directory) == true)
        }
    }

    @Test func `a spool discards its own copies only`() async throws {
        try await withSpool { spool, harness in
            let file = try harness.directory.file("a", [1])
            let payload = try spool.take(["file": .string(file), "to": "http://h/x"])
            spool.discard(["file": .string(file)])
            spool.discard(["file": .string("\(spool.directory)/../a")])
            #expect(access(file, F_OK) == 0)
            // A file with the name of a copy in another directory is not discarded either.
            let namesake = try harness.directory.file("\(CommandID())", [1])
            spool.discard(file: namesake)
            spool.discard(file: "\(spool.directory)/../\(namesake.split(separator: "/").last ?? "")")
            #expect(access(namesake, F_OK) == 0)
            spool.discard(payload)
            #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).isEmpty)
        }
    }

    @Test func `a spool recognizes its copies under any path of its directory`() async throws {
        try await withSpool { spool, harness in
            let file = try harness.directory.file("a", [1])
            let base = harness.directory.path
            #expect(symlink(base, "\(base)/link") == 0)
            for spelling in ["\(base)//spool/", "\(base)/./spool", "\(base)/spool/../spool", "\(base)/link/spool"] {
                let other = Spool(directory: spelling)
                other.discard(try spool.take(["file": .string(file), "to": "http://h/x"]))
                spool.discard(try other.take(["file": .string(file), "to": "http://h/x"]))
                #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).isEmpty, "\(spelling)")
            }
        }
    }

    @Test func `the progress of a copy is reported, and an aborted copy is deleted`() async throws {
        try await withSpool { spool, harness in
            let file = try harness.directory.file("a", sample(9_000_000))
            var began: [String] = []
            var bytes: Int64 = 0
            let payload = try spool.take(["file": .string(file), "to": "http://h/x"]) {
                began.append($0)
            } copied: {
                bytes += $0
            }
            let copy = try #require(payload["file"]?.string)
            #expect(began == [copy])
            #expect(bytes == 9_000_000)
            spool.discard(payload)
            #expect(throws: CancellationError.self) {
                try spool.take(["file": .string(file), "to": "http://h/x"], began: { _ in throw CancellationError() })
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).isEmpty)
        }
    }
}
