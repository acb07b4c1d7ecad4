import Commands
import Foundation
import HTTPClient
import Operations
import TestSupport
import Testing

@testable import FileOps
@testable import Transfers

/// Downloads of objects, from a store that verifies signatures.
@Suite struct S3DownloadTests {
    private static let size = 1_000_000

    private func with(
        key: String = "in/a b.mp4", secret: String = S3Server.secretKey, _ members: [JSONValue.Member] = [],
        object: [JSONValue.Member] = [], _ body: (S3Server, DownloadHarness, [UInt8]) async throws -> Void
    ) async throws {
        let (store, server) = (S3Server(), try await ScriptedServer())
        try await stopping(server) {
            server.handle(by: store)
            try await DownloadHarness.withDirectory { directory in
                let file = try directory.file("secret", Array(secret.utf8))
                chmod(file, 0o600)
                let endpoint = Destination(scheme: "http", host: "127.0.0.1", port: server.port)
                let credentials = CredentialStore(
                    [:], accessKeys: [endpoint: S3AccessKey(id: S3Server.accessKey, secret: .file(file))])
                let source = JSONValue.object(
                    [
                        .init("endpoint", .string(server.origin)), .init("bucket", .string(S3Server.bucket)),
                        .init("key", .string(key)),
                    ] + object)
                let payload = JSONValue.object(
                    [.init("s3", source), .init("to", .string("\(directory.path)/"))] + members)
                let bytes = SimulatedVersion.bytes(Self.size, seed: 5)
                store.store(key, bytes)
                try await body(store, try DownloadHarness(payload, in: directory, credentials: credentials), bytes)
            }
        }
    }

    private func contents(_ harness: DownloadHarness, _ name: String = "a b.mp4") -> [UInt8]? {
        TestSupport.contents(of: "\(harness.directory.path)/\(name)")
    }

    @Test(arguments: ["a b.mp4", "in//x+y/ü%2F*'().bin", "../z"])
    func `an object becomes a file of the last name of its key`(_ key: String) async throws {
        try await with(key: key) { store, harness, bytes in
            let outcome = try await harness.execute()
            let name = String(key.split(separator: "/").last ?? "")
            #expect(contents(harness, name) == bytes && harness.parts.isEmpty, "\(outcome)")
            #expect(outcome.result?["bytes"]?.integer == Int64(Self.size) && store.log == [.get], "\(store.log)")
            #expect(outcome.result?["checksum"] == "none")
            let text = "\(harness.payload)\(outcome)\(String(decoding: harness.checkpoint?.bytes ?? [], as: UTF8.self))"
            #expect(!text.contains(S3Server.secretKey))
        }
    }

    @Test func `a cut download goes on with a signed range of the same version`() async throws {
        try await with { store, harness, bytes in
            store.fail(.get, .cut(600_000))
            let first = try await harness.execute()
            #expect(first.failure?.fault == .reset && contents(harness) == nil, "\(first)")
            #expect(harness.checkpoint?.validators.tag?.isWeak == false)
            let second = try await harness.execute()
            #expect(contents(harness) == bytes, "\(second)")
            #expect(second.result?["resumed"] == 1 && second.result?["status"] == 206, "\(second)")
            #expect(store.log == [.get, .get])
        }
    }

    @Test func `an object that changes after the cut starts over, and two versions are not mixed`() async throws {
        try await with { store, harness, _ in
            store.fail(.get, .cut(600_000))
            _ = try await harness.execute()
            let other = SimulatedVersion.bytes(Self.size, seed: 6)
            store.store("in/a b.mp4", other)
            let second = try await harness.execute()
            #expect(contents(harness) == other && second.result?["restarted"] == 1, "\(second)")
        }
    }

    @Test func `the clock of the store is taken once it refuses that of this host`() async throws {
        try await with { store, harness, bytes in
            store.setClock(ahead: -3600)
            let outcome = try await harness.execute()
            #expect(contents(harness) == bytes && store.log == [.get, .get], "\(outcome)")
        }
    }

    @Test(arguments: [
        (404, "NoSuchKey", CommandFailure.Fault.final), (403, "AccessDenied", .final), (404, "NoSuchBucket", .final),
        (403, "InvalidAccessKeyId", .credential), (301, "PermanentRedirect", .final), (500, "InternalError", .command),
        (503, "SlowDown", .link),
    ])
    func `a refusal is judged by the code of the store`(_ status: Int, _ code: String, _ fault: CommandFailure.Fault)
        async throws
    {
        try await with { store, harness, _ in
            store.fail(.get, .refuse(status, code))
            let outcome = try await harness.execute()
            #expect(outcome.failure?.fault == fault && contents(harness) == nil, "\(outcome)")
            #expect(outcome.failure?.reason.contains(code) == true, "\(outcome)")
        }
    }

    @Test func `a wrong secret waits for its correction`() async throws {
        try await with(secret: "hush-hush-hush") { _, harness, _ in
            let outcome = try await harness.execute()
            #expect(outcome.failure?.fault == .credential, "\(outcome)")
            #expect(outcome.failure?.reason.contains("sluice config check") == true && !"\(outcome)".contains("hush"))
        }
    }

    @Test func `the checksum of a whole object is compared, and one of parts is not`() throws {
        func checksums(_ fields: [(String, String)], status: Int = 200) -> [Checksum] {
            DownloadAnswer(status: status, fields: HeaderFields(fields)).checksums
        }
        let digest = Base64.encode([UInt8](repeating: 7, count: 32))
        #expect(checksums([("x-amz-checksum-sha256", digest)]).map(\.algorithm) == [.sha256])
        #expect(checksums([("x-amz-checksum-sha256", "\(digest)-3")]).isEmpty)
        #expect(checksums([("x-amz-checksum-sha256", digest), ("x-amz-checksum-type", "COMPOSITE")]).isEmpty)
        // Of a range, and a tag that looks like an MD5.
        #expect(checksums([("x-amz-checksum-sha256", digest)], status: 206).isEmpty)
        #expect(checksums([("etag", "\"d41d8cd98f00b204e9800998ecf8427e\"")]).isEmpty)
    }

    @Test func `an object that is damaged on its way is not published`() async throws {
        try await with { store, harness, bytes in
            let digest = Base64.encode([UInt8](repeating: 7, count: 32))
            store.store("in/a b.mp4", bytes, headers: ["x-amz-checksum-sha256": digest])
            let outcome = try await harness.execute()
            #expect(outcome.failure?.reason.contains("sha256") == true && contents(harness) == nil, "\(outcome)")
        }
    }

    @Test(
        arguments: [
            ["s3": ["endpoint": "https://h", "bucket": "media", "key": "in/"], "to": "/x"],
            ["s3": ["endpoint": "https://h", "bucket": "media"], "to": "/x"],
            ["s3": ["endpoint": "https://h", "bucket": "media", "key": "a", "file": "b"], "to": "/x"],
            ["s3": ["endpoint": "https://h", "bucket": "media", "key": "a"], "url": "https://h/media/b", "to": "/x"],
            [
                "s3": ["endpoint": "https://h", "bucket": "media", "key": "a"], "to": "/x",
                "headers": ["Authorization": "a"],
            ],
        ] as [JSONValue])
    func `an object that cannot be read is refused at the submit`(_ payload: JSONValue) {
        #expect(throws: PayloadError.self) { try DownloadPayload(payload) }
    }

    @Test func `the payload is stored with the URL of its object, and read again`() throws {
        let given: JSONValue = [
            "s3": [
                "endpoint": "https://s3.example.com/base", "bucket": "media", "key": "a b", "versionId": "v+1",
                "region": "eu-west-1",
            ], "to": "/x",
        ]
        let payload = try DownloadPayload(given)
        #expect(payload.url.text == "https://s3.example.com/base/media/a%20b?versionId=v%2B1")
        #expect(try DownloadPayload(payload.json) == payload)
        let virtual: JSONValue = [
            "s3": ["endpoint": "https://s3.example.com", "bucket": "media", "key": "a", "addressing": "virtual"],
            "to": "/x",
        ]
        #expect(try DownloadPayload(virtual).url.text == "https://media.s3.example.com/a")
    }
}
