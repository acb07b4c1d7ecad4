import Commands
import Testing

@testable import S3
@testable import Transfers

/// The answers of S3 and of compatible stores, as they were documented or seen.
@Suite struct S3ResponseTests {
    private func response(_ status: Int, _ body: String = "", _ headers: [String: String] = [:]) -> S3Response {
        S3Response(status: status, headers: headers.map { HTTPField($0.key, $0.value) }, body: Array(body.utf8))
    }

    private static let completed = """
        <?xml version="1.0" encoding="UTF-8"?>
        <CompleteMultipartUploadResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
        <Location>https://media.s3.amazonaws.com/a%2Fb</Location><Bucket>media</Bucket><Key>a/b</Key>
        <ETag>&quot;17fbc0a106abbb6f381aac6e331f2a19-1&quot;</ETag></CompleteMultipartUploadResult>
        """

    @Test func `a whole completion is success, also after white space`() throws {
        let stored = S3StoredObject(
            etag: "17fbc0a106abbb6f381aac6e331f2a19-1", versionID: "v1",
            location: "https://media.s3.amazonaws.com/a%2Fb")
        for space in ["", "   ", "\n\n \r\n"] {
            #expect(response(200, space + Self.completed, ["X-Amz-Version-Id": "v1"]).completion() == .accepted(stored))
        }
    }

    @Test(arguments: [
        ("", "without a body"), ("   \n", "not XML"), ("<html><body>OK</body></html>", "<html>"),
        ("<!DOCTYPE html><html></html>", "not XML"), (String(completed.dropLast()), "not XML"),
        (String(completed.dropLast(40)), "not XML"), ("<CompleteMultipartUploadResult/>", "without an <ETag>"),
        ("<CompleteMultipartUploadResult><ETag></ETag></CompleteMultipartUploadResult>", "without an <ETag>"),
        ("<ListPartsResult/>", "instead of <CompleteMultipartUploadResult>"), ("{\"ok\": true}", "not XML"),
    ])
    func `a 200 without a whole completion is not success`(_ body: String, _ words: String) throws {
        guard case .unreadable(let problem) = response(200, body).completion() else {
            Issue.record("\(response(200, body).completion())")
            return
        }
        #expect(problem.contains(words), "\(problem)")
    }

    @Test func `a completion whose connection ended early is not success`() {
        var answer = response(200, Self.completed)
        answer.isWhole = false
        #expect(answer.completion() == .unreadable("with a body that was cut off"))
    }

    @Test func `an error in the body of a 200 is a refusal`() throws {
        let body = "   <Error><Code>InternalError</Code><Message>We\nencountered an error</Message></Error>"
        guard case .refused(let refusal) = response(200, body).completion() else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.status == 200 && refusal.code == "InternalError")
        #expect(refusal.text == "200 InternalError: “We encountered an error”")
    }

    @Test func `a created upload has an id and may have a date of abortion`() {
        let body = "<InitiateMultipartUploadResult><UploadId>VXBs.b2Fk~2</UploadId></InitiateMultipartUploadResult>"
        #expect(
            response(200, body, ["x-amz-abort-date": "Thu, 13 Nov 2025 02:13:20 GMT"]).createdUpload()
                == .accepted(S3CreatedUpload(id: "VXBs.b2Fk~2", abortDate: Timestamp(rfc3339: "2025-11-13T02:13:20Z"))))
        #expect(response(200, body).createdUpload().value?.abortDate == nil)
        for id in ["", "a b", "a\u{E9}", String(repeating: "a", count: 1025)] {
            let body = "<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>"
            #expect(response(200, body).createdUpload().value == nil)
        }
    }

    @Test(
        arguments: [
            ("\"d41d8cd98f00b204e9800998ecf8427e\"", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "abc"),
            ("W/\"abc\"", "abc"),
            (" \"abc\" ", "abc"), ("", nil), ("\"\"", nil), ("\"a b\"", nil), ("\"\u{E9}\"", nil),
            (String(repeating: "a", count: 257), nil),
        ] as [(String, String?)])
    func `a stored part needs a tag`(_ field: String, _ etag: String?) {
        let answer = response(200, "", ["ETag": field, "x-amz-checksum-crc32c": "yZRlqg=="]).storedPart(7)
        #expect(answer.value == etag.map { S3Part(7, etag: $0, checksum: "yZRlqg==") })
    }

    @Test func `a stored part without a tag header is not stored`() {
        #expect(response(200).storedPart(1).value == nil)
        #expect(response(500).storedPart(1) == .refused(S3Refusal(status: 500)))
    }

    @Test func `HEAD reads size, tag and the command`() {
        let headers = ["Content-Length": "12", "ETag": "\"abc\"", "X-Amz-Meta-Sluice-Command": "id "]
        #expect(
            response(200, "", headers).object() == .accepted(S3Object(size: 12, etag: "abc", command: "id")))
        #expect(response(200, "", ["Content-Length": "-5"]).object().value??.size == nil)
        #expect(response(404).object() == .accepted(nil))
        #expect(response(403).object() == .refused(S3Refusal(status: 403)))
    }

    @Test(
        arguments: [
            (12, "abc-2", "id", "abc-2", S3Object.Origin.ours), (12, "other", "id", "abc-2", .ours),
            (12, "abc-2", nil, "abc-2", .ours), (12, "ABC-2", nil, "abc-2", .ours), (12, "abc-2", nil, nil, .foreign),
            (12, "abc-2", "other", "abc-2", .foreign), (13, "abc-2", "id", "abc-2", .foreign),
            (nil, "abc-2", "id", "abc-2", .foreign), (12, nil, nil, "abc-2", .foreign),
        ] as [(Int64?, String?, String?, String?, S3Object.Origin)])
    func `an object is ours by its size and the command's id, or by the tag of its parts`(
        _ size: Int64?, _ etag: String?, _ command: String?, _ tag: String?, _ origin: S3Object.Origin
    ) {
        let object = S3Object(size: size, etag: etag, command: command)
        #expect(object.origin(command: "id", size: 12, tag: tag) == origin)
    }

    @Test(arguments: [
        (204, "", true), (200, "", true), (404, "", true), (404, "<Error><Code>NoSuchUpload</Code></Error>", true),
        (404, "<Error><Code>NoSuchBucket</Code></Error>", false), (403, "", false), (500, "", false),
    ])
    func `an upload that does not exist counts as aborted`(_ status: Int, _ body: String, _ isAborted: Bool) {
        #expect((response(status, body).abortion() == .accepted(true)) == isAborted)
    }

    @Test func `an error is read with its region, endpoint and clock`() throws {
        let body = """
            <?xml version="1.0"?><Error><Code>RequestTimeTooSkewed</Code><Message>The difference …</Message>
            <ServerTime>2025-11-13T02:13:20Z</ServerTime><MaxAllowedSkewMilliseconds>900000</MaxAllowedSkewMilliseconds>
            <Region>eu-west-1</Region><Endpoint>media.s3.eu-west-1.amazonaws.com</Endpoint></Error>
            """
        let refusal = S3Refusal(response(403, body))
        #expect(refusal.code == "RequestTimeTooSkewed" && refusal.region == "eu-west-1")
        #expect(refusal.endpoint == "media.s3.eu-west-1.amazonaws.com")
        #expect(refusal.serverTime == Timestamp(rfc3339: "2025-11-13T02:13:20Z"))
        let dated = S3Refusal(response(403, body, ["Date": "Thu, 13 Nov 2025 02:13:25 GMT"]))
        #expect(dated.serverTime == Timestamp(rfc3339: "2025-11-13T02:13:25Z"))
        #expect(S3Refusal(response(301, "", ["x-amz-bucket-region": "eu-west-1"])).region == "eu-west-1")
        #expect(S3Refusal(response(502, "<html>Bad Gateway</html>")) == S3Refusal(status: 502))
        #expect(S3Refusal(response(400, "<Error><Code>A&#x1B;[31m</Code></Error>")).code == "A [31m")
    }

    @Test func `the text of an endpoint is one bounded line`() {
        let message = String(repeating: "a\u{9}\u{2028}b ", count: 200)
        let refusal = S3Refusal(response(400, "<Error><Code>X</Code><Message>\(message)</Message></Error>"))
        #expect(refusal.message?.count == 201)
        #expect(refusal.message?.unicodeScalars.contains("\u{2028}") == false)
    }
}
