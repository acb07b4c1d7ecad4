import Commands
import Testing

@Suite struct HTTPHeaderRedactionTests {
    @Test(arguments: [
        "Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Amz-Security-Token",
        "webhook-signature", "x-amz-server-side-encryption-customer-key",
    ])
    func `values of secret headers are redacted`(_ name: String) {
        #expect(HTTPHeaderRedaction.shown("hush", of: name) == "[redacted]")
    }

    @Test(arguments: ["Content-Type", "Idempotency-Key", "ETag", "X-Tag"])
    func `values of other headers are not redacted`(_ name: String) {
        #expect(HTTPHeaderRedaction.shown("plain", of: name) == "plain")
    }

    @Test func `a displayed payload has no secrets`() {
        let payload: JSONValue = [
            "file": "/a", "to": "https://h/x?X-Signature=hush&part=hush",
            "headers": ["Authorization": "Bearer hush", "X-Tag": "plain"],
        ]
        let shown = HTTPHeaderRedaction.shown(payload).text
        #expect(!shown.contains("hush"))
        #expect(shown.contains("plain"))
        #expect(shown.contains("X-Signature=[redacted]&part=[redacted]"))
    }

    @Test func `a displayed payload has the size of a program's input instead of its text`() {
        let shown = HTTPHeaderRedaction.shown(["program": "a", "stdin": "hush é", "environment": ["A": "hush"]])
        #expect(shown["stdin"]?.string == "[7 bytes]" && shown["program"]?.string == "a")
        #expect(!shown.text.contains("hush"))
    }

    @Test(arguments: [
        ("https://h/x", "https://h/x"), ("https://h/x?", "https://h/x?"),
        ("/x?a=hush&&b=hush", "/x?a=[redacted]&&b=[redacted]"),
        ("/x?hush", "/x?[redacted]"), ("/x?a=hush&hush", "/x?a=[redacted]&[redacted]"), ("/x?hush==", "/x?[redacted]"),
        ("/x?hush=", "/x?[redacted]"), ("/x?a==hush", "/x?a=[redacted]"), ("/x#hush", "/x#[redacted]"),
        ("/x?hush#a=hush", "/x?[redacted]"),
    ])
    func `the values in a URL's query and possible tokens are redacted`(_ url: String, _ shown: String) {
        #expect(HTTPHeaderRedaction.shown(url: url) == shown)
    }

    @Test func `a displayed result has no signatures of URLs`() {
        let result: JSONValue = [
            "status": 201,
            "headers": [
                "etag": "\"1\"", "location": "https://h/x?X-Signature=hush&part=hush",
                "Content-Location": "/x#token=hush",
            ],
            "body": "stored at /x?y=z", "sourceRemoved": true,
        ]
        let shown = HTTPHeaderRedaction.shown(result: result)
        #expect(!shown.text.contains("hush"))
        #expect(shown["headers"]?["location"]?.string == "https://h/x?X-Signature=[redacted]&part=[redacted]")
        for name in ["status", "body", "sourceRemoved"] { #expect(shown[name] == result[name]) }
        #expect(shown["headers"]?["etag"] == result["headers"]?["etag"])
        // The result of another operation may be any value.
        for other in ["text", 1, ["headers": "none"], [:]] as [JSONValue] {
            #expect(HTTPHeaderRedaction.shown(result: other) == other)
        }
    }

    @Test(
        arguments: [
            ("Authorization Bearer hush", "Authorization"), ("Authorization Bearer hush:hush", "Authorization"),
            ("X-Api-Key\thush", "X-Api-Key"), ("hush", nil), (":hush", nil), (" hush", nil), ("", nil),
        ] as [(String, String?)])
    func `only the start of a malformed header is displayed`(_ text: String, _ start: String?) {
        #expect(HTTPHeaderRedaction.start(ofMalformed: text) == start)
    }
}

extension JSONValue {
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }
}
