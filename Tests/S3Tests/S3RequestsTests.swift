import Commands
import Testing

@testable import S3
@testable import Transfers

@Suite struct S3RequestsTests {
    private let id = CommandID(high: 0x0199_8b5e_7c1a_7d2e, low: 0x9f00_3b6a_1c2d_4e5f)

    private func requests(_ members: [JSONValue.Member] = [], endpoint: String = "https://s3.example.com") throws
        -> S3Requests
    {
        let payload = try S3Payload(
            .object(
                [
                    .init("file", "/a"), .init("endpoint", .string(endpoint)), .init("bucket", "media"),
                    .init("key", "a/b c"),
                ]
                    + members))
        return S3Requests(
            address: try #require(try payload.address()), payload: payload, command: id, contentType: "video/mp4")
    }

    private func line(_ request: AWSRequest) -> String {
        "\(request.method) \(S3Path.target(request.path, request.query))"
    }

    private func headers(_ request: AWSRequest) -> [String] {
        request.headers.map { "\($0.lowerName): \($0.value)" }.sorted()
    }

    @Test func `each step has its request line`() throws {
        let requests = try requests()
        #expect(line(requests.create()) == "POST /media/a/b%20c?uploads=")
        #expect(line(requests.part(7, of: "u/+", S3PartDigest())) == "PUT /media/a/b%20c?partNumber=7&uploadId=u%2F%2B")
        #expect(line(requests.complete("u")) == "POST /media/a/b%20c?uploadId=u")
        #expect(line(requests.abort("u")) == "DELETE /media/a/b%20c?uploadId=u")
        #expect(line(requests.listParts("u")) == "GET /media/a/b%20c?max-parts=1000&uploadId=u")
        #expect(
            line(requests.listParts("u", after: 1000))
                == "GET /media/a/b%20c?max-parts=1000&part-number-marker=1000&uploadId=u")
        #expect(line(requests.listUploads()) == "GET /media?prefix=a%2Fb%20c&uploads=")
        #expect(
            line(requests.listUploads(after: S3UploadPage.Marker(key: "k", id: "u")))
                == "GET /media?key-marker=k&prefix=a%2Fb%20c&upload-id-marker=u&uploads=")
        #expect(line(requests.put(S3PartDigest())) == "PUT /media/a/b%20c")
        #expect(line(requests.head()) == "HEAD /media/a/b%20c")
    }

    @Test func `the object's headers stand in the first request, and the encryption key in all of them`() throws {
        let requests = try requests([
            .init(
                "headers",
                ["x-amz-acl": "private", "x-amz-server-side-encryption-customer-key": "k", "X-Amz-Request-Payer": "r"]),
            .init("metadata", ["Title": "t"]), .init("ifAbsent", true),
        ])
        let object = [
            "content-type: video/mp4", "x-amz-acl: private",
            "x-amz-meta-sluice-command: 01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f",
            "x-amz-meta-title: t", "x-amz-request-payer: r", "x-amz-server-side-encryption-customer-key: k",
        ]
        let repeated = ["x-amz-request-payer: r", "x-amz-server-side-encryption-customer-key: k"]
        #expect(headers(requests.create()) == object)
        #expect(headers(requests.put(S3PartDigest())) == (object + ["if-none-match: *"]).sorted())
        #expect(headers(requests.part(1, of: "u", S3PartDigest())) == repeated)
        #expect(
            headers(requests.complete("u"))
                == (repeated + ["content-type: application/xml", "if-none-match: *"]).sorted())
        #expect(headers(requests.head()) == repeated)
        #expect(headers(requests.abort("u")) == ["x-amz-request-payer: r"])
        #expect(headers(requests.listUploads()) == ["x-amz-request-payer: r"])
    }

    @Test func `only AWS gets the size of the whole object with the completion`() throws {
        let source: JSONValue.Member = .init("source", ["size": 12, "mtime": 1, "inode": 1, "device": 1])
        let amazon = try requests([source], endpoint: "https://s3.eu-west-1.amazonaws.com").complete("u")
        #expect(headers(amazon).contains("x-amz-mp-object-size: 12"))
        #expect(try !headers(requests([source]).complete("u")).contains { $0.hasPrefix("x-amz-mp") })
    }

    /// The digests of “123456789”: RFC 1321 and RFC 3720 give the form.
    private let digest = S3PartDigest(
        sha256: [UInt8](repeating: 0xAB, count: 32), md5: [UInt8](repeating: 0, count: 16), crc32c: 0xE306_9283)

    @Test(
        arguments: [
            (S3Checksum.sha256, nil, nil, true, true),
            (.md5, "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==", nil, false, true),
            (.crc32c, "x-amz-checksum-crc32c: 4waSgw==", "x-amz-checksum-algorithm: CRC32C", false, true),
            (.none, nil, nil, false, true),
        ] as [(S3Checksum, String?, String?, Bool, Bool)])
    func `a checksum decides the header of a part and whether its body is signed`(
        _ checksum: S3Checksum, _ header: String?, _ announcement: String?, _ isSigned: Bool, _ isSignedOverHTTP: Bool
    ) throws {
        func text(_ field: HTTPField?) -> String? { field.map { "\($0.name): \($0.value)" } }
        #expect(text(checksum.header(digest)) == header)
        #expect(text(checksum.announcement) == announcement)
        let hash = AWSPayloadHash.sha256(String(repeating: "ab", count: 32))
        #expect(checksum.payloadHash(isEncrypted: true, digest) == (isSigned ? hash : .unsigned))
        #expect(checksum.payloadHash(isEncrypted: false, digest) == (isSignedOverHTTP ? hash : .unsigned))
        #expect(checksum.payloadHash(isEncrypted: false, S3PartDigest()) == nil)
        let requests = try requests([.init("checksum", .string(checksum.rawValue))])
        #expect(requests.create().headers.contains { $0.name == "x-amz-checksum-algorithm" } == (announcement != nil))
        #expect(text(requests.part(1, of: "u", digest).headers.first) == header)
        #expect(text(requests.put(digest).headers.last) == header || header == nil)
    }

    @Test func `a completion lists our own parts`() throws {
        let parts = [S3Part(1, etag: "a&b"), S3Part(2, etag: "c", checksum: "4waSgw==")]
        let text = String(decoding: S3Requests.completion(parts), as: UTF8.self)
        #expect(
            text
                == "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                + "<Part><PartNumber>1</PartNumber><ETag>&quot;a&amp;b&quot;</ETag></Part>"
                + "<Part><PartNumber>2</PartNumber><ETag>&quot;c&quot;</ETag>"
                + "<ChecksumCRC32C>4waSgw==</ChecksumCRC32C></Part></CompleteMultipartUpload>")
        let record = try XMLRecord(Array(text.utf8), item: "Part")
        #expect(record.items.map { $0["ETag"] } == ["\"a&b\"", "\"c\""])
        let tag = "d41d8cd98f00b204e9800998ecf8427e"
        #expect(S3Requests.completion((1...10_000).map { S3Part($0, etag: tag) }).count < 1_050_000)
    }

    /// `hashlib.md5(bytes.fromhex(a) + bytes.fromhex(b)).hexdigest()` of Python.
    @Test func `the tag of an object follows from the tags of its parts`() {
        let parts = [
            S3Part(1, etag: "d41d8cd98f00b204e9800998ecf8427e"), S3Part(2, etag: "0CC175B9C0F1B6A831C399E269772661"),
        ]
        #expect(S3Tag.composite(of: parts) == "68083ea43d0307eecfa2b4749f19df15-2")
        #expect(S3Tag.composite(of: []) == nil)
        #expect(S3Tag.composite(of: [S3Part(1, etag: "abc")]) == nil)
        #expect(S3Tag.composite(of: [S3Part(1, etag: "d41d8cd98f00b204e9800998ecf8427g")]) == nil)
    }
}
