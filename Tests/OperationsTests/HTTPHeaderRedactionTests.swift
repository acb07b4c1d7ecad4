import Commands
import Operations
import Testing

@Suite struct HTTPHeaderRedactionTests {
    @Test(arguments: [
        "Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Amz-Security-Token",
    ])
    func `hides secrets`(_ name: String) {
        #expect(HTTPHeaderRedaction.shown("hush", of: name) == "[redacted]")
    }

    @Test(arguments: ["Content-Type", "Idempotency-Key", "ETag", "X-Tag"])
    func `shows everything else`(_ name: String) {
        #expect(HTTPHeaderRedaction.shown("plain", of: name) == "plain")
    }

    @Test func `hides secrets in a payload`() {
        let payload: JSONValue = [
            "file": "/a", "to": "https://h/x?X-Signature=hush&part=hush",
            "headers": ["Authorization": "Bearer hush", "X-Tag": "plain"],
        ]
        let shown = HTTPHeaderRedaction.shown(payload).text
        #expect(!shown.contains("hush"))
        #expect(shown.contains("plain"))
        #expect(shown.contains("X-Signature=[redacted]&part=[redacted]"))
    }
}
