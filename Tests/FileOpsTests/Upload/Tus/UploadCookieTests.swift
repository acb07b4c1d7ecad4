import Commands
import HTTPClient
import NIOHTTP1
import TestSupport
import Testing

@testable import FileOps
@testable import Transfers

/// Cookies of a creation, which usually name the replica that stores the upload.
@Suite struct UploadCookieTests {
    @Test func `cookies of the creation are sent with later requests of the upload only`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(5000))
            receiver.on(
                "/files",
                .answer(201, headers: ["Location": "/files/1", "Set-Cookie": "route=hush; Path=/files; HttpOnly"]))
            receiver.on("/files/1", .answer(409), .at(1000, of: 5000), .reset(.head))
            let upload = try RepeatedUpload(
                harness, file: file, to: "\(receiver.origin)/files", "tus",
                extra: [.init("headers", ["Cookie": "own=1"])])
            let failure = try await upload.failure()
            #expect(!failure.reason.contains("hush"))
            let cookies = receiver.requests.map { $0["cookie"] }
            #expect(cookies.first == "own=1" && cookies.count > 3)
            #expect(cookies.dropFirst().allSatisfy { $0 == "own=1; route=hush" })
            // Another worker reads them from the checkpoint.
            receiver.forget()
            receiver.on("/files/1", .at(1000, of: 5000), .appended(5000))
            let result = try await upload.run()
            #expect(receiver.requests.map { $0["cookie"] } == ["own=1; route=hush", "own=1; route=hush"])
            #expect(!String(decoding: result.bytes, as: UTF8.self).contains("hush"))
            receiver.forget()
            receiver.on("/files/1", .appended(5000))
            _ = try await RepeatedUpload(harness, file: file, to: "\(receiver.origin)/files", "tus").run()
            #expect(receiver.requests.first?["cookie"] == nil)
        }
    }

    @Test(arguments: [
        ("a=b", "a=b", "/"), (" a = b ; path = /x", "a = b", "/x"), ("a=; Path=relative", "a=", "/"),
        ("a=b=c; Domain=media.example.com", "a=b=c", "/"), ("a=b; domain=.Example.com; Max-Age=60", "a=b", "/"),
        ("a=b; Secure", "a=b", "/"),
    ])
    func `a cookie for the host is kept`(_ field: String, _ pair: String, _ path: String) throws {
        let url = try ResourceURL("https://media.example.com/files")
        let cookie = try #require(UploadCookie(setCookie: field, from: url))
        #expect(cookie.pair == pair && cookie.path == path)
        #expect(UploadCookie(cookie.json) == cookie)
    }

    @Test(arguments: [
        "", "=b", "a", "a=b; Domain=evil.test", "a=b; Domain=ample.com", "a=b; Max-Age=0", "a=\u{1}", "a=ü",
    ])
    func `any other cookie is ignored`(_ field: String) throws {
        #expect(UploadCookie(setCookie: field, from: try ResourceURL("https://media.example.com/files")) == nil)
    }

    @Test func `a secure cookie of a plain connection is not kept`() throws {
        #expect(UploadCookie(setCookie: "a=b; Secure", from: try ResourceURL("http://h/")) == nil)
    }

    @Test(arguments: [
        ("/", "/x", true), ("/files", "/files", true), ("/files", "/files/1", true), ("/files/", "/files/1", true),
        ("/files", "/filesystem", false), ("/files/1", "/files/2", false),
    ])
    func `a cookie is sent to its path and the paths below`(_ path: String, _ request: String, _ goes: Bool) throws {
        let cookie = try #require(UploadCookie(setCookie: "a=b; Path=\(path)", from: try ResourceURL("http://h/")))
        #expect(cookie.isFor(request) == goes)
    }

    @Test func `cookies are bounded, and the last of each name counts`() throws {
        var record = HTTPRecord()
        var headers = HTTPHeaders()
        headers.add(name: "Set-Cookie", value: "a=1")
        headers.add(name: "set-cookie", value: "a=2")
        for number in 0..<40 {
            headers.add(name: "Set-Cookie", value: "n\(number)=\(String(repeating: "x", count: 400))")
        }
        record.head = HTTPResponseHead(version: .http1_1, status: .created, headers: headers)
        let cookies = UploadCookie.cookies(in: record, from: try ResourceURL("http://h/"))
        #expect(cookies.first?.pair == "a=2")
        #expect(cookies.count <= UploadCookie.maxCount)
        #expect(cookies.reduce(0) { $0 + $1.pair.utf8.count } <= UploadCookie.maxBytes)
    }
}
