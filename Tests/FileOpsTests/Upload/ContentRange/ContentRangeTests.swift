import Commands
import FileOps
import Operations
import Settings
import TestSupport
import Testing

/// PUT with `Content-Range` to a target whose length is the offset, and to others.
@Suite struct ContentRangeTests: ContentRangeSuite {
    @Test func `an upload by length empties the target first`() async throws {
        try await withUpload(extra: [.init("headers", ["If-None-Match": "*", "X-Tag": "a"])]) {
            receiver, upload, bytes in
            receiver.on("/in/a", .answer(400), .answer(201), .answer(204))
            _ = try await upload.run()
            #expect(ranges(receiver) == [Self.query, "PUT - 0", Self.all])
            #expect(receiver.requests[2].sha256 == sha256(bytes))
            // The condition concerned the target before the upload.
            #expect(receiver.requests.map { $0["if-none-match"] } == ["*", "*", nil])
            #expect(receiver.requests.allSatisfy { $0["x-tag"] == "a" })
            #expect(receiver.requests.allSatisfy { $0.key == upload.id.description })
        }
    }

    @Test func `another execution resumes from the length of the target`() async throws {
        try await withUpload { receiver, upload, bytes in
            receiver.on(
                "/in/a", .answer(400), .answer(201), .reset(.bytes(1_500_000)), .reset(.head))
            _ = try await upload.failure()
            #expect(upload.checkpoint?["contentRange"]?.string == "length")
            receiver.forget()
            receiver.on("/in/a", .length(1_400_000), Self.unreadable, .answer(204), .length(Self.size))
            let (execution, meter) = upload.next()
            _ = try await upload.harness.run(execution)
            #expect(
                ranges(receiver) == [
                    "HEAD - 0", "GET - 0", "PUT bytes 1400000-2999999/3000000 1600000", "HEAD - 0",
                ])
            #expect(receiver.requests[1]["range"] == "bytes=1383616-1399999")
            #expect(receiver.requests[2].sha256 == sha256(Array(bytes[1_400_000...])))
            #expect(meter.reading.bytes == 1_600_000)
        }
    }

    @Test func `an upload starts over if the target is gone or longer`() async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(400), .answer(201), .reset(.head), .reset(.head))
            _ = try await upload.failure()
            for answer in [Behaviour.answer(404), .length(Self.size + 1)] {
                receiver.forget()
                receiver.on("/in/a", answer, .answer(201), .answer(204))
                _ = try await upload.run()
                #expect(ranges(receiver) == ["HEAD - 0", "PUT - 0", Self.all])
            }
        }
    }

    /// The target has a possible length, but its bytes are of another upload.
    @Test(arguments: [1_400_000, ContentRangeTests.size], [206, 404, 416])
    func `an upload starts over if the target's last bytes differ from the file's`(_ length: Int, _ status: Int)
        async throws
    {
        try await withUpload { receiver, upload, bytes in
            receiver.on("/in/a", .answer(400), .answer(201), .reset(.bytes(1_500_000)), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on(
                "/in/a", .length(length), .answer(status, body: "another file"), .answer(201), .answer(204))
            _ = try await upload.run()
            #expect(ranges(receiver) == ["HEAD - 0", "GET - 0", "PUT - 0", Self.all])
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
        }
    }

    @Test func `an upload is not resumed while the target cannot be read back`() async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(400), .answer(201), .reset(.bytes(1_500_000)), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on("/in/a", .length(1_400_000), .answer(503))
            #expect(try await upload.failure().fault == .link)
            #expect(ranges(receiver) == ["HEAD - 0", "GET - 0"])
        }
    }

    /// The file is larger than what the buffers of both sockets take, so that its last byte cannot leave before the reset.
    @Test func `an upload that is not idempotent sends nothing after a reset`() async throws {
        try await withUpload(idempotent: false, size: 20_000_000) { receiver, upload, _ in
            receiver.on("/in/a", .answer(400), .answer(201), .reset(.bytes(1_500_000)), .answer(404))
            let failure = try await upload.failure()
            #expect(failure.fault == .reset)
            #expect(failure.ambiguous)
            #expect(receiver.requests.map(\.method) == ["PUT", "PUT", "PUT"])
        }
    }

    @Test(arguments: [409, 416]) func `a refused offset leads to a query if the target has grown`(
        _ status: Int
    ) async throws {
        try await withUpload { receiver, upload, bytes in
            receiver.on("/in/a", .answer(400), .answer(201), .reset(.bytes(1_500_000)), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on(
                "/in/a", .length(1_400_000), Self.unreadable, .answer(status), .length(1_500_000), Self.unreadable,
                .answer(204), .length(Self.size))
            _ = try await upload.run()
            #expect(
                ranges(receiver).map { $0.prefix(18) }.suffix(4)
                    == ["HEAD - 0", "GET - 0", "PUT bytes 1500000-", "HEAD - 0"])
            #expect(receiver.requests[5].sha256 == sha256(Array(bytes[1_500_000...])))
        }
    }

    @Test(arguments: [409, 416]) func `a refusal of the offset that the target has reported is final`(
        _ status: Int
    ) async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(400), .answer(201), .reset(.bytes(1_500_000)), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on(
                "/in/a", .length(1_400_000), Self.unreadable, .answer(status), .length(1_400_000), Self.unreadable,
                .answer(204), .length(Self.size))
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("was answered \(status)"), "\(failure.reason)")
            #expect(
                ranges(receiver).map { $0.prefix(18) }
                    == ["HEAD - 0", "GET - 0", "PUT bytes 1400000-", "HEAD - 0", "GET - 0"])
        }
    }

    @Test func `the whole file is sent if the destination took the rest for all of it`() async throws {
        try await withUpload { receiver, upload, bytes in
            receiver.on("/in/a", .answer(400), .answer(201), .reset(.head), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on(
                "/in/a", .length(1000), Self.unreadable, .answer(204), .length(Self.size - 1000), .answer(201))
            _ = try await upload.run()
            #expect(
                ranges(receiver) == [
                    "HEAD - 0", "GET - 0", "PUT bytes 1000-2999999/3000000 2999000", "HEAD - 0", "PUT - 3000000",
                ])
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
        }
    }

    @Test(arguments: [404, 405, 500]) func `an upload goes by length if the query is not supported`(
        _ status: Int
    ) async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(status), .answer(201), .answer(204))
            _ = try await upload.run()
            #expect(ranges(receiver) == [Self.query, "PUT - 0", Self.all])
        }
    }

    @Test func `an upload goes by length if the query has emptied the target`() async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on(
                "/in/a", .answer(201), .length(0), .reset(.bytes(1_000_000)), .length(1_000_000), Self.unreadable,
                .answer(204), .length(Self.size))
            let (execution, meter) = upload.next()
            _ = try await upload.harness.run(execution)
            #expect(meter.reading.isResumable)
            #expect(
                ranges(receiver).suffix(4) == [
                    "HEAD - 0", "GET - 0", "PUT bytes 1000000-2999999/3000000 2000000", "HEAD - 0",
                ])
        }
    }

    @Test(arguments: [
        (401, CommandFailure.Fault.credential), (403, .final), (429, .command), (503, .link), (302, .final),
    ])
    func `a refusal of the query decides the fault`(_ status: Int, _ fault: CommandFailure.Fault) async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(status))
            let failure = try await upload.failure()
            #expect(failure.fault == fault)
            #expect(receiver.requests.count == 1)
        }
    }

    // MARK: Others

    @Test func `the whole file is sent if Content-Range is not supported`() async throws {
        try await withUpload { receiver, upload, bytes in
            receiver.on("/in/a", .answer(501), .answer(201))
            let (execution, meter) = upload.next()
            _ = try await upload.harness.run(execution)
            #expect(ranges(receiver) == [Self.query, "PUT - \(Self.size)"])
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
            #expect(!meter.reading.isResumable)
            #expect(upload.checkpoint == nil)
        }
    }

    @Test func `the whole file is sent if the query has written to the target`() async throws {
        try await withUpload(extra: [.init("headers", ["If-None-Match": "*"])]) { receiver, upload, _ in
            receiver.on("/in/a", .answer(200), .length(17), .answer(201))
            _ = try await upload.run()
            #expect(ranges(receiver) == [Self.query, "HEAD - 0", "PUT - \(Self.size)"])
            // The query has created the target.
            #expect(receiver.requests.map { $0["if-none-match"] } == ["*", nil, nil])
            #expect(upload.checkpoint == nil)
        }
    }

    @Test func `Content-Range is not used without a setting`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(Self.size))
            receiver.on("/a", .answer(405), .answer(201))
            _ = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/a", nil).run()
            #expect(receiver.requests.map(\.method) == ["OPTIONS", "PUT"])
            #expect(receiver.requests.allSatisfy { $0["content-range"] == nil })
        }
    }

    @Test func `destinations with Content-Range are read from the configuration`() throws {
        func rules(_ values: [String: JSONValue]) throws -> ResumeRules {
            var reader = try SettingsReader(values)
            return try ResumeRules(reading: &reader)
        }
        let names: JSONValue = ["a", "b"]
        #expect(try rules([:]) == ResumeRules())
        let read = try rules([
            "destinations": names, "destination.a.origin": "http://h:8080", "destination.a.resume": "contentRange",
            "destination.b.origin": "http://other", "destination.b.maxRate": "1 MB/s",
        ])
        #expect(read == ResumeRules(contentRange: [try #require(Destination("http://h:8080"))]))
        for (key, values) in [
            ("destination.a.resume", ["destination.a.resume": "put", "destination.a.origin": "http://h"]),
            ("destination.a.origin", ["destination.a.resume": "contentRange", "destination.a.origin": "http://h/x"]),
            ("destination.a.origin", ["destination.a.resume": "contentRange"]),
        ] as [(String, [String: JSONValue])] {
            let error = #expect(throws: SettingsError.self) {
                try rules(values.merging(["destinations": names]) { $1 })
            }
            #expect(error?.key == key)
        }
    }
}

extension Behaviour {
    /// The answer to a HEAD.
    fileprivate static func length(_ size: Int) -> Behaviour { .answer(200, headers: ["Content-Length": "\(size)"]) }
}
