import Commands
import TestSupport
import Testing

/// Uploads that a tus destination reports as unknown, although some still exist.
@Suite struct TusLossTests {
    private static let size = 3_000_000

    private func withTus(
        idempotent: Bool? = nil, _ body: (MisbehavingReceiver, RepeatedUpload, [UInt8]) async throws -> Void
    ) async throws {
        try await withReceiver { receiver, harness in
            let bytes = sample(Self.size)
            let file = try harness.directory.file("a", bytes)
            receiver.on("/files", .created("/files/1"))
            try await body(
                receiver,
                try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", "tus", idempotent: idempotent),
                bytes)
        }
    }

    @Test func `a single 404 does not restart most of an upload`() async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on(
                "/files/1", .reset(.bytes(2_000_000)), .at(2_000_000, of: Self.size), .answer(404),
                .at(2_000_000, of: Self.size), .appended(Self.size))
            _ = try await upload.run()
            #expect(
                receiver.requests.map(\.line)
                    == ["POST /files"]
                    + ["PATCH", "HEAD", "PATCH", "HEAD", "PATCH"].map { "\($0) /files/1" })
            #expect(receiver.requests.last?.sha256 == sha256(Array(bytes[2_000_000...])))
        }
    }

    @Test func `a 404 right after a reset does not restart an upload whose bytes were sent`() async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on(
                "/files/1", .reset(.bytes(2_700_000)), .answer(404), .at(2_700_000, of: Self.size),
                .appended(Self.size))
            _ = try await upload.run()
            #expect(
                receiver.requests.map(\.line)
                    == ["POST /files"] + ["PATCH", "HEAD", "HEAD", "PATCH"].map { "\($0) /files/1" })
            #expect(receiver.requests.last?.sha256 == sha256(Array(bytes[2_700_000...])))
        }
    }

    /// The end of the file is not on its way, so that only the bytes that have left tell of the loss.
    @Test func `a 404 right after a reset in the middle does not restart an upload whose bytes were sent`()
        async throws
    {
        try await withReceiver { receiver, harness in
            let (size, cut) = (48_000_000, 30_000_000)
            let file = try harness.directory.file("large", sample(size))
            let upload = try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", "tus")
            receiver.on("/files", .created("/files/1"))
            receiver.on("/files/1", .reset(.bytes(cut)), .answer(404), .at(cut, of: size), .appended(size))
            _ = try await upload.run()
            #expect(
                receiver.requests.map(\.line)
                    == ["POST /files"] + ["PATCH", "HEAD", "HEAD", "PATCH"].map { "\($0) /files/1" })
        }
    }

    @Test func `an answer to the question for the offset that cannot be read does not end the upload`() async throws {
        try await withTus { receiver, upload, bytes in
            let lengths = "Content-Length: 0\\r\\nContent-Length: 1"
            receiver.on(
                "/files/1", .reset(.bytes(2_000_000)),
                try Behaviour(
                    "read; send \"HTTP/1.1 200 OK\\r\\nUpload-Offset: 2000000\\r\\n\(lengths)\\r\\n\\r\\n\"; close"))
            let failure = try await upload.failure()
            #expect(failure.fault == .command, "\(failure.reason)")
            receiver.on("/files/1", .at(2_000_000, of: Self.size), .appended(Self.size))
            _ = try await upload.run()
            #expect(receiver.requests.last?.sha256 == sha256(Array(bytes[2_000_000...])))
        }
    }

    @Test func `a later execution knows the bytes that were sent before a reset`() async throws {
        try await withTus { receiver, upload, _ in
            // The connection is not kept, so the reset ends the execution.
            receiver.on(
                "/files",
                try Behaviour("read; answer 201 header \"Location: /files/1\" header \"Connection: close\""))
            receiver.on("/files/1", .reset(.bytes(2_700_000)))
            let failure = try await upload.failure()
            #expect(failure.fault == .reset, "\(failure.reason)")
            // The end of a connection may leave no time to read the kernel's counters.
            guard upload.offset > Self.size / 2 else { return }
            receiver.forget()
            receiver.on("/files/1", .answer(404), .at(2_700_000, of: Self.size), .appended(Self.size))
            _ = try await upload.run()
            #expect(receiver.requests.map(\.line) == ["HEAD", "HEAD", "PATCH"].map { "\($0) /files/1" })
        }
    }

    @Test func `an upload that vanishes each time its last answer is lost is sent once an execution`() async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on("/files/1", .reset(.body), .answer(404))
            receiver.on("/files", .created("/files/1"), .created("/files/2"))
            receiver.on("/files/2", .reset(.body), .answer(404))
            for execution in 1...2 {
                let failure = try await upload.failure()
                #expect(failure.fault == .command, "\(failure.reason)")
                #expect(failure.reason.contains("no longer exists, so it may have been processed"), "\(failure.reason)")
                #expect(receiver.requests.count { $0.method == "PATCH" } == execution)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a complete upload whose last answer is lost is a success`(_ isIdempotent: Bool) async throws {
        try await withTus(idempotent: isIdempotent) { receiver, upload, _ in
            receiver.on("/files/1", .reset(.body), .at(Self.size, of: Self.size))
            _ = try await upload.run()
            #expect(receiver.requests.map(\.line) == ["POST /files", "PATCH /files/1", "HEAD /files/1"])
        }
    }

    @Test(arguments: [404, 410])
    func `a later execution queries a vanished upload twice and then starts over`(_ status: Int) async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on(
                "/files/1", .reset(.bytes(2_000_000)), .at(2_000_000, of: Self.size), .reset(.bytes(500_000)),
                .answer(status), .at(2_500_000, of: Self.size), .answer(500))
            _ = try await upload.failure()
            receiver.forget()
            receiver.on("/files/1", .answer(status))
            receiver.on("/files", .created("/files/2"))
            receiver.on("/files/2", .appended(Self.size))
            _ = try await upload.run()
            #expect(
                receiver.requests.map(\.line)
                    == ["HEAD /files/1", "HEAD /files/1", "POST /files", "PATCH /files/2"])
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
        }
    }

    @Test func `an upload that may have been processed is ambiguous if it is not idempotent`() async throws {
        try await withTus(idempotent: false) { receiver, upload, _ in
            receiver.on("/files/1", .answer(500), .answer(404))
            let failure = try await upload.failure()
            #expect(failure.ambiguous)
            #expect(failure.reason.contains("500") && failure.reason.contains("processed"), "\(failure.reason)")
            #expect(
                receiver.requests.map(\.line) == ["POST /files", "PATCH /files/1", "HEAD /files/1", "HEAD /files/1"])
        }
    }

    @Test func `an upload that may have been processed is ambiguous if the query fails`() async throws {
        try await withTus(idempotent: false) { receiver, upload, _ in
            receiver.on("/files/1", .answer(500), .answer(503))
            let failure = try await upload.failure()
            #expect(failure.ambiguous)
        }
    }

    @Test func `an idempotent upload that may have been processed is charged and starts over`() async throws {
        try await withTus { receiver, upload, bytes in
            receiver.on("/files/1", .answer(500), .answer(404))
            let failure = try await upload.failure()
            #expect(failure.fault == .command)
            receiver.on("/files", .created("/files/2"))
            receiver.on("/files/2", .appended(Self.size))
            _ = try await upload.run()
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
        }
    }

    @Test func `an error after the last byte of a complete upload is a success`() async throws {
        try await withTus(idempotent: false) { receiver, upload, _ in
            receiver.on("/files/1", .answer(500), .at(Self.size, of: Self.size))
            let result = try await upload.run()
            #expect(result["status"]?.integer == 200)
        }
    }

    @Test func `an error after the last byte of an incomplete upload is charged and not ambiguous`() async throws {
        try await withTus(idempotent: false) { receiver, upload, _ in
            receiver.on("/files/1", .answer(502), .at(1_000_000, of: Self.size))
            let failure = try await upload.failure()
            #expect(failure.fault == .command && !failure.ambiguous)
            #expect(failure.reason.contains("502"))
            receiver.forget()
            receiver.on("/files/1", .at(1_000_000, of: Self.size), .appended(Self.size))
            _ = try await upload.run()
            #expect(receiver.requests.map(\.line) == ["HEAD /files/1", "PATCH /files/1"])
        }
    }
}
