import Commands
import Operations
import Settings
import TestSupport
import Testing

/// PUT with `Content-Range` to a session.
@Suite struct ContentRangeSessionTests: ContentRangeSuite {
    @Test(arguments: ["contentRange", nil]) func `an upload queries its session and sends the file`(_ name: String?)
        async throws
    {
        try await withUpload(name) { receiver, upload, bytes in
            receiver.on("/in/a", .answer(308), .answer(200, headers: ["ETag": "1"]))
            let (execution, meter) = upload.next()
            let result = try await upload.harness.run(execution)
            #expect(result["headers"]?["etag"]?.string == "1")
            #expect(ranges(receiver) == [Self.query, Self.all])
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
            #expect(meter.reading.isResumable && meter.reading.offset == Int64(Self.size))
        }
    }

    @Test func `another execution resumes a session`() async throws {
        try await withUpload { receiver, upload, bytes in
            receiver.on("/in/a", .answer(308), .reset(.bytes(1_500_000)), .reset(.head))
            #expect(try await upload.failure().fault == .reset)
            let came = receiver.requests[1].bytes
            receiver.forget()
            receiver.on("/in/a", .answer(308, headers: ["Range": "bytes=0-\(came - 1)"]), .answer(201))
            _ = try await upload.run()
            let rest = Self.size - came
            #expect(ranges(receiver) == [Self.query, "PUT bytes \(came)-\(Self.size - 1)/\(Self.size) \(rest)"])
            #expect(receiver.requests.last?.sha256 == sha256(Array(bytes[came...])))
            #expect(came + rest <= Self.size + 256 << 10)
        }
    }

    @Test func `an upload continues from the session's offset even if it went down`() async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(308, headers: ["Range": "bytes=0-999999"]), .reset(.head), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on(
                "/in/a", .answer(308), .answer(308, headers: ["Range": "0-9"]),
                .answer(308, headers: ["Range": "bytes=0-9"]), .answer(200))
            _ = try await upload.run()
            #expect(
                ranges(receiver) == [
                    Self.query, Self.all, Self.query,
                    "PUT bytes 10-\(Self.size - 1)/\(Self.size) \(Self.size - 10)",
                ])
        }
    }

    @Test func `an upload succeeds if the session is complete after a lost answer`() async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(308), .reset(.body), .reset(.head))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on("/in/a", .answer(200))
            _ = try await upload.run()
            #expect(ranges(receiver) == [Self.query])
        }
    }

    @Test(arguments: [404, 410]) func `the reason says that a session is over`(_ status: Int) async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(308), .answer(status))
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("session"))
        }
    }

    @Test func `a redirect of a session query is not followed`() async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(308, headers: ["Location": "/elsewhere"]))
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("redirect"))
        }
    }

    @Test func `an upload fails if its session makes no progress or answers nonsense`() async throws {
        try await withUpload { receiver, upload, _ in
            receiver.on("/in/a", .answer(308))
            #expect(try await upload.failure().fault == .command)
            #expect(receiver.requests.count < 20)
            receiver.on("/in/a", .answer(308, headers: ["Range": "bytes=0-99999999999"]))
            let failure = try await upload.failure()
            #expect(failure.fault == .command)
            #expect(failure.reason.contains("99999999999"))
        }
    }
}
