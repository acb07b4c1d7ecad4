import Commands
import Foundation
import Operations
import Synchronization
import TestSupport
import Testing

/// The tus client against prepared answers.
@Suite struct TusTests: TusSuite {
    @Test func `an upload is created, its location saved, and the file sent`() async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on("/files/1", .appended(Self.size))
            let whenSaved = Mutex<[String]>([])
            let (execution, meter) = upload.next { whenSaved.withLock { $0 = receiver.requests.map(\.line) } }
            let result = try await upload.harness.run(execution)
            #expect(result["status"]?.integer == 204)
            #expect(result["headers"]?["location"]?.string == "\(receiver.origin)/files/1")
            #expect(receiver.requests.map(\.line) == ["POST /files/", "PATCH /files/1"])
            // The checkpoint is saved before the first byte leaves.
            #expect(whenSaved.withLock { $0 } == ["POST /files/"])
            #expect(upload.checkpoint?["tus"]?.string == "\(receiver.origin)/files/1")
            let (post, patch) = (receiver.requests[0], receiver.requests[1])
            #expect(post["tus-resumable"] == "1.0.0" && patch["tus-resumable"] == "1.0.0")
            #expect(post["upload-length"] == "\(Self.size)" && post["content-length"] == "0")
            let words = post["upload-metadata"]?.split(separator: ",").map { $0.split(separator: " ") } ?? []
            #expect(words.map { String($0[0]) } == ["filename", "filetype"])
            let values = words.map { Data(base64Encoded: String($0[1])).map { String(decoding: $0, as: UTF8.self) } }
            #expect(values == ["a b.JPG", "image/jpeg"])
            #expect(post["content-type"] == nil && patch["upload-metadata"] == nil)
            #expect(patch["content-type"] == "application/offset+octet-stream" && patch["upload-offset"] == "0")
            #expect(patch.sha256 == sha256(bytes))
            #expect(post.key == upload.id.description)
            #expect(meter.reading.isResumable)
            #expect(meter.reading.offset == Int64(Self.size) && meter.reading.bytes == Int64(Self.size))
        }
    }

    @Test func `the path of a file below its folder goes along as metadata`() async throws {
        try await withTus { receiver, upload, _ in
            let file = try upload.harness.directory.file("b.txt", [1, 2, 3])
            receiver.on("/files/1", .appended(3))
            let (execution, _) = try upload.harness.execution(
                file: file, to: "\(receiver.origin)/files/",
                extra: [.init("path", "trip/day 1/b.txt"), .init("protocol", "tus")])
            _ = try await upload.harness.run(execution)
            let words = receiver.requests.first?["upload-metadata"]?.split(separator: ",").map {
                $0.split(separator: " ")
            }
            let values = Dictionary(
                uniqueKeysWithValues: (words ?? []).map { word in
                    (String(word[0]), Data(base64Encoded: String(word[1])).map { String(decoding: $0, as: UTF8.self) })
                })
            #expect(values["filename"] == "b.txt" && values["relativePath"] == "trip/day 1/b.txt", "\(values)")
        }
    }

    @Test func `another execution resumes an interrupted upload`() async throws {
        try await withTus(20_000_000) { receiver, upload, bytes in
            receiver.on("/files/1", .reset(.bytes(10_000_000)), .reset(.head))
            let failure = try await upload.failure()
            #expect(failure.fault == .reset)
            let came = receiver.requests[1].bytes
            receiver.forget()
            receiver.on("/files/1", .at(came, of: bytes.count), .appended(bytes.count))
            let (execution, meter) = upload.next()
            _ = try await upload.harness.run(execution)
            #expect(
                receiver.requests.map(\.line) == ["HEAD /files/1", "PATCH /files/1"])
            let last = try #require(receiver.requests.last)
            #expect(last["upload-offset"] == "\(came)")
            #expect(last.sha256 == sha256(Array(bytes[came...])))
            #expect(came + last.bytes <= bytes.count + 256 << 10)
            #expect(meter.reading.offset == Int64(bytes.count))
            #expect(meter.reading.bytes == Int64(bytes.count - came))
        }
    }

    @Test(arguments: [0, 10_000_000])
    func `an upload queries the offset after a kept connection was lost`(_ cut: Int) async throws {
        try await withTus(20_000_000) { receiver, upload, bytes in
            receiver.on(
                "/files/1", cut == 0 ? .close(.head) : .reset(.bytes(cut)), .at(cut, of: bytes.count),
                .appended(bytes.count))
            _ = try await upload.run()
            #expect(
                receiver.requests.map(\.line) == ["POST /files/", "PATCH /files/1", "HEAD /files/1", "PATCH /files/1"])
            #expect(receiver.requests.last?.sha256 == sha256(Array(bytes[cut...])))
            #expect(receiver.requests.reduce(0) { $0 + $1.bytes } <= bytes.count + 256 << 10)
        }
    }

    @Test func `an execution that died before the first byte leaves an upload to resume`() async throws {
        struct Death: Error {}
        try await withTus { receiver, upload, bytes in
            let (execution, _) = upload.next { throw Death() }
            await #expect(throws: Death.self) { try await upload.harness.run(execution) }
            #expect(receiver.requests.map(\.line) == ["POST /files/"])
            receiver.forget()
            receiver.on("/files/1", .at(0, of: Self.size), .appended(Self.size))
            _ = try await upload.run()
            #expect(receiver.requests.map(\.line) == ["HEAD /files/1", "PATCH /files/1"])
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
        }
    }

    @Test func `an empty tus upload is complete once it is created`() async throws {
        try await withTus(0) { receiver, upload, _ in
            let result = try await upload.run()
            #expect(result["status"]?.integer == 201)
            #expect(receiver.requests.map(\.line) == ["POST /files/"])
            #expect(receiver.requests[0]["upload-length"] == "0")
        }
    }

    @Test func `a complete tus upload is not sent again`() async throws {
        try await withTus { receiver, upload, _ in
            receiver.on("/files/1", .reset(.body), .reset(.head))
            _ = try await upload.failure()
            receiver.on("/files/1", .at(Self.size, of: Self.size))
            receiver.forget()
            let result = try await upload.run()
            #expect(receiver.requests.map(\.line) == ["HEAD /files/1"])
            #expect(result["headers"]?["location"]?.string == "\(receiver.origin)/files/1")
        }
    }

    @Test func `no part of a changed source is sent`() async throws {
        try await withTus { receiver, upload, _ in
            receiver.on("/files/1", .reset(.bytes(1_000_000)), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            _ = try upload.harness.directory.file("a b.JPG", [1, 2, 3])
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("source changed"))
            #expect(receiver.requests.isEmpty)
        }
    }

    @Test func `a tus upload is never completed if the source changes meanwhile`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.hollowFile(1 << 40)
            receiver.on("/files", .created("/files/1"))
            let upload = try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", "tus")
            let (execution, meter) = upload.next()
            async let outcome = harness.failure(of: execution)
            try await until("the first bytes") { meter.reading.bytes > 0 }
            #expect(truncate(file, 5) == 0)
            let failure = try await outcome
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("source changed"))
        }
    }

    @Test func `a tus upload with removeSource succeeds after a lost answer`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(5000))
            receiver.on("/files", .created("/files/1"))
            receiver.on("/files/1", .at(5000, of: 5000))
            let upload = try RepeatedUpload(
                harness, file: file, to: "\(receiver.origin)/files", "tus", extra: [.init("removeSource", true)])
            upload.setCheckpoint([
                "tus": .string("\(receiver.origin)/files/1"),
                "source": try #require(
                    try JSONValue(parsing: upload.next().execution.payload)["source"]),
            ])
            let result = try await upload.run()
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(access(file, F_OK) != 0)
            let again = try await upload.run()
            #expect(again["sourceRemoved"]?.bool == true)
            receiver.on("/files/1", .at(4999, of: 5000))
            #expect(try await upload.failure().fault == .final)
        }
    }

    @Test func `a cancelled tus upload stops at once`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.hollowFile(1 << 40)
            receiver.on("/files", .created("/files/1"))
            let upload = try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", "tus")
            let (execution, meter) = upload.next()
            let task = Task { try await harness.run(execution) }
            try await until("the first bytes") { (receiver.requests.last?.bytes ?? 0) > 0 }
            #expect(meter.reading.isResumable)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await until("the end of the connection") { receiver.requests.last?.ended != nil }
        }
    }

    @Test func `every tus request has the headers of the payload and the credential`() async throws {
        let receiver = try await MisbehavingReceiver()
        let harness = try UploadHarness(token: "hush", to: receiver)
        defer { harness.directory.remove() }
        receiver.on("/files", .created("/files/1"))
        receiver.on("/files/1", .answer(409), .at(1, of: 3), .appended(3))
        let file = try harness.directory.file("a.txt", [1, 2, 3])
        let upload = try RepeatedUpload(
            harness, file: file, to: "\(receiver.origin)/files", "tus",
            extra: [.init("headers", ["X-Tag": "a", "Content-Type": "x/y", "Upload-Metadata": "mine YQ=="])])
        _ = try await upload.run()
        #expect(receiver.requests.map(\.method) == ["POST", "PATCH", "HEAD", "PATCH"])
        #expect(receiver.requests.allSatisfy { $0["authorization"] == "Bearer hush" && $0["x-tag"] == "a" })
        #expect(receiver.requests.map { $0["upload-metadata"] } == ["mine YQ==", nil, nil, nil])
        #expect(
            receiver.requests.map { $0["content-type"] }
                == [nil, "application/offset+octet-stream", nil, "application/offset+octet-stream"])
        receiver.on("/files", .answer(401))
        receiver.on("/files/1", .answer(401))
        for _ in 1...2 {
            let failure = try await upload.failure()
            #expect(failure.fault == .credential && !failure.reason.contains("hush"))
            upload.setCheckpoint(nil)
        }
        await receiver.stop()
    }
}

extension Behaviour {
    /// The answer to a creation.
    static func created(_ location: String) -> Behaviour {
        .answer(201, headers: ["Location": location, "Tus-Resumable": "1.0.0"])
    }

    /// The answer to a HEAD.
    static func at(_ offset: Int, of size: Int) -> Behaviour {
        .answer(200, headers: ["Upload-Offset": "\(offset)", "Upload-Length": "\(size)", "Tus-Resumable": "1.0.0"])
    }

    /// The answer to a PATCH.
    static func appended(_ offset: Int) -> Behaviour {
        .answer(204, headers: ["Upload-Offset": "\(offset)", "Tus-Resumable": "1.0.0"])
    }
}
