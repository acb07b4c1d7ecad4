import CLinux
import Commands
import Crypto
import Foundation
import Glibc
import HTTPClient
import Operations
import Store
import TestSupport
import Testing

@testable import FileOps

@Suite struct DownloadOperationTests {
    private static let version = SimulatedVersion(
        bytes: SimulatedVersion.bytes(1_000_000, seed: 3), tag: "\"a\"", lastModified: SimulatedVersion.oldDate)

    private static func checksum(_ bytes: [UInt8]) -> String { "sha256:\(Hexadecimal.text(SHA256.hash(data: bytes)))" }

    private func with(
        _ version: SimulatedVersion = version, _ members: [JSONValue.Member] = [], to path: String = "/",
        _ body: (OriginServer, DownloadHarness) async throws -> Void
    ) async throws {
        try await OriginServer.with(version) { server in
            try await DownloadHarness.withDirectory { directory in
                let payload = JSONValue.object(
                    [.init("url", .string(server.url)), .init("to", .string(directory.path + path))] + members)
                try await body(server, try DownloadHarness(payload, in: directory))
            }
        }
    }

    private func contents(_ harness: DownloadHarness, _ name: String = "a.mp4") -> [UInt8]? {
        TestSupport.contents(of: "\(harness.directory.path)/\(name)")
    }

    @Test func `a file gets its name, its permissions and its time when it is whole`() async throws {
        try await with { server, harness in
            let outcome = try await harness.execute()
            let result = try #require(outcome.result, "\(outcome)")
            #expect(result["bytes"]?.integer == 1_000_000 && result["status"]?.integer == 200)
            #expect(result["path"]?.string == "\(harness.directory.path)/a.mp4")
            #expect(result["checksum"]?.string == "none" && result["unverified"] == nil)
            #expect(result["etag"]?.string == "\"a\"")
            #expect(contents(harness) == Self.version.bytes && harness.parts.isEmpty)
            var status = stat()
            #expect(stat("\(harness.directory.path)/a.mp4", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o644)
            #expect(status.st_mtim.tv_sec == 1_763_107_200)
            #expect(server.use { $0.requests } == [.whole(condition: nil)])
        }
    }

    /// The row after a failed execution.
    private func settled(_ harness: DownloadHarness, _ failure: CommandFailure, retries: Int) throws -> Settlement {
        var command = Command(id: harness.id, type: "download", destination: try harness.destination, createdAt: .now)
        (command.status, command.idempotent, command.retries, command.retryLimit) = (.sent, true, retries, 2)
        var failure = failure
        // As the executor decides beside transfers that go on.
        if failure.fault == .reset { failure.fault = .command }
        return Settlement(of: command, result: .failure(failure), now: .now, chance: 0.5)
    }

    @Test func `a download that each execution brings further needs no retries`() async throws {
        try await with { server, harness in
            for execution in 1... {
                try #require(execution < 20)
                server.use { $0.faults.cutsAt = 100_000 }
                let outcome = try await harness.execute()
                guard let failure = outcome.failure else {
                    #expect(execution > 10 && contents(harness) == Self.version.bytes)
                    return
                }
                #expect(failure.hasProgress, "execution \(execution): \(failure)")
                let settlement = try settled(harness, failure, retries: 0)
                #expect(settlement.retries == 0 && settlement.statuses == [.error], "\(execution): \(settlement)")
            }
        }
    }

    @Test func `bodies that always end at the same byte are charged from the third on, and then final`() async throws {
        var origin = Self.version
        (origin.tag, origin.lastModified) = (nil, nil)
        try await with(origin) { server, harness in
            var (retries, charged) = (0, 0)
            for execution in 1...6 {
                server.use { $0.faults.cutsAt = 900_000 }
                let outcome = try await harness.execute()
                let failure = try #require(outcome.failure)
                let isStuck = failure.reason.contains("it states 1000000 and sends 900000 each time")
                #expect(isStuck == (execution >= 3), "execution \(execution): \(failure)")
                guard isStuck else { continue }
                #expect(failure.fault == .command)
                let settlement = try settled(harness, failure, retries: retries)
                (retries, charged) = (settlement.retries, charged + 1)
                if settlement.statuses.last == .tooManyTimes {
                    #expect(charged == 3)
                    return
                }
            }
            Issue.record("the download never ends")
        }
    }

    @Test(arguments: FaultyOriginTests.rows) func `a fault of the server never mixes two versions`(
        _ row: FaultCase
    ) async throws {
        let checksum = JSONValue.Member("checksum", .string(Self.checksum(FaultyOriginTests.version.bytes)))
        try await with(row.first, row.hasChecksum ? [checksum] : []) { server, harness in
            server.use { origin in
                origin.faults.delimiting = row.firstDelimiting
                origin.faults.cutsAt = row.cut
            }
            let first = try await harness.execute()
            if row.firstOutcome == .published(isUnverified: true) {
                #expect(first.result?["unverified"]?.bool == true, "\(first)")
                #expect(contents(harness)?.count == 400_000)
                return
            }
            if row.cut != nil {
                #expect(first.failure != nil, "\(first)")
                #expect(contents(harness) == nil && harness.parts.count == 1)
                if row.firstOutcome == .interrupted { #expect(first.failure?.fault == .reset, "\(first)") }
            } else {
                // The worker died before the rename.
                let target = "\(harness.directory.path)/a.mp4"
                let part = CopyTarget(path: target).temporaryPath(harness.id, claim: 1)
                #expect(rename(target, part) == 0)
            }
            server.use { row.prepare(&$0) }
            if row.secondOutcome != nil {
                let second = try await harness.execute()
                #expect(second.failure != nil && contents(harness) == nil, "\(second)")
            }
            var outcome = try await harness.execute()
            if outcome.result == nil, outcome.failure?.fault != .final { outcome = try await harness.execute() }
            if row.outcome == .final {
                #expect(outcome.failure?.fault == .final, "\(outcome)")
                #expect(contents(harness) == nil && harness.parts.isEmpty)
            } else {
                #expect(outcome.result != nil, "\(outcome)")
                #expect(contents(harness) == server.use { $0.version.bytes })
                #expect(harness.parts.isEmpty)
                if let resumed = row.resumed { #expect(outcome.result?["resumed"]?.integer == resumed, "\(outcome)") }
            }
        }
    }

    @Test func `checksums of the payload and of the server are compared`() async throws {
        for name in ["sha256", "sha512", "sha1", "md5"] {
            let digest =
                switch name {
                case "sha256": Hexadecimal.text(SHA256.hash(data: Self.version.bytes))
                case "sha512": Hexadecimal.text(SHA512.hash(data: Self.version.bytes))
                case "sha1": Hexadecimal.text(Insecure.SHA1.hash(data: Self.version.bytes))
                default: Hexadecimal.text(Insecure.MD5.hash(data: Self.version.bytes))
                }
            try await with(Self.version, [.init("checksum", .string("\(name):\(digest)"))]) { _, harness in
                let outcome = try await harness.execute()
                #expect(outcome.result?["checksum"]?.string == "verified", "\(outcome)")
                #expect(outcome.result?["checksums"]?.elements?.first?.string == "\(name):\(digest)")
            }
        }
        var stated = Self.version
        stated.fields = [("x-goog-hash", "crc32c=\(Base64.encode([0, 1, 2, 3]))")]
        try await with(stated) { _, harness in
            let first = try await harness.execute()
            #expect(first.failure?.fault == .command && first.failure?.reason.contains("crc32c") == true, "\(first)")
            #expect(harness.parts.isEmpty)
            let second = try await harness.execute()
            #expect(second.failure?.fault == .final, "\(second)")
        }
    }

    @Test func `the CRC-32C of 123456789 is that of the RFC`() {
        var digest = ChecksumAlgorithm.crc32c.makeHash()
        digest.update(Array("1234".utf8))
        digest.update(Array("56789".utf8))
        #expect(Hexadecimal.text(digest.bytes) == "e3069283")
    }

    @Test func `a target that exists is replaced, kept or a failure`() async throws {
        for (overwrite, isKept) in [("replace", false), ("keep", true), ("fail", true)] {
            try await with(Self.version, [.init("overwrite", .string(overwrite))]) { server, harness in
                _ = try harness.directory.file("a.mp4", [1, 2, 3])
                let outcome = try await harness.execute()
                #expect(contents(harness) == (isKept ? [1, 2, 3] : Self.version.bytes))
                #expect((outcome.failure?.fault == .final) == (overwrite == "fail"), "\(outcome)")
                #expect((outcome.result?["kept"]?.bool ?? false) == (overwrite == "keep"))
                #expect(server.use { $0.requests.isEmpty } == isKept)
                #expect(harness.parts.isEmpty)
            }
        }
    }

    @Test func `a name that appears during the download is not replaced`() async throws {
        for overwrite in ["keep", "fail"] {
            let members: [JSONValue.Member] = [.init("overwrite", .string(overwrite)), .init("name", "server")]
            var version = Self.version
            version.fields = [("Content-Disposition", "attachment; filename=\"../b.mp4\"")]
            try await with(version, members) { _, harness in
                _ = try harness.directory.file("b.mp4", [1])
                let outcome = try await harness.execute()
                #expect(contents(harness, "b.mp4") == [1])
                #expect((outcome.failure?.fault == .final) == (overwrite == "fail"), "\(outcome)")
                #expect((outcome.result?["kept"]?.bool ?? false) == (overwrite == "keep"))
                #expect(harness.parts.isEmpty)
            }
        }
    }

    @Test func `the server's name never leaves the directory`() async throws {
        for (field, name) in [
            ("attachment; filename=\"/etc/passwd\"", "passwd"), ("attachment; filename=\"..\"", "download"),
            ("attachment; filename*=UTF-8''%2e%2e%2f%2ehidden", "_hidden"), ("inline", "a.mp4"),
        ] {
            var version = Self.version
            version.fields = [("Content-Disposition", field)]
            try await with(version, [.init("name", "server")]) { _, harness in
                let outcome = try await harness.execute()
                #expect(outcome.result?["path"]?.string == "\(harness.directory.path)/\(name)", "\(outcome)")
                #expect(contents(harness, name) == Self.version.bytes)
            }
        }
    }

    @Test func `a current target is not downloaded again, and a changed one is`() async throws {
        try await with(Self.version, [.init("ifChanged", true)]) { server, harness in
            // Each is a command of its own.
            func next() async throws -> OperationOutcome {
                try await DownloadHarness(harness.payload, in: harness.directory).execute()
            }
            let first = try await next()
            #expect(first.result?["bytes"]?.integer == 1_000_000, "\(first)")
            let second = try await next()
            #expect(second.result?["notModified"]?.bool == true && second.result?["bytes"] == nil, "\(second)")
            #expect(harness.parts.isEmpty)
            // A person has changed the file: it is not the server's any more.
            _ = try harness.directory.file("a.mp4", [1])
            let third = try await next()
            #expect(third.result?["notModified"] == nil, "\(third)")
            #expect(contents(harness) == Self.version.bytes)
            server.use { $0.version.tag = "\"b\"" }
            let fourth = try await next()
            #expect(fourth.result?["bytes"]?.integer == 1_000_000, "\(fourth)")
        }
    }

    @Test func `a file that was published before its worker died is the result`() async throws {
        for overwrite in ["replace", "keep", "fail"] {
            let members: [JSONValue.Member] = [
                .init("overwrite", .string(overwrite)), .init("checksum", .string(Self.checksum(Self.version.bytes))),
            ]
            try await with(Self.version, members) { server, harness in
                _ = try await harness.execute()
                let again = try await harness.execute()
                #expect(again.result?["bytes"]?.integer == 1_000_000 && again.result?["kept"] == nil, "\(again)")
                #expect(again.result?["checksum"]?.string == "verified")
                #expect(server.use { $0.requests.count } == 1)
            }
        }
    }

    @Test func `a failed download leaves no part once it is given up`() async throws {
        try await with { server, harness in
            server.use { $0.nextStatuses = [500] }
            let charged = try await harness.execute()
            #expect(charged.failure?.fault == .command, "\(charged)")
            #expect(harness.parts.isEmpty, "no byte has come")
            server.use { $0.faults.cutsAt = 400_000 }
            let cut = try await harness.execute()
            #expect(cut.failure?.fault == .reset && harness.parts.count == 1, "\(cut)")
            server.use { ($0.faults.cutsAt, $0.nextStatuses) = (nil, [500]) }
            harness.setRetries(Command.defaultRetryLimit)
            let last = try await harness.execute()
            #expect(last.failure?.fault == .command && harness.parts.isEmpty, "\(last)")
            server.use { $0.nextStatuses = [404] }
            let missing = try await harness.execute()
            #expect(missing.failure?.fault == .final && harness.parts.isEmpty, "\(missing)")
        }
    }

    @Test(arguments: ["keep", "fail"])
    func `a target that appears between two executions leaves no part`(_ overwrite: String) async throws {
        try await with(Self.version, [.init("overwrite", .string(overwrite))]) { server, harness in
            server.use { $0.faults.cutsAt = 400_000 }
            _ = try await harness.execute()
            #expect(harness.parts.count == 1)
            server.use { $0.faults.cutsAt = nil }
            _ = try harness.directory.file("a.mp4", [1])
            let outcome = try await harness.execute()
            #expect((outcome.failure?.fault == .final) == (overwrite == "fail"), "\(outcome)")
            #expect(contents(harness) == [1] && harness.parts.isEmpty)
        }
    }

    @Test func `a download that is cancelled before its first byte leaves no part`() async throws {
        let server = try await ScriptedServer()
        try await stopping(server) {
            try server.run("GET * : hang")
            try await DownloadHarness.withDirectory { directory in
                let payload: JSONValue = [
                    "url": .string("\(server.origin)/a"), "to": .string("\(directory.path)/a"),
                ]
                let harness = try DownloadHarness(payload, in: directory)
                let task = Task { try await harness.execute() }
                try await until("the request") { server.requests.count == 1 }
                task.cancel()
                let outcome = try await task.value
                #expect(outcome.failure?.ambiguous == false && harness.parts.isEmpty, "\(outcome)")
            }
        }
    }

    @Test func `the attribute of a file contains no secret of its URL`() async throws {
        try await OriginServer.with(Self.version) { server in
            try await DownloadHarness.withDirectory { directory in
                let path = "\(directory.path)/a"
                let payload: JSONValue = ["url": .string("\(server.url)?token=hush"), "to": .string(path)]
                let outcome = try await DownloadHarness(payload, in: directory).execute()
                #expect(outcome.result != nil, "\(outcome)")
                let descriptor = open(path, O_RDONLY)
                defer { close(descriptor) }
                let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                    let attribute = TargetRecord.attribute
                    count = max(clinux_get_attribute(descriptor, attribute, buffer.baseAddress, buffer.count), 0)
                }
                let text = String(decoding: bytes, as: UTF8.self)
                // A file system without attributes has nothing to show.
                #expect(text.isEmpty || text.contains("etag") && !text.contains("hush"), "\(text)")
            }
        }
    }

    @Test func `a directory that is missing, or a target that is one, is final`() async throws {
        try await with(to: "/none/a") { _, harness in
            let outcome = try await harness.execute()
            #expect(outcome.failure?.fault == .final, "\(outcome)")
            #expect(outcome.failure?.reason.contains("does not exist") == true, "\(outcome)")
        }
        try await with(to: "/x") { _, harness in
            #expect(mkdir("\(harness.directory.path)/x", 0o700) == 0)
            let outcome = try await harness.execute()
            #expect(outcome.failure?.fault == .final, "\(outcome)")
            #expect(outcome.failure?.reason.contains("is a directory") == true, "\(outcome)")
        }
    }

    @Test(.enabled(if: SmallFileSystem.mayExist, "only root can mount a small tmpfs"))
    func `a full disk is charged, and the part stays`() async throws {
        try await with(to: "/small/") { _, harness in
            let small = "\(harness.directory.path)/small"
            guard let disk = try await SmallFileSystem("512k", at: small, log: harness.directory) else { return }
            defer { disk.remove() }
            let outcome = try await harness.execute()
            #expect(outcome.failure?.fault == .command && outcome.failure?.retryAfter == .seconds(60), "\(outcome)")
            #expect(outcome.failure?.reason.contains("no space left") == true, "\(outcome)")
            let names = try FileManager.default.contentsOfDirectory(atPath: small)
            #expect(names.count == 1 && names[0].hasSuffix(".part"))
        }
    }

    @Test(.enabled(if: runsSlowTests, "takes 4 s"))
    func `a cancelled download deletes its part, and a released one keeps it`() async throws {
        let large = SimulatedVersion(bytes: SimulatedVersion.bytes(40 << 20, seed: 5), tag: "\"l\"")
        for isReleased in [false, true] {
            try await with(large) { _, harness in
                let meter = TransferMeter()
                let execution = try harness.execution(meter)
                execution.pace.set(4 << 20)
                let task = Task { try await harness.outcome(of: execution) }
                try await until("some bytes") { meter.reading.offset > 0 }
                if isReleased { meter.release() }
                task.cancel()
                let outcome = try await task.value
                #expect(outcome.failure?.ambiguous == false, "\(outcome)")
                #expect(harness.parts.count == (isReleased ? 1 : 0))
                if isReleased {
                    let resumed = try await harness.execute()
                    #expect(resumed.result?["resumed"]?.integer == 1, "\(resumed)")
                    #expect(resumed.result?["wasted"]?.integer == DownloadRequestRules.overlap)
                    #expect(contents(harness) == large.bytes)
                }
            }
        }
    }
}
