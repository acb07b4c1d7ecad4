import Commands
import TestSupport
import Testing

/// The events `response/<uuid>`.
@Suite struct FetchEventTests {
    private func stages(_ harness: FetchHarness) -> [String] {
        harness.events.map { $0.body["stage"]?.string ?? "" }
    }

    @Test func `each answer is published, the stored one before the request`() async throws {
        let script = """
            GET /a #1 : answer 200 header "ETag: \\"1\\"" body "hello"
            GET /a #2 : answer 304 header "ETag: \\"1\\""
            GET /a : answer 200 header "ETag: \\"2\\"" body "hello!"
            """
        try await FetchHarness.with(script) { harness in
            for _ in 1...3 { _ = try await harness.fetch("/a") }
            #expect(stages(harness) == ["fresh", "stored", "notModified", "stored", "fresh"])
            #expect(harness.events.allSatisfy { $0.topic.hasPrefix("response/") && $0.topic.count == 45 })
            #expect(
                harness.events[1].topic == harness.events[2].topic && harness.events[0].topic != harness.events[1].topic
            )
            let last = try #require(harness.events.last).body
            #expect(last["url"]?.string == "\(harness.server.origin)/a" && last["at"]?.string != nil)
            #expect(last["status"]?.integer == 200 && last["changed"]?.bool == true && last["bytes"]?.integer == 6)
        }
    }

    @Test func `a failure, a stale answer and a response that may not be stored are published as such`() async throws {
        let script = """
            GET /gone : answer 404
            GET /stale #1 : answer 200 header "Cache-Control: max-age=0, stale-if-error=600" body "x"
            GET /stale : answer 503
            GET /secret : answer 200 header "Cache-Control: no-store" body "hush"
            """
        try await FetchHarness.with(script) { harness in
            #expect(try await harness.fetch("/gone?token=hush").failure != nil)
            #expect(stages(harness) == ["failed"])
            for _ in 1...2 { _ = try await harness.fetch("/stale", [.init("mode", "network")]) }
            #expect(stages(harness) == ["failed", "fresh", "stale"])
            _ = try await harness.fetch("/secret")
            let withheld = try #require(harness.events.last).body
            #expect(withheld["stage"]?.string == "fresh" && withheld["status"]?.integer == 200)
            #expect(withheld["bytes"] == nil && withheld["age"] == nil)
            #expect(!harness.events.contains { $0.body.text.contains("hush") })
        }
    }
}
