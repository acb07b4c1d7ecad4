import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing

@testable import S3

@Suite struct S3OperationTests {
    /// Three parts of at most 5 MiB.
    private static let size = 11 << 20

    // MARK: One request

    @Test(arguments: ["sha256", "md5", "none"], [0, 1, 300_000])
    func `a small file is one object with its metadata`(_ checksum: String, _ size: Int) async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(size)
            let outcome = try await harness.outcome(
                harness.payload(path, [.init("checksum", .string(checksum)), .init("metadata", ["Title": "a  b"])]))
            let object = try #require(harness.store.objects["in/a.mp4"], "\(outcome)")
            #expect(object.bytes == bytes)
            #expect(object.headers["content-type"] == "video/mp4")
            #expect(object.headers["x-amz-meta-title"] == "a  b")
            #expect(object.headers["x-amz-meta-sluice-command"] == "\(harness.id)")
            #expect(outcome.result?["etag"]?.string == object.etag && outcome.result?["parts"] == 1, "\(outcome)")
            #expect(outcome.result?["location"]?.string == "\(harness.server.origin)/media/in/a.mp4")
            #expect(harness.store.log == [.put])
        }
    }

    @Test(arguments: ["a b+c", "a//b", "../x", "日本", "100%", "~x*()'!@=&$,;:", "a%2Fb"])
    func `a key arrives as it was given`(_ key: String) async throws {
        try await S3Harness.with { harness in
            let outcome = try await harness.outcome(
                harness.payload(try harness.file(3).path, [.init("key", .string(key))]))
            #expect(harness.store.objects[key] != nil, "\(outcome)")
        }
    }

    @Test func `a token is sent and signed, and shown nowhere`() async throws {
        try await S3Harness.with(token: "FwoGZXIvYXdzEXAMPLE") { harness in
            harness.store.setToken("FwoGZXIvYXdzEXAMPLE")
            let outcome = try await harness.outcome(harness.payload(try harness.file(3).path))
            #expect(outcome.result != nil && !"\(outcome)".contains("FwoG"), "\(outcome)")
            harness.store.setToken("another")
            let refused = try await harness.outcome(harness.payload(try harness.file(3).path))
            #expect(refused.failure?.fault == .credential && !"\(refused)".contains("FwoG"), "\(refused)")
        }
    }

    // MARK: Parts

    @Test(arguments: ["sha256", "md5", "crc32c", "none"])
    func `a large file goes in parts, and progress grows with them`(_ checksum: String) async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            let meter = TransferMeter()
            let execution = try harness.execution(
                harness.payload(path, [.init("checksum", .string(checksum)), .init("ifAbsent", true)]), meter: meter)
            let outcome = try await harness.outcome(of: execution)
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(outcome)")
            #expect(harness.store.log == [.create, .part, .part, .part, .complete])
            #expect(harness.store.uploads.isEmpty)
            #expect(outcome.result?["parts"] == 3 && outcome.result?["resumed"] == nil, "\(outcome)")
            #expect(outcome.result?["etag"]?.string?.hasSuffix("-3") == true)
            let reading = meter.reading
            #expect(reading.offset == Int64(Self.size) && reading.isResumable && reading.direction == .up)
            #expect(reading.bytes >= Int64(Self.size))
        }
    }

    /// Each row of the table of crash points: the process dies with request `request`, before or after the
    /// endpoint has carried it out.
    @Test(.enabled(if: runsSlowTests, "takes 8 s"), arguments: 1...5, [false, true])
    func `an upload whose process died goes on in another one`(_ request: Int, _ afterwards: Bool) async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            let payload = harness.payload(path)
            harness.store.die(at: request, afterwards: afterwards)
            let first = try await harness.outcome(payload)
            #expect(first.failure != nil && harness.store.isClientDead, "\(first)")
            harness.store.revive()
            harness.store.forgetLog()
            let second = try await harness.outcome(payload, claim: 2)
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(second)")
            #expect(second.result?["size"] == .integer(Int64(Self.size)), "\(second)")
            // Parts whose answers were saved are not sent again, nor one that only the endpoint knows.
            let known = max(0, min(request - 2 + (afterwards ? 1 : 0), 3))
            #expect(harness.store.log.count { $0 == .part } == 3 - (request == 1 ? 0 : known), "\(harness.store.log)")
            // The upload of a Create whose answer was lost stays until the bucket's lifecycle deletes it.
            #expect(harness.store.uploads.count == (request == 1 && afterwards ? 1 : 0))
            if request > 1, !(request == 5 && afterwards) { #expect(second.result?["resumed"] == true, "\(second)") }
        }
    }

    @Test func `the upload of a lost Create is adopted where the key has the command's id`() async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            let key = "in/\(harness.id).mp4"
            let payload = harness.payload(path, [.init("key", .string(key))])
            harness.store.die(at: 1, afterwards: true)
            _ = try await harness.outcome(payload)
            harness.store.revive()
            let second = try await harness.outcome(payload, claim: 2)
            #expect(harness.store.objects[key]?.bytes == bytes && harness.store.uploads.isEmpty, "\(second)")
            #expect(harness.store.log.count { $0 == .create } == 1)
        }
    }

    @Test func `an upload that the endpoint has lost starts over, at most three times`() async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            harness.store.fail(.part, .forget)
            harness.store.fail(.complete, .forget)
            let outcome = try await harness.outcome(harness.payload(path))
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(outcome)")
            #expect(outcome.result?["restarts"] == 2, "\(outcome)")
            harness.store.fail(.part, .forget, .forget, .forget, .forget)
            harness.setCheckpoint(nil)
            let lost = try await harness.outcome(harness.payload(path, [.init("key", "b")]))
            #expect(lost.failure?.fault == .command && lost.failure?.ambiguous == false, "\(lost)")
        }
    }

    @Test func `a part that was damaged is sent again once`() async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            harness.store.fail(.part, .damage)
            let outcome = try await harness.outcome(harness.payload(path))
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(outcome)")
            harness.store.fail(.part, .damage, .damage)
            harness.setCheckpoint(nil)
            let twice = try await harness.outcome(harness.payload(path, [.init("key", "b")]))
            #expect(twice.failure?.fault == .final && twice.failure?.reason.contains("second time") == true, "\(twice)")
            harness.store.fail(.put, .damage)
            let small = try await harness.outcome(
                harness.payload(try harness.file(9, name: "c").path, [.init("checksum", "md5")]))
            #expect(small.result != nil, "\(small)")
        }
    }

    @Test func `a completion is a success only with a whole document`() async throws {
        for answer in ["", "<html></html>", "<CompleteMultipartUploadResult><ETag>x</ETag>"] {
            try await S3Harness.with { harness in
                let (path, bytes) = try harness.file(Self.size)
                harness.store.fail(.complete, .answer(answer))
                let first = try await harness.outcome(harness.payload(path))
                #expect(first.failure?.fault == .command && first.failure?.ambiguous == true, "\(first)")
                #expect(harness.checkpoint?.phase == .completing)
                let second = try await harness.outcome(harness.payload(path), claim: 2)
                #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(second)")
            }
        }
    }

    @Test func `a conflict of the completion aborts the upload and starts over`() async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            harness.store.fail(.complete, .refuse(409, "ConditionalRequestConflict"))
            let outcome = try await harness.outcome(harness.payload(path, [.init("ifAbsent", true)]))
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes && harness.store.uploads.isEmpty, "\(outcome)")
            #expect(outcome.result?["restarts"] == 1, "\(outcome)")
        }
    }

    @Test func `parts are saved one by one at first, and a part that the endpoint has lost is sent again`() async throws
    {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            harness.store.fail(.complete, .refuse(500, "InternalError"))
            let meter = TransferMeter()
            let first = try await harness.outcome(of: try harness.execution(harness.payload(path), meter: meter))
            #expect(first.failure?.fault == .command && first.failure?.ambiguous == true, "\(first)")
            #expect(meter.reading.offset == Int64(Self.size))
            // Planned, created, three parts, completing.
            #expect(harness.saveCount == 6 && harness.checkpoint?.parts.count == 3)
            harness.store.lose(part: 2)
            let second = try await harness.outcome(harness.payload(path), claim: 2)
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(second)")
            #expect(harness.store.log.count { $0 == .part } == 4)
        }
    }

    // MARK: Refusals

    struct Refusal: Sendable, CustomTestStringConvertible {
        var kind: S3Server.Kind
        var status: Int
        var code: String
        var fault: CommandFailure.Fault
        var isPushback = false
        var testDescription: String { "\(status) \(code) of \(kind.rawValue)" }
    }

    @Test(arguments: [
        Refusal(kind: .create, status: 503, code: "SlowDown", fault: .link, isPushback: true),
        Refusal(kind: .part, status: 503, code: "SlowDown", fault: .link, isPushback: true),
        Refusal(kind: .part, status: 500, code: "InternalError", fault: .command),
        Refusal(kind: .part, status: 400, code: "RequestTimeout", fault: .command),
        Refusal(kind: .create, status: 403, code: "InvalidAccessKeyId", fault: .credential),
        Refusal(kind: .create, status: 403, code: "AccessDenied", fault: .credential),
        Refusal(kind: .create, status: 404, code: "NoSuchBucket", fault: .final),
        Refusal(kind: .create, status: 400, code: "KeyTooLongError", fault: .final),
        Refusal(kind: .create, status: 301, code: "PermanentRedirect", fault: .final),
        Refusal(kind: .complete, status: 400, code: "EntityTooLarge", fault: .final),
        Refusal(kind: .part, status: 507, code: "Full", fault: .destination),
    ])
    func `a refusal has the fault of its row, and the upload goes on afterwards`(_ refusal: Refusal) async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            harness.store.fail(refusal.kind, .refuse(refusal.status, refusal.code))
            let first = try await harness.outcome(harness.payload(path))
            #expect(first.failure?.fault == refusal.fault, "\(first)")
            #expect(first.failure?.isPushback == refusal.isPushback, "\(first)")
            #expect(first.failure?.reason.contains(refusal.code) == true, "\(first)")
            let second = try await harness.outcome(harness.payload(path), claim: 2)
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes && harness.store.uploads.isEmpty, "\(second)")
        }
    }

    @Test func `a wrong secret waits for its correction, and a denial that repeats is final`() async throws {
        try await S3Harness.with(secret: "hush-hush-hush") { harness in
            let outcome = try await harness.outcome(harness.payload(try harness.file(3).path))
            #expect(outcome.failure?.fault == .credential, "\(outcome)")
            #expect(!"\(outcome)".contains("hush"), "\(outcome)")
        }
        try await S3Harness.with { harness in
            harness.store.fail(.put, .refuse(403, "AccessDenied"), .refuse(403, "AccessDenied"))
            let payload = harness.payload(try harness.file(3).path)
            #expect(try await harness.outcome(payload).failure?.fault == .credential)
            #expect(try await harness.outcome(payload, claim: 2).failure?.fault == .final)
        }
    }

    @Test func `a bucket that five commands do not find is a failure of its endpoint`() async throws {
        try await S3Harness.with { harness in
            let payload = harness.payload(try harness.file(3).path)
            var faults: [CommandFailure.Fault?] = []
            for _ in 1...5 {
                harness.store.fail(.put, .refuse(404, "NoSuchBucket"))
                let execution = try harness.execution(payload, id: CommandID())
                faults.append(try await harness.outcome(of: execution).failure?.fault)
            }
            #expect(faults == [.final, .final, .final, .final, .destination])
        }
    }

    @Test(arguments: [960.0, -960.0]) func `a clock that differs is corrected once for all requests`(
        _ seconds: Double
    ) async throws {
        try await S3Harness.with { harness in
            harness.store.setClock(ahead: seconds)
            let (path, bytes) = try harness.file(Self.size)
            let outcome = try await harness.outcome(harness.payload(path))
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(outcome)")
            #expect(harness.store.log == [.create, .create, .part, .part, .part, .complete])
        }
    }

    @Test func `a key that may not list or read goes on with its own list of parts`() async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(Self.size)
            harness.store.die(at: 4, afterwards: false)
            _ = try await harness.outcome(harness.payload(path))
            harness.store.revive()
            harness.store.fail(.listParts, .refuse(403, "AccessDenied"))
            let second = try await harness.outcome(harness.payload(path), claim: 2)
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(second)")
        }
    }

    // MARK: ifAbsent

    @Test func `another object is not replaced, and the command's own one is a success`() async throws {
        try await S3Harness.with { harness in
            harness.store.store("in/a.mp4", [1, 2])
            for size in [3, Self.size] {
                let payload = harness.payload(try harness.file(size).path, [.init("ifAbsent", true)])
                harness.setCheckpoint(nil)
                let outcome = try await harness.outcome(payload)
                #expect(outcome.failure?.fault == .final, "\(outcome)")
                #expect(harness.store.objects["in/a.mp4"]?.bytes == [1, 2])
            }
        }
        for size in [3, Self.size] {
            try await S3Harness.with { harness in
                let payload = harness.payload(try harness.file(size).path, [.init("ifAbsent", true)])
                harness.store.fail(size == 3 ? .put : .complete, .reset)
                // A completion is sent again at once where its connection was kept, and else by the next execution.
                let first = try await harness.outcome(payload)
                let isKept = size == Self.size && first.failure == nil
                #expect(isKept || first.failure?.ambiguous == true, "\(first)")
                let second = isKept ? first : try await harness.outcome(payload, claim: 2)
                #expect(second.result != nil, "\(second)")
            }
        }
    }

    // MARK: Ends

    @Test func `a cancelled upload is aborted, and a released one is kept`() async throws {
        for isReleased in [false, true] {
            try await S3Harness.with { harness in
                let (path, bytes) = try harness.file(Self.size)
                harness.store.fail(.part, .hang)
                let meter = TransferMeter()
                let running = try harness.execution(harness.payload(path), meter: meter)
                let task = Task { try await harness.outcome(of: running) }
                try await until("the part that hangs") { harness.store.log.contains(.part) }
                if isReleased { meter.release() }
                task.cancel()
                let outcome = try await task.value
                #expect(outcome.failure != nil, "\(outcome)")
                #expect(harness.store.uploads.isEmpty == !isReleased)
                let next = try await harness.outcome(harness.payload(path), claim: 2)
                #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes, "\(next)")
            }
        }
    }

    @Test func `a source that has changed since the submit aborts its upload`() async throws {
        try await S3Harness.with { harness in
            let (path, _) = try harness.file(Self.size)
            harness.store.fail(.part, .refuse(500, "InternalError"))
            let payload = harness.payload(path)
            let execution = try harness.execution(payload)
            _ = try await harness.outcome(of: execution)
            #expect(harness.store.uploads.count == 1)
            let second = try harness.execution(payload, claim: 2)
            _ = try harness.file(Self.size + 1)
            let outcome = try await harness.outcome(of: second)
            #expect(outcome.failure?.fault == .final && outcome.failure?.ambiguous == false, "\(outcome)")
            #expect(harness.store.uploads.isEmpty && harness.store.objects.isEmpty)
            // A part that is stored after the abort is looked for later.
            #expect(harness.checkpoint?.abortedAt != nil)
        }
    }

    @Test func `a source is removed once the endpoint states the length of the object`() async throws {
        try await S3Harness.with { harness in
            let (path, _) = try harness.file(3)
            let payload = harness.payload(path, [.init("removeSource", true)])
            let execution = try harness.execution(payload)
            let outcome = try await harness.outcome(of: execution)
            #expect(outcome.result?["sourceRemoved"] == true && !FileManager.default.fileExists(atPath: path))
            // The result was lost with the worker.
            let again = CommandExecution(
                command: execution.command.claimed(2), payload: execution.payload, meter: TransferMeter())
            let second = try await harness.outcome(of: again)
            #expect(second.result?["sourceRemoved"] == true, "\(second)")
            _ = try harness.file(3)
            harness.store.fail(.head, .refuse(500, "InternalError"))
            let kept = try await harness.outcome(payload)
            #expect(kept.result?["sourceRemoved"] == false && FileManager.default.fileExists(atPath: path), "\(kept)")
            // A key that may write and not read: the answer to the upload is trusted.
            harness.store.fail(.head, .refuse(403, "AccessDenied"))
            let trusted = try await harness.outcome(payload)
            #expect(trusted.result?["sourceRemoved"] == true, "\(trusted)")
        }
    }

    @Test(arguments: [(3, S3Server.Kind.put), (Self.size, .complete)])
    func `an upload whose store holds less than was sent is charged, and sent again`(
        _ size: Int, _ kind: S3Server.Kind
    ) async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(size)
            let payload = harness.payload(path, [.init("removeSource", true)])
            let execution = try harness.execution(payload)
            harness.store.fail(kind, .lose)
            let short = try await harness.outcome(of: execution)
            #expect(short.failure?.fault == .command && short.failure?.isAnswer == true, "\(short)")
            #expect(short.failure?.reason.contains("the object has \(size - 1) bytes") == true, "\(short)")
            #expect(FileManager.default.fileExists(atPath: path))
            // The object is this command's, and of the wrong length: it is not a delivery.
            let again = CommandExecution(
                command: execution.command.claimed(2), payload: execution.payload, meter: TransferMeter())
            let outcome = try await harness.outcome(of: again)
            #expect(outcome.result?["sourceRemoved"] == true, "\(outcome)")
            #expect(harness.store.objects["in/a.mp4"]?.bytes == bytes)
        }
    }

    // MARK: Presigned

    private func presigned(_ harness: S3Harness, _ signature: String, _ headers: String = "host") -> JSONValue {
        .string(
            "\(harness.server.origin)/media/p?X-Amz-Date=20200101T000000Z&X-Amz-Expires=60"
                + "&X-Amz-SignedHeaders=\(headers)&X-Amz-Signature=\(signature)")
    }

    @Test func `a presigned URL gets exactly the signed headers, and its query is shown nowhere`() async throws {
        try await S3Harness.with { harness in
            let (path, bytes) = try harness.file(9)
            let payload: JSONValue = .object([
                .init("file", .string(path)), .init("presigned", presigned(harness, "right", "content-type%3Bhost")),
                .init("contentType", "video/mp4"),
            ])
            let outcome = try await harness.outcome(payload)
            #expect(harness.store.objects["p"]?.bytes == bytes, "\(outcome)")
            #expect(!"\(outcome)".contains("right") && outcome.result?["size"] == 9, "\(outcome)")
            #expect(!HTTPHeaderRedaction.shown(payload).text.contains("right"))
        }
    }

    @Test func `a presigned URL that has expired is final and names the time`() async throws {
        try await S3Harness.with { harness in
            let outcome = try await harness.outcome(
                .object([
                    .init("file", .string(try harness.file(9).path)), .init("presigned", presigned(harness, "wrong")),
                ]))
            #expect(outcome.failure?.fault == .final, "\(outcome)")
            #expect(outcome.failure?.reason.contains("expired at 2020-01-01T00:01:00") == true, "\(outcome)")
            #expect(!"\(outcome)".contains("wrong"))
        }
    }

    @Test func `without an access key in sluice.yaml the command waits`() async throws {
        try await S3Harness.with { harness in
            let outcome = try await harness.outcome(
                harness.payload(try harness.file(9).path, [.init("endpoint", "http://127.0.0.1:1")]))
            #expect(outcome.failure?.fault == .credential, "\(outcome)")
            #expect(outcome.failure?.reason.contains("s3AccessKey") == true, "\(outcome)")
        }
    }
}

extension Command {
    fileprivate func claimed(_ claim: Int) -> Command {
        var command = self
        command.claim = claim
        return command
    }
}
