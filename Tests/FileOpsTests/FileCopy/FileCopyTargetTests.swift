import Commands
import FileOps
import Foundation
import Operations
import Store
import TestSupport
import Testing

/// The targets that a copy may replace, and their permissions.
@Suite struct FileCopyTargetTests {
    private func type(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    private func permissions(_ path: String) throws -> Int? {
        try (FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test func `a FIFO and a socket are refused and not replaced`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            #expect(mkfifo("\(target)/fifo", 0o600) == 0)
            #expect(mknod("\(target)/socket", S_IFSOCK | 0o600, 0) == 0)
            for (name, kind) in [("fifo", S_IFIFO), ("socket", S_IFSOCK)] {
                let failure = try await harness.failure(file: file, to: "file://\(target)/\(name)")
                #expect(failure.fault == .final)
                #expect(failure.reason.contains("\(target)/\(name) is a"), "\(failure.reason)")
                #expect(type("\(target)/\(name)") == kind)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: target).sorted() == ["fifo", "socket"])
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a device"))
    func `a device is refused and not replaced`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            // A container may not be permitted to make a device.
            guard mknod("\(target)/null", S_IFCHR | 0o600, 0x103) == 0 else { return }
            let failure = try await harness.failure(file: file, to: "file://\(target)/null")
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("is a device"), "\(failure.reason)")
            #expect(type("\(target)/null") == S_IFCHR)
        }
    }

    @Test func `a symbolic link is kept, and its target is replaced`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            let real = try harness.directory.makeDirectory("real")
            _ = try harness.directory.file("real/old", [1, 2])
            // Absolute, relative, through another link, and dangling.
            #expect(symlink("\(real)/old", "\(target)/absolute") == 0)
            #expect(symlink("../real/relative", "\(target)/relative") == 0)
            #expect(symlink("relative2", "\(target)/chain") == 0)
            #expect(symlink("../real/chained", "\(target)/relative2") == 0)
            for (name, reached) in [("absolute", "old"), ("relative", "relative"), ("chain", "chained")] {
                _ = try await harness.upload(file: file, to: "file://\(target)/\(name)")
                #expect(type("\(target)/\(name)") == S_IFLNK)
                #expect(contents(of: "\(real)/\(reached)") == [4])
            }
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: real).sorted() == ["chained", "old", "relative"])
        }
    }

    @Test func `looping and dangling links are refused by name`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            #expect(symlink("loop", "\(target)/loop") == 0)
            #expect(symlink("missing/x", "\(target)/dangling") == 0)
            for (name, words) in [("loop", "symbolic links"), ("dangling", "\(target)/missing does not exist")] {
                let failure = try await harness.failure(file: file, to: "file://\(target)/\(name)")
                #expect(failure.fault == .final)
                #expect(failure.reason.contains(words), "\(failure.reason)")
                #expect(type("\(target)/\(name)") == S_IFLNK)
            }
        }
    }

    @Test func `a slash before a combining mark separates names`() async throws {
        try await withTarget { harness, target in
            // Unicode joins the mark at the start of the name and the slash into one character.
            let name = "\u{301}x"
            let file = try harness.directory.file("a", [4])
            _ = try await harness.upload(file: file, to: "file://\(target)/%CC%81x")
            #expect(contents(of: "\(target)/\(name)") == [4])
            let source = try harness.directory.file("source", [5])
            let marked = "\(harness.directory.path)/\(name)"
            #expect(rename(source, marked) == 0)
            _ = try await harness.upload(file: marked, to: "file://\(target)/")
            #expect(contents(of: "\(target)/\(name)") == [5])
            let found = try FileManager.default.contentsOfDirectory(atPath: target)
            #expect(found.map { Array($0.utf8) } == [Array(name.utf8)])
        }
    }

    @Test func `the target of a spooled file gets the source's permissions, and the spooled copy is private`()
        async throws
    {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            for (mode, umask, expected) in [(0o644, 0, 0o644), (0o755, 0o022, 0o755), (0o666, 0o027, 0o640)] {
                chmod(file, mode_t(mode))
                let spool = Spool(directory: try harness.directory.makeDirectory("spool"), umask: UInt32(umask))
                let payload = try spool.take(["file": .string(file), "to": .string("file://\(target)/x")])
                #expect(try permissions(#require(payload["file"]?.string)) == 0o600)
                _ = try await harness.run(UploadHarness.execution(try harness.operation.inspect(payload)).execution)
                #expect(try permissions("\(target)/x") == expected)
                unlink("\(target)/x")
            }
        }
    }

    @Test func `a file that is replaced keeps its permissions`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            _ = try await harness.upload(file: file, to: "file://\(target)/x")
            #expect(chmod("\(target)/x", 0o600) == 0 && chmod(file, 0o644) == 0)
            _ = try await harness.upload(file: file, to: "file://\(target)/x")
            #expect(try permissions("\(target)/x") == 0o600)
        }
    }

    @Test func `the umask of the submitting process applies to files that are not spooled`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            chmod(file, 0o666)
            let operation = UploadOperation(submission: .init(umask: 0o022))
            let attributes = try operation.inspect(["file": .string(file), "to": .string("file://\(target)/x")])
            #expect(attributes.payload?["mode"] == "644")
            _ = try await harness.run(UploadHarness.execution(attributes).execution)
            #expect(try permissions("\(target)/x") == 0o644)
        }
    }

    @Test(arguments: ["8", "64", "1777", "0o64", "-64", "rw-"])
    func `a mode that is not octal is refused`(_ mode: String) throws {
        let error = #expect(throws: PayloadError.self) {
            try UploadOperation().inspect(["file": "/etc/hostname", "to": "file:///x", "mode": .string(mode)])
        }
        #expect(error?.problem == .data)
        #expect(error?.message.contains("mode") == true)
    }
}
