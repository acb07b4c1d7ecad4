import Commands
import FileOps
import Foundation
import Store
import TestSupport
import Testing

/// The removal of sources, depending on the evidence for their delivery.
@Suite struct DeliveryCheckTests {
    private static let size = 1000
    private static let removes = [JSONValue.Member("removeSource", true)]

    private func withSource(
        _ body: (MisbehavingReceiver, UploadHarness, _ file: String, _ url: String) async throws -> Void
    ) async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(Self.size))
            try await body(receiver, harness, file, "\(receiver.origin)/a")
        }
    }

    @Test func `a source is deleted once the destination states its length`() async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201), .stored(Self.size))
            let headers: JSONValue = ["If-None-Match": "*", "X-Tag": "a"]
            let result = try await harness.upload(
                file: file, to: url, extra: Self.removes + [.init("headers", headers)])
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(access(file, F_OK) != 0)
            #expect(receiver.requests.map(\.method) == ["PUT", "HEAD"])
            #expect(receiver.requests[1]["x-tag"] == "a" && receiver.requests[1]["if-none-match"] == nil)
        }
    }

    @Test(arguments: [
        (Behaviour.stored(0), "0 of 1000 bytes"), (.stored(1001), "1001 of 1000 bytes"), (.answer(404), "404"),
        (.answer(410), "410"),
    ])
    func `a source is kept and the upload fails charged if the destination contradicts its answer`(
        _ answer: Behaviour, _ words: String
    ) async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201), answer)
            let failure = try await harness.failure(file: file, to: url, extra: Self.removes)
            #expect(failure.fault == .command && !failure.ambiguous)
            #expect(failure.reason.contains(words) && failure.reason.contains("201"), "\(failure.reason)")
            #expect(access(file, F_OK) == 0)
            #expect(receiver.requests.map(\.method) == ["PUT", "HEAD", "HEAD"])
        }
    }

    @Test func `a replica that does not have the upload yet is queried again`() async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201), .answer(404), .stored(Self.size))
            let result = try await harness.upload(file: file, to: url, extra: Self.removes)
            #expect(result["sourceRemoved"]?.bool == true)
        }
    }

    @Test(arguments: [Behaviour.stored(0), .stored(7), .answer(404)])
    func `a POST whose Location contradicts its answer is in doubt, and its source is kept`(
        _ answer: Behaviour
    ) async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201, headers: ["Location": "/stored/1"]))
            receiver.on("/stored/1", answer)
            let failure = try await harness.failure(
                file: file, to: url, extra: Self.removes + [.init("method", "POST")])
            #expect(failure.fault == .command && failure.ambiguous, "\(failure.reason)")
            #expect(failure.reason.contains("201") && failure.reason.contains("source is kept"), "\(failure.reason)")
            #expect(access(file, F_OK) == 0)
            #expect(receiver.requests.map(\.line) == ["POST /a", "HEAD /stored/1", "HEAD /stored/1"])
        }
    }

    @Test(arguments: ["application/json; charset=utf-8", "text/html", "application/hal+json"])
    func `a page about the file does not contradict its delivery, and does not confirm it`(_ type: String) async throws
    {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201, headers: ["Location": "/stored/1"]))
            receiver.on("/stored/1", .answer(200, headers: ["Content-Length": "70", "Content-Type": type]))
            let result = try await harness.upload(
                file: file, to: url, extra: Self.removes + [.init("method", "POST")])
            #expect(result["sourceRemoved"] == false && result["unverified"] == true, "\(result)")
            #expect(access(file, F_OK) == 0)
        }
    }

    @Test func `a HEAD that fails after a 202 leaves a success that is not verified`() async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(202), .answer(500))
            let result = try await harness.upload(file: file, to: url, extra: Self.removes)
            #expect(result["status"] == 202 && result["unverified"] == true, "\(result)")
            #expect(result["sourceProblem"]?.string?.contains("500") == true && access(file, F_OK) == 0, "\(result)")
        }
    }

    @Test(arguments: [nil, "http://other.test/x"])
    func `the answer to a POST without a Location of its origin is trusted`(_ location: String?) async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(200, headers: location.map { ["Location": $0] } ?? [:]))
            let result = try await harness.upload(
                file: file, to: url, extra: Self.removes + [.init("method", "POST")])
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(receiver.requests.count == 1)
        }
    }

    @Test(arguments: [
        Behaviour.answer(403), .answer(405), .answer(501), .answer(302),
        .answer(200, headers: ["Content-Encoding": "gzip", "Content-Length": "20"]),
    ])
    func `a destination that does not support the query is trusted`(_ answer: Behaviour) async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201), answer)
            let result = try await harness.upload(file: file, to: url, extra: Self.removes)
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(receiver.requests.map(\.method) == ["PUT", "HEAD"])
        }
    }

    @Test func `a source is kept while the destination is unavailable`() async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201), .answer(503))
            let result = try await harness.upload(file: file, to: url, extra: Self.removes)
            #expect(result["status"]?.integer == 201)
            #expect(result["sourceProblem"]?.string?.contains("503") == true, "\(result)")
            #expect(access(file, F_OK) == 0)
        }
    }

    @Test func `an upload that was answered 202 is queried until it is stored`() async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(202), .answer(404), .stored(0), .stored(Self.size))
            let result = try await harness.upload(file: file, to: url, extra: Self.removes)
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(receiver.requests.map(\.method) == ["PUT", "HEAD", "HEAD", "HEAD"])
        }
    }

    @Test(arguments: [404, 405])
    func `the source of an upload that was answered 202 is kept until the upload is stored`(_ status: Int) async throws
    {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(202), .answer(status))
            let result = try await harness.upload(file: file, to: url, extra: Self.removes)
            #expect(result["status"]?.integer == 202)
            #expect(result["sourceProblem"]?.string?.contains("accepted") == true, "\(result)")
            #expect(access(file, F_OK) == 0)
        }
    }

    @Test(arguments: [true, false]) func `a digest that the destination states is compared`(_ isRight: Bool)
        async throws
    {
        try await withSource { receiver, harness, file, url in
            let digest = sha256(isRight ? sample(Self.size) : [1])
            let bytes = stride(from: 0, to: 64, by: 2).map { UInt8(digest.dropFirst($0).prefix(2), radix: 16) ?? 0 }
            let field = "md5=:AAAA:, SHA-256=:\(Data(bytes).base64EncodedString()):"
            receiver.on(
                "/a", .answer(201),
                .answer(200, headers: ["Content-Length": "\(Self.size)", "Repr-Digest": field]))
            if isRight {
                let result = try await harness.upload(file: file, to: url, extra: Self.removes)
                #expect(result["sourceRemoved"]?.bool == true)
            } else {
                let failure = try await harness.failure(file: file, to: url, extra: Self.removes)
                #expect(failure.reason.contains("SHA-256"), "\(failure.reason)")
                #expect(access(file, F_OK) == 0)
            }
        }
    }

    @Test func `an upload without removeSource sends no query`() async throws {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .answer(201), .stored(0))
            _ = try await harness.upload(file: file, to: url)
            #expect(receiver.requests.map(\.method) == ["PUT"])
        }
    }

    @Test func `a spooled copy is kept while the destination has a different file`() async throws {
        try await withSource { receiver, harness, file, url in
            let spool = Spool(directory: try harness.directory.makeDirectory("spool"))
            let payload = try spool.take(["file": .string(file), "to": .string(url)])
            receiver.on("/a", .answer(201), .stored(0))
            let attributes = try harness.operation.inspect(payload)
            let failure = try await harness.failure(of: UploadHarness.execution(attributes).execution)
            #expect(failure.fault == .command)
            #expect(try FileManager.default.contentsOfDirectory(atPath: spool.directory).count == 1)
        }
    }

    // MARK: tus

    private func withTus(_ body: (MisbehavingReceiver, RepeatedUpload, _ file: String) async throws -> Void)
        async throws
    {
        try await withSource { receiver, harness, file, url in
            receiver.on("/a", .created("/files/1"))
            let upload = try RepeatedUpload(harness, file: file, to: url, "tus", extra: Self.removes)
            try await body(receiver, upload, file)
        }
    }

    @Test func `a tus upload is queried before its source is deleted`() async throws {
        try await withTus { receiver, upload, file in
            receiver.on("/files/1", .appended(Self.size), .at(Self.size, of: Self.size))
            let result = try await upload.run()
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(receiver.requests.map(\.line) == ["POST /a", "PATCH /files/1", "HEAD /files/1"])
        }
    }

    @Test func `a tus upload that has lost its end fails charged and is resumed`() async throws {
        try await withTus { receiver, upload, file in
            receiver.on("/files/1", .appended(Self.size), .at(10, of: Self.size))
            let failure = try await upload.failure()
            #expect(failure.fault == .command && failure.reason.contains("10 of 1000 bytes"), "\(failure.reason)")
            #expect(access(file, F_OK) == 0)
            receiver.forget()
            receiver.on(
                "/files/1", .at(10, of: Self.size), .appended(Self.size), .at(Self.size, of: Self.size))
            let result = try await upload.run()
            #expect(result["sourceRemoved"]?.bool == true)
        }
    }

    @Test func `a complete tus upload that vanishes succeeds and keeps its source`() async throws {
        try await withTus { receiver, upload, file in
            receiver.on("/files/1", .appended(Self.size), .answer(404))
            let result = try await upload.run()
            #expect(result["sourceProblem"]?.string?.contains("404") == true, "\(result)")
            #expect(access(file, F_OK) == 0)
        }
    }
}

extension Behaviour {
    /// The answer to a HEAD of a target of this size.
    fileprivate static func stored(_ size: Int) -> Behaviour {
        .answer(200, headers: ["Content-Length": "\(size)"])
    }
}
