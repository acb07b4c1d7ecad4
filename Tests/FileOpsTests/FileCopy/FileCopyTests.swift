import Commands
import FileOps
import Foundation
import Operations
import TestSupport
import Testing

/// Uploads to `file:` URLs.
@Suite struct FileCopyTests {
    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    @Test(arguments: [0, 1, 9_000_001])
    func `a copy has every byte, and no other file remains`(_ size: Int) async throws {
        try await withTarget { harness, target in
            let bytes = sample(size)
            let file = try harness.directory.file("a b?.bin", bytes)
            chmod(file, 0o640)
            let (execution, meter) = try harness.execution(file: file, to: "file://\(target)/")
            let result = try await harness.run(execution)
            #expect(result == ["bytes": .integer(Int64(size))])
            #expect(try names(target) == ["a b?.bin"])
            #expect(contents(of: "\(target)/a b?.bin") == bytes)
            #expect(meter.reading.bytes == Int64(size))
            #expect(meter.reading.offset == Int64(size))
            #expect(meter.reading.total == Int64(size))
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(target)/a b?.bin")
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o640)
        }
    }

    @Test func `an existing target is replaced`() async throws {
        try await withTarget { harness, target in
            let old = try harness.directory.file("target/x", [1, 2, 3])
            let file = try harness.directory.file("a", [4])
            _ = try await harness.upload(file: file, to: "file://\(target)/x")
            #expect(contents(of: old) == [4])
        }
    }

    @Test func `a copy deletes the parts of earlier executions`() async throws {
        try await withTarget { harness, target in
            let id = CommandID()
            let other = CommandID()
            for name in [".x.\(id).1.part", ".x.\(id).2.part", ".x.\(id).3.part", ".x.\(other).1.part"] {
                _ = try harness.directory.file("target/\(name)", [9])
            }
            let file = try harness.directory.file("a", [4])
            _ = try await harness.run(
                try harness.execution(file: file, to: "file://\(target)/x", claim: 3, id: id).execution)
            #expect(try names(target) == [".x.\(other).1.part", "x"])
        }
    }

    @Test func `a target may have the longest possible name`() async throws {
        try await withTarget { harness, target in
            let name = String(repeating: "ä", count: 127)
            let file = try harness.directory.file("a", [4])
            _ = try await harness.upload(file: file, to: "file://\(target)/\(String(repeating: "%C3%A4", count: 127))")
            #expect(try names(target) == [name])
        }
    }

    @Test func `a cancelled copy deletes its part`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.solidFile("solid", 64 << 20)
            let (execution, meter) = try harness.execution(file: file, to: "file://\(target)/x")
            execution.pace.set(1 << 20)
            let task = Task { try await harness.run(execution) }
            try await until("the first bytes") { meter.reading.bytes > 0 }
            task.cancel()
            await #expect(throws: CommandFailure.self) { try await task.value }
            #expect(try names(target).isEmpty)
        }
    }

    @Test func `a copy keeps to its pace, pauses at 0, and continues when the pace is lifted`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.solidFile("solid", 64 << 20)
            let (execution, meter) = try harness.execution(file: file, to: "file://\(target)/x")
            execution.pace.set(4 << 20)
            let began = ContinuousClock.now
            let task = Task { try await harness.run(execution) }
            try await until("2 MiB") { meter.reading.bytes >= 2 << 20 }
            let took = (ContinuousClock.now - began).seconds
            #expect(took >= 0.4, "2 MiB at 4 MiB/s took \(took) s")
            #expect(meter.reading.waited)
            execution.pace.set(0)
            let atPause = meter.reading.bytes
            // Meanwhile another copy takes a quarter of a second for 1 MiB, at the previous pace of this one.
            let (other, beside) = try harness.execution(file: file, to: "file://\(target)/y")
            other.pace.set(4 << 20)
            let second = Task { try await harness.run(other) }
            try await until("1 MiB beside it") { beside.reading.bytes >= 1 << 20 }
            // A step may have been running.
            #expect(meter.reading.bytes <= atPause + 256 << 10)
            other.pace.set(nil)
            execution.pace.set(nil)
            _ = try await (task.value, second.value)
            #expect(meter.reading.bytes == 64 << 20)
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `bytes before a pace was set do not count against it`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.solidFile("solid", 1 << 30)
            let (execution, meter) = try harness.execution(file: file, to: "file://\(target)/x")
            let task = Task { try await harness.run(execution) }
            try await until("16 MiB") { meter.reading.bytes >= 16 << 20 }
            execution.pace.set(1 << 20)
            try await until("the pace") { meter.reading.waited }
            let before = meter.reading.bytes
            try await until("more") { meter.reading.bytes >= before + 64 << 10 }
            task.cancel()
            await #expect(throws: CommandFailure.self) { try await task.value }
        }
    }

    @Test func `a copy of a source that changed is deleted`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.solidFile("solid", 64 << 20)
            let (execution, meter) = try harness.execution(file: file, to: "file://\(target)/x")
            execution.pace.set(8 << 20)
            async let outcome = harness.failure(of: execution)
            try await until("the first bytes") { meter.reading.bytes > 0 }
            #expect(truncate(file, 0) == 0)
            let failure = try await outcome
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("source changed"))
            #expect(try names(target).isEmpty)
        }
    }

    @Test func `the reason names the problem of the target`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            mkdir("\(target)/taken", 0o700)
            let cases = [
                ("file://\(target)/missing/x", "does not exist"), ("file://\(target)/taken", "is a directory"),
                ("file://\(file)", "same file"), ("file://\(file)/x", "does not exist"),
                ("file://\(target)/\(String(repeating: "x", count: 256))", "long"),
            ]
            for (url, words) in cases {
                let failure = try await harness.failure(file: file, to: url)
                #expect(failure.fault == .final, "\(failure.reason)")
                #expect(failure.reason.contains(words), "\(failure.reason)")
            }
            #expect(try names(target) == ["taken"])
            #expect(contents(of: file) == [4])
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func `a copy without write permission is final`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4])
            chmod(target, 0o500)
            let failure = try await harness.failure(file: file, to: "file://\(target)/x")
            #expect(failure.fault == .final)
        }
    }

    @Test(.enabled(if: SmallFileSystem.mayExist, "only root can mount a small tmpfs"))
    func `a full disk is charged, and the part is deleted`() async throws {
        try await withTarget { harness, target in
            guard let disk = try await SmallFileSystem("1m", at: target, log: harness.directory) else { return }
            defer { disk.remove() }
            let file = try harness.directory.file("a", sample(2 << 20))
            let failure = try await harness.failure(file: file, to: "file://\(target)/x")
            #expect(failure.fault == .command)
            #expect(failure.reason.contains("no space left"), "\(failure.reason)")
            #expect(try names(target).isEmpty)
        }
    }

    @Test func `a copy with removeSource deletes the source`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4, 5])
            let remove = [JSONValue.Member("removeSource", true)]
            let attributes = try harness.operation.inspect(
                .object([.init("file", .string(file)), .init("to", .string("file://\(target)/x"))] + remove))
            let created = Timestamp.now
            func execution(claim: Int) -> CommandExecution {
                UploadHarness.execution(attributes, claim: claim, createdAt: created).execution
            }
            let result = try await harness.run(execution(claim: 1))
            #expect(result == ["bytes": 2, "sourceRemoved": true])
            #expect(access(file, F_OK) != 0)
            // An execution after an interrupted one has the same result.
            #expect(try await harness.run(execution(claim: 2)) == result)
            #expect(try await harness.failure(of: execution(claim: 1)).fault == .final)
        }
    }

    @Test func `a target that is older than the command does not confirm a delivery`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("a", [4, 5])
            let old = try harness.directory.file("target/x", [6, 7])
            let attributes = try harness.operation.inspect(
                ["file": .string(file), "to": .string("file://\(target)/x"), "removeSource": true])
            unlink(file)
            let late = UploadHarness.execution(attributes, claim: 2, createdAt: .now + .seconds(60)).execution
            let failure = try await harness.failure(of: late)
            #expect(failure.fault == .final)
            #expect(failure.reason.contains(file), "\(failure.reason)")
            #expect(contents(of: old) == [6, 7])
        }
    }
}
