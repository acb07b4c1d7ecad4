import Commands
import Testing

@testable import Webhook

@Suite struct WebhookVerdictTests {
    private let verdict = WebhookVerdict(
        request: "POST https://example.com/hooks", now: Timestamp(milliseconds: 1_763_000_000_000))

    @Test(arguments: [200, 201, 202, 204, 299])
    func `a 2xx is success`(_ status: Int) { #expect(verdict.failure(WebhookResponse(status)) == nil) }

    @Test(arguments: [
        (301, "final"), (302, "final"), (303, "final"), (304, "final"), (307, "final"), (308, "final"), (410, "final"),
        (400, "command"), (401, "command"), (403, "command"), (404, "command"), (405, "command"), (408, "command"),
        (409, "command"), (413, "command"), (422, "command"), (429, "command pushback"), (499, "command"),
        (500, "command"), (501, "command"), (502, "command pushback"), (503, "link pushback"),
        (504, "command pushback"),
        (507, "command"), (511, "link no-answer"), (599, "command"), (600, "command"), (100, "command"), (0, "command"),
    ])
    func `a status has the fault of its row`(_ status: Int, _ words: String) throws {
        let failure = try #require(verdict.failure(WebhookResponse(status)))
        #expect(
            "\(failure.fault)\(failure.isPushback ? " pushback" : "")\(failure.isAnswer ? "" : " no-answer")" == words)
        #expect(!failure.ambiguous)
        #expect(failure.reason.hasPrefix("POST https://example.com/hooks was answered \(status)"))
    }

    @Test(
        arguments: [
            ("120", Duration.seconds(120)), ("Thu, 13 Nov 2025 02:14:20 GMT", .seconds(60)), ("soon", nil),
            ("999999999", .seconds(86_400)),
        ] as [(String, Duration?)])
    func `Retry-After is read in seconds and as a date`(_ text: String, _ wait: Duration?) throws {
        var response = WebhookResponse(503)
        response.retryAfter = text
        #expect(try #require(verdict.failure(response)).retryAfter == wait)
    }

    @Test func `a redirect asks for the new URL without its secrets`() throws {
        var response = WebhookResponse(308)
        response.location = "https://other.example.com/new?token=hush"
        response.retryAfter = "5"
        let failure = try #require(verdict.failure(response))
        #expect(failure.reason.contains("register the new URL"))
        #expect(failure.reason.contains("https://other.example.com/new?token=[redacted]"), "\(failure.reason)")
        #expect(failure.retryAfter == nil)
    }

    @Test func `the reason quotes the start of the body in one line`() throws {
        var response = WebhookResponse(400)
        response.text = "bad\r\n\u{1B}[31m signature" + String(repeating: "x", count: 1000)
        let reason = try #require(verdict.failure(response)).reason
        #expect(reason.contains("400: “bad [31m signature") && reason.utf8.count < 300, "\(reason)")
    }
}
