import Commands
import Operations
import Testing

@testable import FileOps

@Suite struct RequestPayloadTests {
    private func payload(_ text: String) throws -> RequestPayload {
        try RequestPayload(try JSONValue(parsing: text.utf8))
    }

    @Test func `a payload is read back from its JSON`() throws {
        for text in [
            #"{"url":"https://a/b?c=d"}"#,
            #"{"url":"http://a:80/b","method":"POST","headers":{"X-Tag":"a"},"body":"x","accept":"2xx,404"}"#,
            #"{"url":"http://a/b","method":"PROPFIND","json":null,"redirects":0,"keepHeaders":["x-a"],"timeout":30}"#,
            #"{"url":"http://a/b","method":"PUT","bodyBase64":"AAEC"}"#,
            #"{"url":"http://a/b","method":"PUT","bodyFile":"/a"}"#,
            #"{"url":"http://a/b","saveTo":"/a/b","maxBody":7}"#,
        ] {
            let request = try payload(text)
            #expect(try RequestPayload(request.json) == request, "\(text)")
        }
    }

    @Test(arguments: [("30", 30), (#""30s""#, 30), (#""1m30s""#, 90), (#""2h""#, 7200)])
    func `a timeout is seconds, or has a unit`(_ text: String, _ seconds: Int) throws {
        #expect(try payload(#"{"url":"http://a/b","timeout":\#(text)}"#).timeout == .seconds(seconds))
    }

    @Test(arguments: [
        ("7", "must be an object"), ("{}", "“url” is missing"),
        (#"{"url":"ftp://a/b"}"#, "the scheme “ftp” is unknown"),
        (#"{"url":"file:///a","method":"PUT"}"#, "only a GET or HEAD"),
        (#"{"url":"file:///a","headers":{"X-Tag":"a"}}"#, "only a GET or HEAD"),
        (#"{"url":"http://a/b","methd":"GET"}"#, "unknown key “methd”"),
        (#"{"url":"http://a/b","method":"G T"}"#, "not a method"),
        (#"{"url":"http://a/b","method":"CONNECT"}"#, "no meaning"),
        (#"{"url":"http://a/b","method":"trace"}"#, "no meaning"),
        (#"{"url":"http://a/b","body":"x"}"#, "no meaning in a GET"),
        (#"{"url":"http://a/b","method":"HEAD","json":1}"#, "no meaning in a HEAD"),
        (#"{"url":"http://a/b","method":"PUT","body":"x","json":1}"#, "exclude each other"),
        (#"{"url":"http://a/b","method":"PUT","bodyBase64":"?"}"#, "not base64"),
        (#"{"url":"http://a/b","method":"PUT","bodyFile":""}"#, "path of a file"),
        (#"{"url":"http://a/b","accept":"2xx,"}"#, "“accept” has “”"),
        (#"{"url":"http://a/b","accept":"1xx"}"#, "“accept”"),
        (#"{"url":"http://a/b","accept":"99"}"#, "“accept”"), (#"{"url":"http://a/b","redirects":21}"#, "from 0 to 20"),
        (#"{"url":"http://a/b","saveTo":"/a/"}"#, "path of a file"),
        (#"{"url":"http://a/b","maxBody":7}"#, "give both"),
        (#"{"url":"http://a/b","timeout":-1}"#, "from 0 to 604800"),
        (#"{"url":"http://a/b","timeout":1.5}"#, "whole number"),
        (#"{"url":"http://a/b","keepHeaders":"x"}"#, "array"),
        (#"{"url":"http://a/b","keepHeaders":[1]}"#, "a number among"),
        (#"{"url":"http://a/b","headers":{"Host":"x"}}"#, "cannot be set"),
        (#"{"url":"http://a/b","headers":{"A":"1","a":"2"}}"#, "occurs twice"),
    ])
    func `an invalid payload is refused with its key`(_ text: String, _ words: String) throws {
        let error = #expect(throws: PayloadError.self) { try payload(text) }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "-")")
    }

    @Test func `GET, HEAD, OPTIONS, PUT and DELETE may be repeated, others may not`() throws {
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH", "PROPFIND", "get"] {
            let request = try payload(#"{"url":"http://a/b","method":"\#(method)"}"#)
            #expect(request.isIdempotent == ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method), "\(method)")
        }
    }

    @Test(arguments: [
        ("2xx", [200, 299], [199, 300]), ("200, 404", [200, 404], [201]), ("3xx,5xx", [300, 599], [404]),
    ])
    func `accepted statuses are single ones and classes`(_ text: String, _ inside: [Int], _ outside: [Int]) throws {
        let accept = try AcceptedStatuses(text)
        #expect(inside.allSatisfy { accept.contains($0) } && !outside.contains { accept.contains($0) })
    }
}
