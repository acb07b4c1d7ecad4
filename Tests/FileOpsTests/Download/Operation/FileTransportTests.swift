import Commands
import Crypto
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing

@testable import FileOps
@testable import Transfers

/// Operations that read a `file:` URL.
@Suite struct FileTransportTests {
    private static let size = 5_000_000

    /// A file, and a download of it.
    private func with(
        _ members: [JSONValue.Member] = [], size: Int = Self.size,
        _ body: (DownloadHarness, _ source: String, _ bytes: [UInt8]) async throws -> Void
    ) async throws {
        try await DownloadHarness.withDirectory { directory in
            let bytes = sample(size)
            let source = try directory.file("source é.mp4", bytes)
            let target = try directory.makeDirectory("in")
            let url = "file://\(directory.path)/source%20%C3%A9.mp4"
            let payload: [JSONValue.Member] = [.init("url", .string(url)), .init("to", .string("\(target)/a.mp4"))]
            try await body(try DownloadHarness(.object(payload + members), in: directory), source, bytes)
        }
    }

    private func target(_ harness: DownloadHarness) -> String { "\(harness.directory.path)/in/a.mp4" }

    private func parts(_ harness: DownloadHarness) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(harness.directory.path)/in").filter {
            $0.hasSuffix(".part")
        }
    }

    @Test(arguments: [0, 1, size]) func `a file is downloaded with its time`(_ size: Int) async throws {
        try await with(size: size) { harness, source, bytes in
            #expect(try harness.destination.isFile)
            let time = Date(timeIntervalSince1970: 1_700_000_000)
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: source)
            let meter = TransferMeter()
            let outcome = try await harness.outcome(of: try harness.execution(meter))
            #expect(contents(of: target(harness)) == bytes, "\(outcome)")
            #expect(outcome.result?["bytes"]?.integer == Int64(size), "\(outcome)")
            #expect(outcome.result?["unverified"] == nil && outcome.result?["contentType"]?.string == "video/mp4")
            let attributes = try FileManager.default.attributesOfItem(atPath: target(harness))
            #expect(attributes[.modificationDate] as? Date == time)
            #expect(meter.reading.bytes == Int64(size) && (size == 0 || meter.reading.direction == .down))
            #expect(try parts(harness).isEmpty)
        }
    }

    @Test func `the checksum of the payload is compared`() async throws {
        let right = Hexadecimal.text(SHA256.hash(data: sample(Self.size)))
        try await with([.init("checksum", .string("sha256:\(right)"))]) { harness, _, _ in
            let outcome = try await harness.execute()
            #expect(outcome.result?["checksum"]?.string == "verified", "\(outcome)")
        }
        let wrong = String(repeating: "0", count: 64)
        try await with([.init("checksum", .string("sha256:\(wrong)"))]) { harness, _, _ in
            let (first, second) = (try await harness.execute(), try await harness.execute())
            #expect(first.failure?.fault == .command && second.failure?.fault == .final, "\(first) \(second)")
            #expect(contents(of: target(harness)) == nil)
        }
    }

    /// The part of an execution that was cut off after some bytes.
    private func interrupted(_ harness: DownloadHarness, after count: Int) async throws {
        let whole = try await harness.execute()
        #expect(whole.result != nil, "\(whole)")
        let part = CopyTarget(path: target(harness)).temporaryPath(harness.id, claim: 1)
        #expect(rename(target(harness), part) == 0 && truncate(part, off_t(count)) == 0)
    }

    @Test func `a part is continued, and started over where the file has changed`() async throws {
        for isChanged in [false, true] {
            try await with { harness, source, bytes in
                try await interrupted(harness, after: 3_000_000)
                let now = isChanged ? bytes.reversed() : bytes
                if isChanged { try Data(now).write(to: URL(fileURLWithPath: source)) }
                let meter = TransferMeter()
                let outcome = try await harness.outcome(of: try harness.execution(meter))
                #expect(contents(of: target(harness)) == now, "\(outcome)")
                let received = isChanged ? Self.size : Self.size - 3_000_000 + 16_384
                #expect(meter.reading.bytes == Int64(received), "\(outcome)")
                #expect(outcome.result?[isChanged ? "restarted" : "resumed"]?.integer == 1, "\(outcome)")
            }
        }
    }

    @Test func `an unchanged file is not downloaded again`() async throws {
        try await with([.init("ifChanged", true)]) { harness, source, bytes in
            #expect(try await harness.execute().result != nil)
            let again = try DownloadHarness(harness.payload, in: harness.directory)
            #expect(try await again.execute().result?["notModified"]?.bool == true)
            try Data(bytes + [1]).write(to: URL(fileURLWithPath: source))
            let changed = try DownloadHarness(harness.payload, in: harness.directory)
            #expect(try await changed.execute().result?["bytes"]?.integer == Int64(Self.size + 1))
        }
    }

    @Test func `a file that cannot be read is final and named`() async throws {
        try await with { harness, source, _ in
            unlink(source)
            let missing = try await harness.execute()
            #expect(missing.failure?.fault == .final && missing.failure?.ambiguous == false, "\(missing)")
            #expect(missing.failure?.reason.contains("\(source) does not exist") == true, "\(missing)")
            mkfifo(source, 0o600)
            let pipe = try await harness.execute()
            #expect(pipe.failure?.fault == .final, "\(pipe)")
            #expect(pipe.failure?.reason.contains("not a regular file") == true, "\(pipe)")
        }
    }

    @Test func `a file that is changed while it is read is not published, and read anew`() async throws {
        try await with { harness, source, bytes in
            let meter = TransferMeter()
            let execution = try harness.execution(meter)
            execution.pace.set(1 << 20)
            let task = Task { try await harness.outcome(of: execution) }
            try await until("the first bytes") { meter.reading.bytes > 0 }
            let changed = Array(bytes.dropLast()) + [bytes[bytes.count - 1] ^ 1]
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: source))
            try file.write(contentsOf: changed)
            try file.close()
            execution.pace.set(nil)
            let outcome = try await task.value
            #expect(outcome.failure?.fault == .command, "\(outcome)")
            #expect(outcome.failure?.reason.contains("was changed while it was read") == true, "\(outcome)")
            #expect(contents(of: target(harness)) == nil)
            #expect(try await harness.execute().result != nil)
            #expect(contents(of: target(harness)) == changed)
        }
    }

    @Test func `a paused download of a file stops at once`() async throws {
        try await with { harness, _, _ in
            let execution = try harness.execution()
            execution.pace.set(0)
            let task = Task { try await harness.outcome(of: execution) }
            try await until("the part") { try parts(harness).count == 1 }
            task.cancel()
            let outcome = try await task.value
            #expect(outcome.failure != nil && contents(of: target(harness)) == nil, "\(outcome)")
            #expect(try parts(harness).isEmpty)
        }
    }

    // MARK: Other operations

    private func request(_ payload: JSONValue) async throws -> OperationOutcome {
        let operation = RequestOperation(
            transport: HTTPTransport(configuration: HTTPConfiguration()), credentials: CredentialStore(),
            evidence: DestinationEvidence())
        return try await run(payload, by: operation)
    }

    private func run(_ payload: JSONValue, by operation: some CommandOperation) async throws -> OperationOutcome {
        let attributes = try operation.inspect(payload)
        #expect(attributes.destination.isFile)
        var command = Command(
            id: CommandID(), type: operation.type, destination: attributes.destination, createdAt: .now)
        (command.status, command.idempotent, command.claim) = (.sent, true, 1)
        let execution = CommandExecution(
            command: command, payload: attributes.payload?.bytes ?? payload.bytes, meter: TransferMeter())
        do {
            return .success(try JSONValue(parsing: try await operation.execute(execution) ?? []))
        } catch let failure as CommandFailure {
            return .failure(failure)
        }
    }

    @Test func `a request reads a file, and saves it`() async throws {
        let directory = try TemporaryDirectory("file")
        defer { directory.remove() }
        let file = try directory.file("a.json", Array(#"{"a": 1}"#.utf8))
        let get = try await request(["url": .string("file://\(file)")])
        #expect(get.result?["status"]?.integer == 200 && get.result?["body"]?.string == #"{"a": 1}"#, "\(get)")
        let head = try await request(["url": .string("file://\(file)"), "method": "HEAD"])
        #expect(head.result?["status"]?.integer == 200, "\(head)")
        let saved = try await request(
            ["url": .string("file://\(file)"), "saveTo": .string("\(directory.path)/b")])
        #expect(saved.result?["saved"]?["bytes"]?.integer == 8, "\(saved)")
        #expect(contents(of: "\(directory.path)/b") == Array(#"{"a": 1}"#.utf8))
        #expect(try await request(["url": "file:///nonexistent/a"]).failure?.fault == .final)
    }
}
