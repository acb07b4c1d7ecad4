import Commands
import FileOps
import TestSupport
import Testing

/// The choice of a protocol for payloads without one.
@Suite struct TusSupportCacheTests {
    private static let speaksTus = Behaviour.answer(
        204,
        headers: ["Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0,0.2.2", "Tus-Extension": "termination, creation"])

    @Test func `a file is sent by tus if the URL supports it, after one query`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1 << 20))
            receiver.on("/files/", Self.speaksTus, .created("1"))
            receiver.on("/files/1", .appended(1 << 20))
            for _ in 1...3 {
                _ = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files/", nil).run()
            }
            let lines = receiver.requests.map(\.line)
            #expect(lines == ["OPTIONS /files/"] + (1...3).flatMap { _ in ["POST /files/", "PATCH /files/1"] })
        }
    }

    @Test(arguments: [
        Behaviour.answer(200, headers: ["Allow": "OPTIONS, PUT"]), .answer(404), .answer(405), .answer(501),
        .answer(204, headers: ["Tus-Version": "0.2.2", "Tus-Extension": "creation"]),
        .answer(204, headers: ["Tus-Version": "1.0.0"]),
    ])
    func `a file is sent by PUT if the URL does not support tus, after one query`(_ answer: Behaviour) async throws {
        try await withReceiver { receiver, harness in
            let bytes = sample(1 << 20)
            let file = try harness.directory.file("a b", bytes)
            receiver.on("/in/", answer, .hang(.head))
            for _ in 1...2 {
                _ = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/in/", nil).run()
            }
            #expect(receiver.requests.map(\.line) == ["OPTIONS /in/", "PUT /in/a%20b", "PUT /in/a%20b"])
            #expect(receiver.requests.last?.sha256 == sha256(bytes))
        }
    }

    @Test func `no query is sent for a small file, a given method or a given protocol`() async throws {
        try await withReceiver { receiver, harness in
            let small = try harness.directory.file("small", sample(1 << 20 - 1))
            let large = try harness.directory.file("large", sample(1 << 20))
            let url = "\(receiver.origin)/in/"
            _ = try await RepeatedUpload(harness, file: small, to: url, nil).run()
            _ = try await RepeatedUpload(harness, file: large, to: url, nil, extra: [.init("method", "POST")]).run()
            _ = try await RepeatedUpload(harness, file: large, to: url, "put").run()
            #expect(receiver.requests.map(\.line) == ["PUT /in/small", "POST /in/large", "PUT /in/large"])
        }
    }

    @Test func `a server error on OPTIONS is not remembered`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1 << 20))
            receiver.on("/files", .answer(500), .answer(201), Self.speaksTus, .created("/files/1"))
            receiver.on("/files/1", .appended(1 << 20))
            for _ in 1...2 {
                _ = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", nil).run()
            }
            #expect(
                receiver.requests.map(\.line) == [
                    "OPTIONS /files", "PUT /files", "OPTIONS /files", "POST /files", "PATCH /files/1",
                ])
        }
    }

    /// A PUT to a tus endpoint would fail for good.
    @Test(arguments: [
        (408, CommandFailure.Fault.command), (425, .command), (429, .command), (502, .command), (503, .link),
    ])
    func `an upload fails without ambiguity while the query is unavailable`(
        _ status: Int, _ fault: CommandFailure.Fault
    ) async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1 << 20))
            receiver.on("/files", .answer(status), Self.speaksTus, .created("/files/1"))
            receiver.on("/files/1", .appended(1 << 20))
            let upload = try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", nil)
            let failure = try await upload.failure()
            #expect(failure.fault == fault)
            #expect(!failure.ambiguous)
            _ = try await upload.run()
            #expect(
                receiver.requests.map(\.line) == [
                    "OPTIONS /files", "OPTIONS /files", "POST /files", "PATCH /files/1",
                ])
        }
    }

    @Test func `a query to a closed port is the link's failure`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let file = try harness.directory.file("a", sample(1 << 20))
        let failure = try await RepeatedUpload(harness, file: file, to: "http://127.0.0.1:\(try freePort())/a", nil)
            .failure()
        #expect(failure.fault == .link)
        #expect(!failure.ambiguous)
    }

    @Test func `a later execution keeps the protocol of the first`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1 << 20))
            receiver.on("/files", Self.speaksTus, .created("/files/1"))
            receiver.on("/files/1", .reset(.bytes(1000)), .reset(.head), .at(1000, of: 1 << 20), .appended(1 << 20))
            let upload = try RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", nil)
            _ = try await upload.failure()
            // Another worker, which has sent no query.
            let other = try UploadHarness()
            defer { other.directory.remove() }
            receiver.forget()
            _ = try await other.run(upload.next().execution)
            #expect(receiver.requests.map(\.line) == ["HEAD /files/1", "PATCH /files/1"])
        }
    }

    @Test(arguments: [
        ["tus-version": " 0.2.2 , 1.0.0 ", "TUS-EXTENSION": "creation , termination"],
        ["Tus-Resumable": "1.0.0", "Tus-Extension": "termination,\tCreation"],
    ])
    func `a list may have blanks around its members`(_ headers: [String: String]) async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1 << 20))
            receiver.on("/files", .answer(204, headers: headers), .created("/files/1"))
            receiver.on("/files/1", .appended(1 << 20))
            _ = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", nil).run()
            #expect(receiver.requests.map(\.method) == ["OPTIONS", "POST", "PATCH"])
        }
    }

    /// A gateway answers OPTIONS itself, for CORS.
    @Test(arguments: [404, 405, 412, 403, 413, 422])
    func `the reason of a refused PUT mentions tus if OPTIONS did not and the answer is that of a tus endpoint`(
        _ status: Int
    ) async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/files/", .answer(204, headers: ["Access-Control-Allow-Methods": "POST, PATCH, HEAD"]))
            receiver.on("/files/a", .answer(status))
            let file = try harness.directory.file("a", sample(1 << 20))
            let failure = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files/", nil).failure()
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("--protocol tus") == [404, 405, 412].contains(status), "\(failure.reason)")
        }
    }

    @Test func `no query is sent to a destination with resume: tus in sluice.yaml`() async throws {
        try await withReceiver { receiver, harness in
            let origin = Destination(scheme: "http", host: "127.0.0.1", port: receiver.port)
            let other = try UploadHarness(resumes: ResumeRules(contentRange: [], tus: [origin]))
            defer { other.directory.remove() }
            let file = try other.directory.file("a", sample(1 << 20))
            receiver.on("/files/", .created("1"))
            receiver.on("/files/1", .appended(1 << 20))
            _ = try await RepeatedUpload(other, file: file, to: "\(receiver.origin)/files/", nil).run()
            #expect(receiver.requests.map(\.method) == ["POST", "PATCH"])
        }
    }

    @Test func `the reason of a refused PUT says that the destination speaks tus`() async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/files/a", .answer(405, headers: ["Tus-Resumable": "1.0.0"]))
            let file = try harness.directory.file("a", [1])
            let failure = try await harness.failure(file: file, to: "\(receiver.origin)/files/")
            #expect(failure.fault == .final)
            #expect(failure.reason.contains("protocol tus"))
        }
    }
}
