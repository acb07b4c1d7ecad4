import Commands
import Foundation
import Operations
import Testing

@testable import FileOps
@testable import S3
@testable import Transfers

/// Which commands leave something, and what.
@Suite struct CleanupDraftTests {
    private static let id = CommandID()

    private func draft(_ type: String, _ payload: JSONValue, _ checkpoint: JSONValue, claim: Int = 3) -> CommandDraft? {
        var command = Command(id: Self.id, type: type, destination: .none, createdAt: .now)
        (command.status, command.claim) = (.cancelled, claim)
        return CleanupDraft.after(command, payload: payload.bytes, checkpoint: checkpoint.bytes)
    }

    private static let source: JSONValue = ["size": .integer(11 << 20), "mtime": 1, "inode": 2, "device": 3]
    private static let put: JSONValue = [
        "file": "/data/a.mp4", "endpoint": "https://s3.example.com", "bucket": "media", "key": "in/a.mp4",
        "headers": ["x-amz-request-payer": "requester"],
    ]

    private func checkpoint(upload: String?) throws -> JSONValue {
        let identity = try SourceIdentity(Self.source)
        var checkpoint = S3Checkpoint(try PartPlan(size: identity.size, partSize: 5 << 20), of: identity)
        if let upload { checkpoint = checkpoint.initiated(upload, abortDate: nil) }
        return try JSONValue(parsing: checkpoint.bytes)
    }

    @Test func `a multipart upload is aborted at its endpoint`() throws {
        let draft: CommandDraft = try #require(self.draft("s3", Self.put, try checkpoint(upload: "VXBs+/=")))
        #expect(draft.type == "cleanup" && draft.qos == .utility && draft.idempotent && draft.retryLimit == 12)
        #expect(draft.destination == Destination(scheme: "https", host: "s3.example.com", port: 443))
        let payload = try JSONValue(parsing: draft.payload)
        #expect(payload["upload"] == "VXBs+/=" && payload["s3"]?["key"] == "in/a.mp4")
        #expect(payload["s3"]?["headers"]?["x-amz-request-payer"] == "requester")
        // The operation accepts it as it is.
        let attributes = try CleanupOperation(s3: S3Operation.unused).inspect(payload)
        #expect(attributes.destination == draft.destination && attributes.payload == payload)
    }

    @Test func `an upload that was only planned, a presigned one and other types leave nothing`() throws {
        #expect(draft("s3", Self.put, try checkpoint(upload: nil)) == nil)
        let presigned: JSONValue = [
            "file": "/data/a", "presigned": "https://h/a?X-Amz-SignedHeaders=host&X-Amz-Signature=a",
        ]
        #expect(draft("s3", presigned, try checkpoint(upload: "a")) == nil)
        #expect(draft("noop", ["milliseconds": 0], ["a": 1]) == nil)
        #expect(draft("s3", ["file": 1], try checkpoint(upload: "a")) == nil)
        #expect(draft("upload", ["file": "/a", "to": "https://h/a"], ["tus": "https://h/f/1"]) == nil)
        #expect(draft("download", ["url": "https://h/a", "to": "/in/a"], ["a": 1], claim: 0) == nil)
    }

    private static let targets: [(type: String, payload: JSONValue, path: String)] = [
        ("download", ["url": "https://h/x/a.mp4", "to": "/in/b.mp4"], "/in/b.mp4"),
        ("download", ["url": "https://h/x/a.mp4", "to": "/in/"], "/in/a.mp4"),
        ("download", ["url": "https://h/x/a.mp4", "to": "/in/", "name": "server"], "/in/a.mp4"),
        ("upload", ["file": "/data/a.bin", "to": "file:///backup/b%20c.bin"], "/backup/b c.bin"),
    ]

    @Test(arguments: targets.indices)
    func `part files are deleted beside their target`(_ index: Int) throws {
        let (type, payload, path) = Self.targets[index]
        let made: CommandDraft = try #require(self.draft(type, payload, ["copy": "boot"]))
        #expect(made.destination.isFile)
        let cleanup = try JSONValue(parsing: made.payload)
        #expect(cleanup == ["part": .string(path), "command": .string("\(Self.id)"), "claim": 3])
    }

    @Test(
        arguments: [
            ["part": "a", "command": "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f", "claim": 1],
            ["part": "/a/", "command": "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f", "claim": 1],
            ["part": "/a", "command": "x", "claim": 1], ["part": "/a", "claim": 1],
            ["part": "/a", "command": "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f", "claim": 0],
            ["s3": ["file": "/a", "endpoint": "https://h", "bucket": "media", "key": "a"]], ["upload": "a"], [:], 1,
            ["s3": ["file": "/a", "endpoint": "https://h", "bucket": "media", "key": "a"], "upload": "a\nb"],
            ["s3": ["file": "/a", "presigned": "https://h/a?X-Amz-Signature=a"], "upload": "a"],
            [
                "s3": ["file": "/a", "endpoint": "https://h", "bucket": "media", "key": "a"], "upload": "a",
                "part": "/a",
            ],
        ] as [JSONValue])
    func `an invalid payload is refused`(_ payload: JSONValue) {
        #expect(throws: PayloadError.self) { try CleanupPayload(payload) }
    }
}
