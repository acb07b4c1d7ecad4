import Commands
import Operations
import Testing

@testable import S3
@testable import Transfers

@Suite struct S3PresignedURLTests {
    private let expiry = Timestamp(rfc3339: "2025-11-13T03:13:20Z")

    @Test func `a presigned URL tells its headers and its expiry`() throws {
        let url = try S3PresignedURL(S3PayloadTests.signed)
        #expect(url.signedHeaders == ["content-type", "x-amz-acl"])
        #expect(url.expiry == expiry)
        #expect(!url.url.displayText.contains("Signature"))
    }

    @Test(arguments: [
        ("https://h/k?Expires=1763003600&AWSAccessKeyId=a&Signature=b%3D", "2025-11-13T03:13:20Z"),
        ("https://h/k?sig=abc", nil), ("https://h/k?X-Amz-Date=bad&X-Amz-Expires=60", nil),
        ("https://h/k?X-Amz-Date=20251113T021320Z&X-Amz-Expires=-1", nil),
        ("https://h/k?X-Amz-Date=20251113T021320Z&X-Amz-Expires=99999999999999999999", nil),
        ("https://h/k?Expires=9999999999999999", nil),
        ("https://h/k?x-amz-date=20251113T021320Z&x-amz-expires=3600", "2025-11-13T03:13:20Z"),
    ])
    func `other signatures are accepted, and a missing expiry is not invented`(_ text: String, _ expiry: String?) throws
    {
        let url = try S3PresignedURL(text)
        #expect(url.signedHeaders == nil)
        #expect(url.expiry == expiry.flatMap { Timestamp(rfc3339: $0) })
        #expect(url.objection(toHeaders: ["a", "b"]) == nil)
    }

    @Test(arguments: [
        (["Content-Type", "X-Amz-Acl"], nil), (["content-type"], "has signed the header “x-amz-acl”"),
        (["content-type", "x-amz-acl", "x-amz-tagging"], "has not signed the header “x-amz-tagging”"),
    ])
    func `the headers must be exactly the signed ones`(_ names: [String], _ words: String?) throws {
        let objection = try S3PresignedURL(S3PayloadTests.signed).objection(toHeaders: names)
        #expect((objection == nil) == (words == nil))
        if let words { #expect(objection?.contains(words) == true, "\(objection ?? "")") }
    }

    @Test(arguments: ["https://h/k", "https://h/k?", "https://h/k?a", "file:///k", "k?a=b"])
    func `a URL without a signature is refused`(_ text: String) {
        #expect(throws: PayloadError.self) { try S3PresignedURL(text) }
    }

    @Test(arguments: ["https://h/k?sig=hush#", "https://h/k x?sig=hush", "ftp://h/k?sig=hush"])
    func `a refusal does not quote the query`(_ text: String) throws {
        let error = try #require(throws: PayloadError.self) { try S3PresignedURL(text) }
        #expect(!error.message.contains("hush"), "\(error)")
    }
}
