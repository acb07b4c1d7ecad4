import Commands
import Operations
import Testing

@testable import S3
@testable import Transfers

@Suite struct S3PayloadTests {
    static let least: [JSONValue.Member] = [
        .init("file", "/data/a.mp4"), .init("endpoint", "https://s3.example.com"), .init("bucket", "media"),
    ]
    static let signed =
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20251113T021320Z&X-Amz-Expires=3600"
        + "&X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-acl&X-Amz-Signature=5eC"

    private func payload(_ members: [JSONValue.Member]) throws -> S3Payload {
        try S3Payload(.object(Self.least + members))
    }

    private func refusal(_ members: [JSONValue.Member]) throws -> String {
        // The last member of a name counts, so that a row can replace one of the least payload.
        var kept: [JSONValue.Member] = []
        for member in members { kept = kept.filter { $0.name != member.name } + [member] }
        return try #require(throws: PayloadError.self) { try S3Payload(.object(kept)) }.message
    }

    /// As the S3 of Supabase.
    @Test(arguments: ["https://s3.example.com/storage/v1/s3", "https://s3.example.com:443/storage/v1/s3/"])
    func `buckets may be below a path, which is sent, signed and stored`(_ endpoint: String) throws {
        let payload = try S3Payload(
            ["file": "/data/a.mp4", "endpoint": .string(endpoint), "bucket": "media", "key": "a b"])
        #expect(payload.destination == Destination("https://s3.example.com"))
        let address = try #require(try payload.address())
        #expect(address.path == "/storage/v1/s3/media/a%20b" && address.bucketPath == "/storage/v1/s3/media")
        #expect(address.url == "https://s3.example.com/storage/v1/s3/media/a%20b")
        #expect(payload.json["endpoint"] == "https://s3.example.com:443/storage/v1/s3")
        #expect(try S3Payload(payload.json) == payload)
        let request = S3Requests(
            address: address, payload: payload, command: CommandID(), contentType: "text/plain"
        ).put(S3PartDigest())
        #expect(request.path == address.path)
    }

    @Test func `the defaults are us-east-1, path addressing and SHA-256`() throws {
        let payload = try payload([])
        #expect(payload.checksum == .sha256)
        #expect(!payload.ifAbsent && !payload.removeSource && payload.partSize == nil)
        #expect(payload.isIdempotent)
        #expect(payload.destination == Destination("https://s3.example.com:443"))
        guard case .object(_, let region, let addressing, "media", "") = payload.target else {
            Issue.record("\(payload.target)")
            return
        }
        #expect(region == "us-east-1" && addressing == .path)
    }

    @Test(arguments: [
        ("", "a.mp4"), ("in/", "in/a.mp4"), ("in", "in"), ("/", "/a.mp4"), ("in//", "in//a.mp4"),
        ("in/\u{301}", "in/\u{301}"),
    ])
    func `a key that is empty or ends in a slash gets the name of the file`(_ key: String, _ whole: String) throws {
        var payload = try payload([.init("key", .string(key))])
        try payload.resolveKey()
        #expect(try payload.address()?.key == whole)
    }

    @Test func `a payload is written and read back`() throws {
        let payloads = [
            try payload([]),
            try payload([
                .init("region", "eu-west-1"), .init("key", "é/"), .init("addressing", "virtual"),
                .init("partSize", "16MiB"), .init("contentType", "video/mp4"), .init("metadata", ["Title": "a b"]),
                .init("headers", ["X-Amz-Acl": "private"]), .init("ifAbsent", true), .init("checksum", "crc32c"),
                .init("removeSource", true), .init("source", ["size": 5, "mtime": 6, "inode": 7, "device": 8]),
            ]),
            try S3Payload([
                "file": "/a", "presigned": .string(Self.signed), "contentType": "a/b",
                "headers": ["x-amz-acl": "private"],
            ]),
        ]
        for payload in payloads { #expect(try S3Payload(payload.json) == payload) }
        #expect(payloads[1].partSize == 16 << 20)
        #expect(payloads[1].metadata == [HTTPField("title", "a b")])
    }

    @Test func `a presigned URL takes one request of at most 5 GiB, and an object parts of the given size`() throws {
        let presigned = try S3Payload(["file": "/a", "presigned": "https://h/k?sig=a"])
        #expect(try presigned.plan(size: 5 << 30).isSingle && presigned.plan(size: 0).isSingle)
        let error = try #require(throws: PayloadError.self) { try presigned.plan(size: 5 << 30 + 1) }
        #expect(error.message.contains("5 GiB"))
        #expect(try payload([.init("partSize", "6MiB")]).plan(size: 7 << 20).count == 2)
        #expect(throws: PayloadError.self) { try payload([.init("partSize", "5MiB")]).plan(size: 60 << 30) }
    }

    @Test func `two submits of one file are equal by size and time`() throws {
        func identity(inode: Int64) throws -> JSONValue {
            try payload([.init("source", ["size": 5, "mtime": 6, "inode": .integer(inode), "device": 1])]).identity
        }
        #expect(try identity(inode: 7) == identity(inode: 8))
    }

    @Test(arguments: [
        ([JSONValue.Member("bucket", "media")], "“file” is missing"),
        ([.init("file", "/a"), .init("bucket", "media")], "“endpoint” is missing"),
        ([.init("file", "/a"), .init("endpoint", "https://h")], "“bucket” is missing"),
        ([.init("file", ""), .init("endpoint", "https://h"), .init("bucket", "media")], "“file” is empty"),
        ([.init("file", 1)], "“file” must be a string"),
        (least + [.init("colour", "red")], "unknown key “colour”"),
        (least + [.init("endpoint", "https://h/a/../b")], "must be a URL"),
        (least + [.init("endpoint", "https://h/a//b")], "must be a URL"),
        (least + [.init("endpoint", "https://h/a%2Fb")], "must be a URL"),
        (least + [.init("endpoint", "https://h/a?b=c")], "must be a URL"),
        (least + [.init("endpoint", "https://me:secret@h")], "must be a URL"),
        (least + [.init("endpoint", "file:///a")], "must be a URL"),
        (least + [.init("region", "eu west")], "“region” is “eu west”"),
        (least + [.init("region", "")], "“region”"),
        (least + [.init("addressing", "host")], "“path” or “virtual”"),
        (least + [.init("partSize", 5_242_879)], "5 MiB to 5 GiB"),
        (least + [.init("partSize", "5.5GiB")], "“partSize” must be bytes"),
        (least + [.init("partSize", "6GiB")], "5 MiB to 5 GiB"),
        (least + [.init("ifAbsent", "yes")], "must be true or false"),
        (least + [.init("checksum", "sha1")], "“checksum” is “sha1”"),
        (least + [.init("contentType", "a\r\nb")], "line break"),
        (least + [.init("metadata", ["a b": "c"])], "not a name of metadata"),
        (least + [.init("metadata", ["a": "é"])], "printable ASCII"),
        (least + [.init("metadata", ["Sluice-Command": "x"])], "command's id"),
        (least + [.init("metadata", ["a": 1])], "must be a string"),
        (least + [.init("metadata", ["A": "1", "a": "2"])], "occurs twice"),
        (least + [.init("metadata", ["a": .string(String(repeating: "b", count: 1998))])], "2049 bytes"),
        (least + [.init("headers", ["x": .string(String(repeating: "b", count: 8193))])], "longer than 8192"),
        (least + [.init("key", .string(String(repeating: "k", count: 1020) + "/"))], "a key has at most 1024"),
        (least + [.init("bucket", "a.b"), .init("addressing", "virtual")], "certificate"),
        (least + [.init("presigned", .string(signed))], "“endpoint” is fixed by the presigned URL"),
    ])
    func `a payload with an error is refused with the key in the sentence`(
        _ members: [JSONValue.Member], _ words: String
    ) throws {
        let message = try refusal(members)
        #expect(message.contains(words), "\(message)")
    }

    @Test func `metadata of exactly 2 KiB and 64 headers are accepted`() throws {
        _ = try payload([.init("metadata", ["a": .string(String(repeating: "b", count: 1997))])])
        let headers = (1...64).map { JSONValue.Member("x-h-\($0)", "v") }
        _ = try payload([.init("headers", .object(headers))])
        let message = try refusal(Self.least + [.init("headers", .object(headers + [.init("x-h-65", "v")]))])
        #expect(message.contains("the maximum is 64"))
    }

    @Test func `a payload that is not an object is refused`() {
        #expect(throws: PayloadError.self) { try S3Payload([1]) }
    }

    @Test(arguments: [
        "Content-Type", "If-None-Match", "Content-MD5", "x-amz-content-sha256", "x-amz-sdk-checksum-algorithm",
        "x-amz-trailer", "x-amz-checksum-sha256", "x-amz-checksum-algorithm", "Authorization", "X-Amz-Date",
        "x-amz-security-token", "Date", "Range", "If-Range", "Accept-Encoding", "If-Match", "x-amz-meta-a",
        "x-amz-copy-source", "x-amz-copy-source-range", "x-amz-mp-object-size", "Host", "Content-Length",
        "Transfer-Encoding", "Expect", "Connection", "Idempotency-Key", "a b", "",
    ])
    func `a header that the operation or the signature sets is refused`(_ name: String) {
        #expect(S3HeaderRules.objection(to: name, value: "a") != nil)
    }

    @Test(arguments: [
        "x-amz-acl", "x-amz-storage-class", "x-amz-server-side-encryption", "x-amz-tagging", "Cache-Control",
        "Content-Disposition", "Content-Encoding", "Expires", "x-amz-request-payer",
    ])
    func `a header of the object is accepted`(_ name: String) {
        #expect(S3HeaderRules.objection(to: name, value: "a") == nil)
    }
}
