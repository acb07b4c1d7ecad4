import Commands
import FileOps
import Operations
import Settings
import TestSupport
import Testing

/// Size limits of tus destinations and of the proxies in front of them.
@Suite struct TusChunkTests {
    private static let size = 3_000_000

    private func withUpload(
        _ size: Int = size, chunk: Int64? = nil,
        _ body: (MisbehavingReceiver, UploadHarness, RepeatedUpload) async throws -> Void
    ) async throws {
        let receiver = try await MisbehavingReceiver()
        try await stopping(receiver) {
            let origin = Destination(scheme: "http", host: "127.0.0.1", port: receiver.port)
            let harness = try UploadHarness(
                resumes: ResumeRules(contentRange: [], chunkSizes: chunk.map { [origin: $0] } ?? [:]))
            defer { harness.directory.remove() }
            let file = try harness.directory.file("a", sample(size))
            receiver.on("/files", .created("/files/1"))
            try await body(
                receiver, harness, try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", "tus"))
        }
    }

    private func chunks(_ receiver: MisbehavingReceiver) -> [String] {
        receiver.requests.map { "\($0.method) \($0["upload-offset"] ?? "-") \($0.bytes)" }
    }

    @Test func `a file is sent in chunks of the destination's size`() async throws {
        try await withUpload(chunk: 1 << 20) { receiver, _, upload in
            receiver.on("/files/1", .appended(1 << 20), .appended(2 << 20), .appended(Self.size))
            let (execution, meter) = upload.next()
            _ = try await upload.harness.run(execution)
            #expect(
                chunks(receiver) == [
                    "POST - 0", "PATCH 0 1048576", "PATCH 1048576 1048576", "PATCH 2097152 902848",
                ])
            let bytes = sample(Self.size)
            #expect(receiver.requests[2].sha256 == sha256(Array(bytes[(1 << 20)..<(2 << 20)])))
            #expect(meter.reading.offset == Int64(Self.size) && meter.reading.bytes == Int64(Self.size))
            #expect(meter.reading.total == Int64(Self.size))
        }
    }

    @Test func `a request that is too large is halved, and the size is remembered`() async throws {
        try await withUpload { receiver, harness, upload in
            let parts = (1...4).map { Behaviour.appended($0 * 750_000) }
            receiver.on(
                "/files/1", [.answer(413), .at(0, of: Self.size), .answer(413), .at(0, of: Self.size)] + parts)
            _ = try await upload.run()
            #expect(
                chunks(receiver) == [
                    "POST - 0", "PATCH 0 3000000", "HEAD - 0", "PATCH 0 1500000", "HEAD - 0", "PATCH 0 750000",
                    "PATCH 750000 750000", "PATCH 1500000 750000", "PATCH 2250000 750000",
                ])
            receiver.forget()
            receiver.on("/files/1", parts)
            let file = try harness.directory.file("b", sample(Self.size))
            _ = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", "tus").run()
            #expect(chunks(receiver).prefix(2) == ["POST - 0", "PATCH 0 750000"])
        }
    }

    @Test func `a destination that refuses 64 KiB refuses the upload`() async throws {
        try await withUpload(100_000) { receiver, _, upload in
            receiver.on("/files/1", .answer(413), .at(0, of: 100_000), .answer(413))
            let failure = try await upload.failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("413"))
            #expect(chunks(receiver) == ["POST - 0", "PATCH 0 100000", "HEAD - 0", "PATCH 0 65536"])
        }
    }

    @Test(arguments: [201, 413])
    func `a file above the destination's limit is refused, and the reason names both sizes`(_ status: Int) async throws
    {
        try await withUpload { receiver, _, upload in
            receiver.on("/files", .answer(status, headers: ["tus-max-size": " 1000000", "Location": "/files/1"]))
            let failure = try await upload.failure()
            #expect(failure.fault == .final && !failure.ambiguous)
            #expect(failure.reason.contains("3000000") && failure.reason.contains("1000000"), "\(failure.reason)")
            #expect(receiver.requests.count == 1)
        }
    }

    @Test func `the Tus-Max-Size of OPTIONS applies before an upload is created`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(Self.size))
            receiver.on(
                "/files",
                .answer(
                    204,
                    headers: ["Tus-Version": "1.0.0", "Tus-Extension": "creation", "Tus-Max-Size": "2999999"]))
            let failure = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", nil).failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("3000000") && failure.reason.contains("2999999"), "\(failure.reason)")
            #expect(receiver.requests.map(\.method) == ["OPTIONS"])
        }
    }

    @Test func `chunk sizes are read by destination`() throws {
        func rules(_ size: String) throws -> ResumeRules {
            var reader = try SettingsReader([
                "destinations": ["a"], "destination.a.origin": "http://h", "destination.a.chunkSize": .string(size),
            ])
            return try ResumeRules(reading: &reader)
        }
        let origin = try #require(Destination("http://h"))
        for (text, bytes) in [("8MiB", 8 << 20), ("8 MB", 8_000_000), ("65536", 65_536), ("1GiB", 1 << 30)] {
            #expect(try rules(text) == ResumeRules(contentRange: [], chunkSizes: [origin: Int64(bytes)]))
        }
        for text in ["", "8", "65535", "-1", "1.5MiB", "8 parsecs", "99999999999999999999", "9999999999GiB"] {
            let error = #expect(throws: SettingsError.self, "\(text)") { try rules(text) }
            #expect(error?.key == "destination.a.chunkSize")
        }
    }
}
