import Commands
import Testing

@testable import S3

@Suite struct S3AddressTests {
    private func address(
        _ endpoint: String, _ addressing: S3Addressing = .path, bucket: String = "media", key: String = "a/b c"
    ) throws -> S3Address {
        try S3Address(
            endpoint: #require(Destination(endpoint)), addressing: addressing, bucket: bucket, key: key)
    }

    @Test(arguments: [
        ("https://s3.example.com", S3Addressing.path, "s3.example.com", "/media/a/b%20c", "/media"),
        ("https://s3.example.com:443", .path, "s3.example.com", "/media/a/b%20c", "/media"),
        ("https://s3.example.com:8443", .path, "s3.example.com:8443", "/media/a/b%20c", "/media"),
        ("http://127.0.0.1:9000", .path, "127.0.0.1:9000", "/media/a/b%20c", "/media"),
        ("https://[::1]:9000", .path, "[::1]:9000", "/media/a/b%20c", "/media"),
        ("https://[::1]", .path, "[::1]", "/media/a/b%20c", "/media"),
        ("https://s3.example.com", .virtual, "media.s3.example.com", "/a/b%20c", "/"),
        ("http://localhost:9000", .virtual, "media.localhost:9000", "/a/b%20c", "/"),
    ])
    func `host and path follow from endpoint and addressing`(
        _ endpoint: String, _ addressing: S3Addressing, _ host: String, _ path: String, _ bucketPath: String
    ) throws {
        let address = try address(endpoint, addressing)
        #expect(address.host == host)
        #expect(address.path == path)
        #expect(address.bucketPath == bucketPath)
        #expect(address.url == "\(endpoint.prefix { $0 != ":" })://\(host)\(path)")
        #expect(address.endpoint == Destination(endpoint))
    }

    @Test(arguments: [
        ("https://h", S3Addressing.path, "ab", "3 to 255"), ("https://h", .path, "-ab", "3 to 255"),
        ("https://h", .path, "a/b", "3 to 255"), ("https://h", .path, "a..b", "3 to 255"),
        ("https://h", .path, "bücket", "3 to 255"),
        ("https://h", .path, String(repeating: "a", count: 256), "3 to 255"),
        ("https://h", .virtual, "a.b", "certificate"), ("http://h", .virtual, "Media", "host name"),
        ("http://h", .virtual, "my_bucket", "host name"), ("https://127.0.0.1", .virtual, "media", "IP address"),
        ("https://[::1]:9", .virtual, "media", "IP address"),
        ("https://h", .virtual, String(repeating: "a", count: 64), "host name"),
    ])
    func `a bucket that cannot be addressed is refused with the reason`(
        _ endpoint: String, _ addressing: S3Addressing, _ bucket: String, _ words: String
    ) throws {
        let error = try #require(throws: S3AddressError.self) { try address(endpoint, addressing, bucket: bucket) }
        #expect(error.message.contains(words), "\(error)")
    }

    @Test func `a bucket with dots is addressed in the path, and over http in the name`() throws {
        #expect(try address("https://h", bucket: "a.b.c").path == "/a.b.c/a/b%20c")
        #expect(try address("http://h:80", .virtual, bucket: "a.b.c").host == "a.b.c.h")
    }

    @Test func `a key has 1 to 1,024 bytes without a zero byte`() throws {
        #expect(try address("https://h", key: String(repeating: "é", count: 512)).key.utf8.count == 1024)
        for key in ["", String(repeating: "é", count: 512) + "a", "a\u{0}"] {
            #expect(throws: S3AddressError.self) { try address("https://h", key: key) }
        }
    }

    @Test func `a leading slash of a key stays`() throws {
        #expect(try address("https://h", key: "/a").path == "/media//a")
        #expect(try address("https://h", .virtual, key: "/a").path == "//a")
    }

    @Test func `only an endpoint with a host is accepted`() {
        for endpoint in [Destination.file, .none] {
            #expect(throws: S3AddressError.self) { try S3Address(endpoint: endpoint, bucket: "media", key: "a") }
        }
    }
}
