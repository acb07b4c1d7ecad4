import HTTPClient
import NIOCore
import NIOHTTP1
import Testing

@Suite struct SecretValuesTests {
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("redacted", "the redacted one, redacted", "the [redacted] one, [redacted]"),
            ("[redacted]", "[redacted]", "[redacted]"), ("aaaaa", "aaaaaaaaaaa", "[redacted][redacted]a"),
            ("hush-hush", "nothing", "nothing"),
        ])
    func `a secret is replaced wherever it stands, also one that its replacement contains`(
        _ secret: String, _ body: String, _ shown: String
    ) {
        var record = HTTPRecord()
        record.head = HTTPResponseHead(version: .http1_1, status: .ok)
        record.body = ByteBuffer(string: body)
        SecretValues(credential: secret, headers: []).redact(&record)
        #expect(String(buffer: record.body) == shown)
    }
}
